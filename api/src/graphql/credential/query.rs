//! Queries for credentials.

use async_graphql::{Context, ID, Object};
use domain::resource::ResourceKind;

use super::object::Credential;
use crate::graphql::connection::Listing;
use crate::graphql::error::ApiError;
use crate::graphql::resource::list;

/// Queries for credentials.
#[derive(Default)]
pub struct CredentialQuery;

#[Object]
impl CredentialQuery {
    /// The credentials of a project by slug, archived ones included.
    async fn credentials(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<Credential>>, ApiError> {
        list(ctx, (project_id, ResourceKind::Credential), (first, after), Credential).await
    }
}
