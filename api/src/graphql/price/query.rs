//! Queries for price tables.

use async_graphql::{Context, ID, Object};
use domain::access::Action;

use super::object::ModelPrice;
use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;

/// Queries for price tables.
#[derive(Default)]
pub struct PriceQuery;

#[Object]
impl PriceQuery {
    /// The price table of a project: by provider and deployment, for each model the newest first.
    async fn price_versions(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<ModelPrice>>, ApiError> {
        ctx.principal()?;
        let (project, request) = (project_id.parse()?, page_request(first, after.as_deref())?);
        let principal = ctx.require(Action::View, project).await?;
        let page = ctx.services()?.prices.list_prices(principal.scope(), project, request.clone()).await?;
        Ok(Some(listing(&request, page, ModelPrice::from)))
    }
}
