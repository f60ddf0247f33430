//! Executions as the API shows them.

use async_graphql::{Context, ID, Object};
use domain::artifact::ArtifactKind;
use domain::ctx::Page;
use domain::event::Cursor;
use domain::execution::{self, IterationRecord};

use super::budget::{EffectiveLimit, ExecutionBudget};
use super::iteration::AgentIteration;
use super::sandbox::Sandbox;
use super::status::{ErrorItem, ExecutionStatus, StopReason};
use crate::graphql::agent::{Agent, AgentVersion};
use crate::graphql::artifact::Artifact;
use crate::graphql::audit::AuditRecord;
use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::loader::{FilesOf, SandboxesOf};
use crate::graphql::model::ModelVersion;
use crate::graphql::resource::{visible, visible_version};
use crate::graphql::scalar::{BigInt, DateTime, Json, int};

/// Lines of a partial answer that are shown.
const PARTIAL_LINES: usize = 20;

/// An execution.
pub struct Execution(pub execution::Execution);

/// One run of an agent: from the start call to one stop reason.
#[Object]
impl Execution {
    /// Its id.
    pub async fn id(&self) -> ID {
        self.0.id.to_string().into()
    }

    /// The project that it belongs to.
    async fn project_id(&self) -> ID {
        self.0.project_id.to_string().into()
    }

    /// The agent; null when the caller may not see it.
    async fn agent(&self, ctx: &Context<'_>) -> Result<Option<Agent>, ApiError> {
        Ok(visible(ctx, self.0.agent_id).await?.map(Agent))
    }

    /// The version of the agent that it runs, whatever was published later.
    async fn agent_version(&self, ctx: &Context<'_>) -> Result<Option<AgentVersion>, ApiError> {
        Ok(visible_version(ctx, self.0.pins.agent).await?.and_then(AgentVersion::new))
    }

    /// The versions of the models that it asks, whatever was published later: the agent's own and its fallbacks, in
    /// order; without those that the caller may not see.
    async fn model_versions(&self, ctx: &Context<'_>) -> Result<Vec<ModelVersion>, ApiError> {
        let mut models = Vec::new();
        for pin in self.0.pins.models() {
            models.extend(visible_version(ctx, pin.model).await?.and_then(ModelVersion::new));
        }
        Ok(models)
    }

    /// What the agent is to do.
    async fn task(&self) -> &str {
        &self.0.task
    }

    /// Where it stands.
    async fn status(&self) -> ExecutionStatus {
        self.0.progress.status.into()
    }

    /// Why it ended; null until then.
    async fn stop_reason(&self) -> Option<StopReason> {
        self.0.progress.stop_reason.clone().map(StopReason::from)
    }

    /// The final answer; null until there is one.
    async fn answer(&self) -> Option<&str> {
        self.0.final_answer()
    }

    /// The first lines of a partial answer when the execution ended without a final one.
    async fn partial_answer(&self) -> Option<String> {
        let progress = &self.0.progress;
        let is_partial = progress.status.is_terminal() && self.0.final_answer().is_none();
        let text = progress.answer.as_deref().filter(|_| is_partial)?;
        Some(text.lines().take(PARTIAL_LINES).collect::<Vec<_>>().join("\n"))
    }

    /// JSON values that it hands on, once it has ended: its final answer as {"answer": "..."}, or the limit that it hit as
    /// {"error": {"code", "limit", "step", "iteration", "message"}} where the limit's outcome is ERROR_ITEM.
    async fn items(&self) -> Vec<Json> {
        self.0.items().iter().filter_map(Json::of).collect()
    }

    /// What it hands on when it ended at a limit whose outcome is ERROR_ITEM.
    async fn error_item(&self) -> Option<ErrorItem> {
        let progress = &self.0.progress;
        execution::ErrorItem::of(progress.status, progress.stop_reason.as_ref()?).map(ErrorItem::from)
    }

    /// True when a written conversation answers in place of a model.
    async fn scripted(&self) -> bool {
        self.0.is_scripted
    }

    /// Number of the try at it; a crash makes the next one.
    async fn attempt(&self) -> i32 {
        int(self.0.progress.attempt)
    }

