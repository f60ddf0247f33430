//! Queries for executions.

use async_graphql::{Context, ID, Object};

use super::filter::{ExecutionFilter, visible_page};
use super::object::Execution;
use super::sight::visible_execution;
use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;

/// Queries for executions.
#[derive(Default)]
pub struct ExecutionQuery;

#[Object]
impl ExecutionQuery {
    /// An execution; null when there is none with this id that the caller may see.
    async fn execution(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Execution>, ApiError> {
        ctx.principal()?;
        visible_execution(ctx, id.parse()?).await
    }

    /// Executions that the caller may see, newest first.
    async fn executions(
        &self,
        ctx: &Context<'_>,
        filter: Option<ExecutionFilter>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<Execution>>, ApiError> {
        ctx.principal()?;
        let request = page_request(first, after.as_deref())?;
        let filter = filter.unwrap_or_default().read(ctx).await?;
        let page = visible_page(ctx, &filter, &request).await?;
        Ok(Some(listing(&request, page, Execution)))
    }
}
