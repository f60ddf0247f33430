//! Queries for the viewer and its projects.

use async_graphql::{Context, ID, Object};
use domain::ids::ProjectId;

use super::object::{Project, Viewer};
use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::{Caller, ContextExt};
use crate::graphql::error::ApiError;

/// Queries for the viewer and its projects.
#[derive(Default)]
pub struct ViewerQuery;

#[Object]
impl ViewerQuery {
    /// The principal behind this request; null when nobody is signed in.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<Option<Viewer>, ApiError> {
        let Some(principal) = ctx.data_opt::<Caller>().and_then(|caller| caller.0) else {
            return Ok(None);
        };
        Ok(ctx.services()?.identity.viewer(principal).await?.map(Viewer::from))
    }

    /// A project; null when there is none with this id that the caller may see.
    async fn project(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Project>, ApiError> {
        ctx.principal()?;
        visible_project(ctx, id.parse()?).await
    }

    /// The projects that the caller has a role in, by slug.
    async fn projects(
        &self,
        ctx: &Context<'_>,
        first: Option<i32>,
        after: Option<String>,
    ) -> Result<Option<Listing<Project>>, ApiError> {
        let principal = ctx.principal()?;
        let request = page_request(first, after.as_deref())?;
        let page = ctx.services()?.identity.list_projects(principal, request.clone()).await?;
        Ok(Some(listing(&request, page, Project::from)))
    }
}

/// A project, if the caller may see it.
pub async fn visible_project(ctx: &Context<'_>, id: ProjectId) -> Result<Option<Project>, ApiError> {
    if !ctx.may_view(id, None).await? {
        return Ok(None);
    }
    Ok(ctx.loader()?.load_one(id).await?.map(Project::from))
}
