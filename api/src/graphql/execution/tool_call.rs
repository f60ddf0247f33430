//! Tool calls as the API shows them.

use async_graphql::{Context, Enum, ID, Object};
use domain::artifact::load_text;
use domain::ids::ExecutionId;
use domain::tool_call;

use super::model_call::CallError;
use super::sandbox::Sandbox;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::loader::SandboxesOf;
use crate::graphql::scalar::int;
use crate::graphql::scalar::{DateTime, Json};

/// A tool call.
pub struct ToolCall {
    execution: ExecutionId,
    call: tool_call::ToolCall,
}

impl ToolCall {
    /// A call of this execution.
    pub const fn new(execution: ExecutionId, call: tool_call::ToolCall) -> Self {
        Self { execution, call }
    }
}

/// One use of a tool that a model asked for.
#[Object]
impl ToolCall {
    /// Its id.
    pub async fn id(&self) -> ID {
        self.call.id.to_string().into()
    }

    /// The iteration whose reply asked for it.
    async fn iteration(&self) -> i32 {
        int(self.call.iteration)
    }

    /// Its place among the calls of that reply, from 0.
    async fn ordinal(&self) -> i32 {
        int(self.call.ordinal)
    }

    /// Tool name, as the model wrote it.
    async fn tool(&self) -> &str {
        &self.call.tool
    }

    /// Version of the tool's contract.
    async fn tool_version(&self) -> &str {
        &self.call.tool_version
    }

    /// Where it stands.
    async fn state(&self) -> ToolCallState {
        self.call.state.into()
    }

    /// What repeating it would do.
    async fn side_effect(&self) -> SideEffect {
        self.call.side_effect.into()
    }

    /// Stays the same when the call is repeated after a loss.
    async fn idempotency_key(&self) -> &str {
        &self.call.idempotency_key
    }

    /// Hexadecimal SHA-256 over name and canonical arguments.
    async fn fingerprint(&self) -> &str {
        &self.call.fingerprint
    }

    /// The arguments as the model wrote them; null when they are not JSON (see rawArguments).
    async fn arguments(&self, ctx: &Context<'_>) -> Result<Option<Json>, ApiError> {
        let (scope, store) = (ctx.principal()?.scope(), &ctx.services()?.artifacts);
        Ok(Json::parse_text(load_text(store.as_ref(), scope, &self.call.arguments).await?))
    }

    /// The arguments as text, exactly as they came.
    async fn raw_arguments(&self, ctx: &Context<'_>) -> Result<String, ApiError> {
        let (scope, store) = (ctx.principal()?.scope(), &ctx.services()?.artifacts);
        Ok(load_text(store.as_ref(), scope, &self.call.arguments).await?)
    }

    /// What the model got to read; null while the call is under way.
    async fn result(&self, ctx: &Context<'_>) -> Result<Option<String>, ApiError> {
        if self.call.ended_at.is_none() {
            return Ok(None);
        }
        let (scope, store) = (ctx.principal()?.scope(), &ctx.services()?.artifacts);
        Ok(Some(load_text(store.as_ref(), scope, &self.call.result).await?))
    }

    /// Exit code of a program.
    async fn exit_code(&self) -> Option<i32> {
        self.call.exit_code
    }

    /// Why it failed.
    async fn error(&self) -> Option<CallError> {
        self.call.error.clone().map(CallError::from)
    }

    /// Whether output was left out of the result.
    async fn truncated(&self) -> bool {
        self.call.truncated
    }

    /// Whether output held bytes that are no UTF-8.
    async fn lossy(&self) -> bool {
        self.call.lossy
    }

    /// When it started.
    async fn started_at(&self) -> DateTime {
        self.call.started_at.into()
    }

    /// When it ended.
    async fn ended_at(&self) -> Option<DateTime> {
        self.call.ended_at.map(DateTime)
    }

    /// Milliseconds from start to end.
    async fn duration_ms(&self) -> Option<i32> {
        let taken = self.call.ended_at?.since(self.call.started_at);
        Some(i32::try_from(taken.as_millis()).unwrap_or(i32::MAX))
    }

    /// The sandbox that it used.
    async fn sandbox(&self, ctx: &Context<'_>) -> Result<Option<Sandbox>, ApiError> {
        let Some(wanted) = self.call.sandbox_id else {
            return Ok(None);
        };
        let rows = ctx.loader()?.load_one(SandboxesOf(self.execution)).await?.unwrap_or_default();
        Ok(rows.into_iter().find(|row| row.id == wanted).map(Sandbox))
    }
}

/// Where a tool call stands. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "tool_call::ToolCallState")]
pub enum ToolCallState {
    /// It may be under way.
    Started,
    /// It did what was asked.
    Succeeded,
    /// It ran and failed.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It may have run in part; it is not repeated.
    Interrupted,
    /// Its worker was lost; it is repeated or waits for a person.
    Lost,
    /// It was never run.
    Refused,
}

/// What repeating a call would do. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "tool_call::SideEffect")]
#[expect(clippy::enum_variant_names, reason = "the class is named after what the call has")]
pub enum SideEffect {
    /// It changes nothing.
    ReadOnly,
    /// The same key has the same effect once.
    Idempotent,
    /// It acts on the world: after a loss a person decides.
    SideEffect,
    /// It acts inside the execution's own sandbox.
    SandboxOnly,
}
