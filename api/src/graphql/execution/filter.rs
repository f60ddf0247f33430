//! Which executions a list or a watch shows, and reading the visible ones.

use async_graphql::{Context, ID, InputObject};
use domain::access::Action;
use domain::ctx::{Page, PageRequest};
use domain::execution::{self, Execution};

use super::status::ExecutionStatus;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;

/// Reads at most, while a page is filled with rows that the caller may see.
const MOST_READS: usize = 20;

/// Which executions are wanted; what is left out does not narrow.
#[derive(Debug, Default, InputObject)]
pub struct ExecutionFilter {
    /// Of this project.
    project_id: Option<ID>,
    /// Of this agent.
    agent_id: Option<ID>,
    /// In one of these states.
    status: Option<Vec<ExecutionStatus>>,
}

impl ExecutionFilter {
    /// Reads the filter and asks whether the caller may see its project. A caller that is bound to a project sees only
    /// that one.
    pub async fn read(self, ctx: &Context<'_>) -> Result<execution::ExecutionFilter, ApiError> {
        let principal = ctx.principal()?;
        let project_id = self.project_id.map(|id| id.parse()).transpose()?;
        let agent_id = self.agent_id.map(|id| id.parse()).transpose()?;
        if let Some(project) = project_id {
            ctx.require(Action::View, project).await?;
        }
        let status = self.status.unwrap_or_default().into_iter().map(Into::into).collect();
        Ok(execution::ExecutionFilter { project_id: project_id.or(principal.project_id), agent_id, status })
    }
}

/// A page of executions, newest first, without those that the caller may not see.
pub async fn visible_page(
    ctx: &Context<'_>,
    filter: &execution::ExecutionFilter,
    request: &PageRequest,
) -> Result<Page<Execution>, ApiError> {
    let (scope, reader) = (ctx.principal()?.scope(), &ctx.services()?.executions);
    let wanted = usize::try_from(request.first).unwrap_or(usize::MAX);
    let (mut rows, mut after, mut has_next) = (Vec::new(), request.after.clone(), true);
    for _ in 0..MOST_READS {
        let missing = request.first.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        let next = PageRequest { first: missing, after: after.take() };
        let page = reader.list(scope, filter, next).await?;
        after = page.rows.last().map(|(key, _)| key.clone());
        has_next = page.has_next;
        for (key, row) in page.rows {
            if ctx.may_view(row.project_id, None).await? {
                rows.push((key, row));
            }
        }
        if !has_next || rows.len() >= wanted {
            break;
        }
    }
    Ok(Page { rows, has_next })
}

/// Whether an execution matches a filter.
pub fn matches(filter: &execution::ExecutionFilter, execution: &Execution) -> bool {
    filter.project_id.is_none_or(|project| project == execution.project_id)
        && filter.agent_id.is_none_or(|agent| agent == execution.agent_id)
        && (filter.status.is_empty() || filter.status.contains(&execution.progress.status))
}
