//! Finding resources that the caller may see. What it may not see is missing.

use async_graphql::{Context, ID, OutputType};
use domain::access::Action;
use domain::ids::{ResourceId, VersionId};
use domain::resource::{Resource, ResourceKind, ResourceVersion};

use crate::graphql::connection::{Listing, listing, page_request};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::loader::LatestOf;

/// A resource.
pub async fn visible(ctx: &Context<'_>, id: ResourceId) -> Result<Option<Resource>, ApiError> {
    let Some(resource) = ctx.loader()?.load_one(id).await? else {
        return Ok(None);
    };
    Ok(ctx.may_view(resource.project_id, Some(id)).await?.then_some(resource))
}

/// The newest published version of a resource.
pub async fn visible_latest(ctx: &Context<'_>, id: ResourceId) -> Result<Option<ResourceVersion>, ApiError> {
    match visible(ctx, id).await? {
        Some(_) => ctx.loader()?.load_one(LatestOf(id)).await,
        None => Ok(None),
    }
}

/// A version.
pub async fn visible_version(ctx: &Context<'_>, id: VersionId) -> Result<Option<ResourceVersion>, ApiError> {
    let Some(version) = ctx.loader()?.load_one(id).await? else {
        return Ok(None);
    };
    Ok(visible(ctx, version.resource_id).await?.map(|_| version))
}

/// A page of a project's resources of one kind, by slug.
pub async fn list<T: OutputType>(
    ctx: &Context<'_>,
    (project, kind): (ID, ResourceKind),
    (first, after): (Option<i32>, Option<String>),
    show: impl Fn(Resource) -> T,
) -> Result<Option<Listing<T>>, ApiError> {
    ctx.principal()?;
    let (project, request) = (project.parse()?, page_request(first, after.as_deref())?);
    let principal = ctx.require(Action::View, project).await?;
    let page = ctx.services()?.resources.list(principal.scope(), project, kind, request.clone()).await?;
    Ok(Some(listing(&request, page, show)))
}

/// A page of a visible resource's versions, newest first.
pub async fn list_versions<T: OutputType>(
    ctx: &Context<'_>,
    resource: ResourceId,
    first: Option<i32>,
    after: Option<String>,
    show: impl Fn(ResourceVersion) -> Option<T>,
) -> Result<Listing<T>, ApiError> {
    let (principal, request) = (ctx.principal()?, page_request(first, after.as_deref())?);
    let mut page = ctx.services()?.resources.list_versions(principal.scope(), resource, request.clone()).await?;
    let rows = std::mem::take(&mut page.rows);
    let rows = rows.into_iter().filter_map(|(key, row)| Some((key, show(row)?))).collect();
    Ok(listing(&request, domain::ctx::Page { rows, has_next: page.has_next }, |row| row))
}
