//! Finding executions and their calls, if the caller may see them.

use async_graphql::Context;
use domain::ids::{ExecutionId, ModelCallId, SandboxId, ToolCallId};

use super::model_call::ModelCall;
use super::object::Execution;
use super::sandbox::Sandbox;
use super::tool_call::ToolCall;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;

/// An execution, if the caller may see its project.
pub async fn visible_execution(ctx: &Context<'_>, id: ExecutionId) -> Result<Option<Execution>, ApiError> {
    let Some(execution) = ctx.loader()?.load_one(id).await? else {
        return Ok(None);
    };
    Ok(ctx.may_view(execution.project_id, None).await?.then_some(Execution(execution)))
}

/// Whether an execution that the caller might see was removed after its time.
pub async fn has_expired(ctx: &Context<'_>, id: ExecutionId) -> Result<bool, ApiError> {
    let scope = ctx.principal()?.scope();
    let tombstone = ctx.services()?.retention.tombstone(scope, id).await?;
    match tombstone {
        Some(tombstone) => ctx.may_view(tombstone.project_id, None).await,
        None => Ok(false),
    }
}

/// A model call, if the caller may see its execution.
pub async fn visible_model_call(ctx: &Context<'_>, id: ModelCallId) -> Result<Option<ModelCall>, ApiError> {
    let scope = ctx.principal()?.scope();
    let Some((execution, call)) = ctx.services()?.executions.model_call(scope, id).await? else {
        return Ok(None);
    };
    Ok(visible_execution(ctx, execution).await?.map(|_| ModelCall::new(execution, call)))
}

/// A tool call, if the caller may see its execution.
pub async fn visible_tool_call(ctx: &Context<'_>, id: ToolCallId) -> Result<Option<ToolCall>, ApiError> {
    let scope = ctx.principal()?.scope();
    let Some((execution, call)) = ctx.services()?.executions.tool_call(scope, id).await? else {
        return Ok(None);
    };
    Ok(visible_execution(ctx, execution).await?.map(|_| ToolCall::new(execution, call)))
}

/// A sandbox, if the caller may see its execution.
pub async fn visible_sandbox(ctx: &Context<'_>, id: SandboxId) -> Result<Option<Sandbox>, ApiError> {
    let scope = ctx.principal()?.scope();
    let Some((execution, sandbox)) = ctx.services()?.executions.sandbox(scope, id).await? else {
        return Ok(None);
    };
    Ok(visible_execution(ctx, execution).await?.map(|_| Sandbox(sandbox)))
}
