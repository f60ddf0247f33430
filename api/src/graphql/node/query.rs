//! Finding any object by its global id. What the caller may not see is null, like what does not exist.

use async_graphql::{Context, ID, Object};
use domain::ids::TenantId;
use futures_util::future::try_join_all;

use super::object::Node;
use crate::graphql::access::visible_api_key;
use crate::graphql::artifact::visible_artifact;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::execution::{visible_execution, visible_model_call, visible_sandbox, visible_tool_call};
use crate::graphql::resource::{visible, visible_version};
use crate::graphql::viewer::{Tenant, visible_project};

const MOST_IDS: usize = 100;

/// Queries by global id.
#[derive(Default)]
pub struct NodeQuery;

#[Object]
impl NodeQuery {
    /// The object with this id; null when there is none that the caller may see.
    async fn node(&self, ctx: &Context<'_>, id: ID) -> Result<Option<Node>, ApiError> {
        ctx.principal()?;
        find(ctx, &id).await
    }

    /// The objects with these ids, at most 100, in the same order; null where there is none that the caller may see.
    async fn nodes(&self, ctx: &Context<'_>, ids: Vec<ID>) -> Result<Vec<Option<Node>>, ApiError> {
        ctx.principal()?;
        if ids.len() > MOST_IDS {
            return Err(ApiError::bad_input(format!("ids must be at most {MOST_IDS}, and are {}", ids.len())));
        }
        try_join_all(ids.iter().map(|id| find(ctx, id))).await
    }
}

async fn find(ctx: &Context<'_>, id: &ID) -> Result<Option<Node>, ApiError> {
    Ok(match id.split_once('_').map(|(prefix, _)| prefix) {
        Some("ten") => tenant(ctx, id.parse()?).await?.map(Node::Tenant),
        Some("prj") => visible_project(ctx, id.parse()?).await?.map(Node::Project),
        Some("key") => visible_api_key(ctx, id.parse()?).await?.map(Node::ApiKey),
        Some("res") => visible(ctx, id.parse()?).await?.map(Node::from_resource),
        Some("ver") => visible_version(ctx, id.parse()?).await?.and_then(Node::from_version),
        Some("exe") => visible_execution(ctx, id.parse()?).await?.map(Node::Execution),
        Some("mcl") => visible_model_call(ctx, id.parse()?).await?.map(Node::ModelCall),
        Some("tcl") => visible_tool_call(ctx, id.parse()?).await?.map(Node::ToolCall),
        Some("sbx") => visible_sandbox(ctx, id.parse()?).await?.map(Node::Sandbox),
        Some("art") => visible_artifact(ctx, id.parse()?).await?.map(Node::Artifact),
        Some(_) | None => return Err(ApiError::bad_input("The id is not an id of this API.")),
    })
}

async fn tenant(ctx: &Context<'_>, id: TenantId) -> Result<Option<Tenant>, ApiError> {
    let principal = ctx.principal()?;
    if principal.tenant_id != id {
        return Ok(None);
    }
    Ok(ctx.services()?.identity.viewer(principal).await?.map(|viewer| viewer.tenant.into()))
}
