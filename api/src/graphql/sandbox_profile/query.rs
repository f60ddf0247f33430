//! Queries for sandbox profiles.

use async_graphql::{Context, ID, Object};
use domain::resource::ResourceKind;

use super::object::SandboxProfile;
use crate::graphql::connection::Listing;
use crate::graphql::error::ApiError;
use crate::graphql::resource::list;

/// Queries for sandbox profiles.
#[derive(Default)]
pub struct SandboxProfileQuery;

#[Object]
impl SandboxProfileQuery {
    /// The sandbox profiles of a project by slug, archived ones included.
    async fn sandbox_profiles(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<SandboxProfile>>, ApiError> {
        list(ctx, (project_id, ResourceKind::SandboxProfile), (first, after), SandboxProfile).await
    }
}
