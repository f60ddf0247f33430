//! Queries for costs.

use async_graphql::{Context, ID, Object};

use super::object::{CostBy, CostFilter, CostSummary, ExecutionCost};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::execution::visible_execution;

/// Queries for costs.
#[derive(Default)]
pub struct CostQuery;

#[Object]
impl CostQuery {
    /// What an execution cost: the exact sum of its stored model calls. Null when there is none with this id that the
    /// caller may see.
    async fn execution_cost(&self, ctx: &Context<'_>, execution_id: ID) -> Result<Option<ExecutionCost>, ApiError> {
        ctx.principal()?;
        let Some(found) = visible_execution(ctx, execution_id.parse()?).await? else {
            return Ok(None);
        };
        let execution = found.0.reference();
        let totals = ctx.services()?.costs.execution_cost(execution).await?;
        Ok(Some(ExecutionCost { execution, totals }))
    }

    /// What a project's model calls cost, by model, agent or day: exact sums of stored calls.
    async fn cost_summary(
        &self,
        ctx: &Context<'_>,
        by: CostBy,
        filter: CostFilter,
    ) -> Result<Option<CostSummary>, ApiError> {
        let filter = filter.read(ctx).await?;
        Ok(Some(CostSummary { by: by.into(), filter }))
    }
}
