//! Queries for sandbox connections.

use async_graphql::{Context, ID, Object};
use domain::resource::ResourceKind;

use super::object::SandboxConnection;
use crate::graphql::connection::Listing;
use crate::graphql::error::ApiError;
use crate::graphql::resource::list;

/// Queries for sandbox connections.
#[derive(Default)]
pub struct SandboxConnectionQuery;

#[Object]
impl SandboxConnectionQuery {
    /// The sandbox connections of a project by slug, archived ones included.
    async fn sandbox_connections(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<SandboxConnection>>, ApiError> {
        list(ctx, (project_id, ResourceKind::SandboxConnection), (first, after), SandboxConnection).await
    }
}
