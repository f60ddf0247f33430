//! Queries for models.

use async_graphql::{Context, ID, Object};
use domain::resource::ResourceKind;

use super::object::Model;
use crate::graphql::connection::Listing;
use crate::graphql::error::ApiError;
use crate::graphql::resource::list;

/// Queries for models.
#[derive(Default)]
pub struct ModelQuery;

#[Object]
impl ModelQuery {
    /// The models of a project by slug, archived ones included.
    async fn models(
        &self,
        ctx: &Context<'_>,
        project_id: ID,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<Model>>, ApiError> {
        list(ctx, (project_id, ResourceKind::Model), (first, after), Model).await
    }
}