    /// When it was started by the caller.
    async fn created_at(&self) -> DateTime {
        self.0.created_at.into()
    }

    /// When a worker first claimed it.
    async fn started_at(&self) -> Option<DateTime> {
        self.0.progress.started_at.map(DateTime)
    }

    /// When it ended.
    async fn ended_at(&self) -> Option<DateTime> {
        self.0.progress.ended_at.map(DateTime)
    }

    /// When it must have ended.
    async fn deadline_at(&self) -> Option<DateTime> {
        self.0.deadline_at.map(DateTime)
    }

    /// Its effective limits and what is used of them.
    async fn budget(&self) -> ExecutionBudget {
        self.0.budget().into()
    }

    /// Every limit that holds for it, and who set it: its own, and the budget accounts that apply to it.
    async fn effective_limits(&self, ctx: &Context<'_>) -> Result<Vec<EffectiveLimit>, ApiError> {
        let accounts = ctx.services()?.accounts.applying(self.0.reference(), self.0.account_subjects()).await?;
        Ok(EffectiveLimit::all(&self.0, &accounts))
    }

    /// The number of the iteration that is open or was the last.
    async fn current_iteration(&self) -> i32 {
        int(self.0.progress.iteration)
    }

    /// Sequence of the last event.
    async fn last_sequence(&self) -> BigInt {
        self.0.next_sequence.saturating_sub(1).into()
    }

    /// Cursor behind the last event, for executionEvents(after:).
    async fn last_cursor(&self) -> String {
        Cursor { execution_id: self.0.id, sequence: self.0.next_sequence.saturating_sub(1) }.to_string()
    }

    /// Its iterations with their calls, oldest first.
    async fn iterations(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Listing<AgentIteration>, ApiError> {
        let request = page_request(first, after.as_deref())?;
        let records = ctx.services()?.executions.transcript(self.0.reference()).await?;
        let page = page_of(records, request.after.as_deref(), request.first)?;
        Ok(listing(&request, page, |record| AgentIteration::new(self.0.id, record)))
    }

    /// Files that it left, oldest first.
    async fn artifacts(&self, ctx: &Context<'_>) -> Result<Vec<Artifact>, ApiError> {
        self.files(ctx, ArtifactKind::Output).await
    }

    /// Files that it was given.
    async fn inputs(&self, ctx: &Context<'_>) -> Result<Vec<Artifact>, ApiError> {
        self.files(ctx, ArtifactKind::Input).await
    }

    /// Its sandboxes, oldest first.
    async fn sandboxes(&self, ctx: &Context<'_>) -> Result<Vec<Sandbox>, ApiError> {
        let rows = ctx.loader()?.load_one(SandboxesOf(self.0.id)).await?;
        Ok(rows.unwrap_or_default().into_iter().map(Sandbox).collect())
    }

    /// What people decided about it while it ran, oldest first.
    async fn audit_records(&self, ctx: &Context<'_>) -> Result<Vec<AuditRecord>, ApiError> {
        let records = ctx.services()?.audit.records_about(self.0.reference().scope(), &self.0.id.to_string()).await?;
        Ok(records.into_iter().map(AuditRecord).collect())
    }
}

impl Execution {
    async fn files(&self, ctx: &Context<'_>, kind: ArtifactKind) -> Result<Vec<Artifact>, ApiError> {
        let rows = ctx.loader()?.load_one(FilesOf(self.0.id)).await?;
        Ok(rows.unwrap_or_default().into_iter().filter(|file| file.kind == kind).map(Artifact).collect())
    }
}

fn page_of(records: Vec<IterationRecord>, after: Option<&str>, first: u32) -> Result<Page<IterationRecord>, ApiError> {
    let malformed = |_| ApiError::bad_input("after is not a cursor of this list");
    let seen: u32 = after.map_or(Ok(0), str::parse).map_err(malformed)?;
    let mut behind = records.into_iter().filter(|record| record.iteration.number > seen);
    let wanted = usize::try_from(first).unwrap_or(usize::MAX);
    let rows = behind.by_ref().take(wanted).map(|record| (record.iteration.number.to_string(), record)).collect();
    Ok(Page { rows, has_next: behind.next().is_some() })
}
