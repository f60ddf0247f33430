//! Queries for agents.

use async_graphql::{Context, ID, Object};
use domain::resource::ResourceKind;

use super::object::Agent;
use crate::graphql::connection::Listing;
use crate::graphql::error::ApiError;
use crate::graphql::resource::list;

/// Queries for agents.
#[derive(Default)]
pub struct AgentQuery;

#[Object]
impl AgentQuery {
    /// The agents of a project by slug, archived ones included.
    async fn agents(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<Agent>>, ApiError> {
        list(ctx, (project_id, ResourceKind::Agent), (first, after), Agent).await
    }
}
