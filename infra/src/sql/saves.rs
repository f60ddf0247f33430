//! The rows that a commit writes behind its fence, one function a kind of change.

use sea_orm::{DatabaseTransaction, Value};

use super::fault::Fault;
use super::query::{execute, insert, now, save as save_row};
use super::rows::{
    flag, id, int, json, limits, name, optional_id, optional_int, optional_json, optional_name, optional_time, time,
};
use super::{account_moves, sandboxes};
use domain::artifact::Artifact;
use domain::clock::Timestamp;
use domain::execution::{AgentIteration, Change, ExecutionRef, Fence, LoopOverride, Progress};
use domain::ids::CommandId;
use domain::model_call::ModelCall;
use domain::sandbox::{CommandPlace, WorkspaceCheckpoint};
use domain::tool_call::ToolCall;

pub(super) async fn save(transaction: &DatabaseTransaction, fence: &Fence, change: &Change) -> Result<(), Fault> {
    let execution = fence.execution;
    match change {
        Change::SaveIteration(iteration) => save_iteration(transaction, execution, iteration).await,
        Change::SaveModelCall(call) => save_model_call(transaction, execution, call).await,
        Change::SaveToolCall(call) => save_tool_call(transaction, execution, call).await,
        Change::SaveCommand(place) => save_command(transaction, execution, place).await,
        Change::SaveSandbox(sandbox) => sandboxes::save(transaction, execution, sandbox).await,
        Change::OpenSandbox { sandbox, quota } => sandboxes::open(transaction, execution, sandbox, *quota).await,
        Change::SaveIssuedCredential(issued) => sandboxes::save_credential(transaction, execution, issued).await,
        Change::SaveWorkspace { iteration, checkpoint } => {
            save_workspace(transaction, execution, *iteration, checkpoint).await
        }
        Change::AddArtifact(artifact) => add_artifact(transaction, execution, artifact).await,
        Change::StartAttempt { number, started_at } => start_attempt(transaction, fence, *number, *started_at).await,
        Change::ApplyCommand(command) => apply_command(transaction, execution, *command).await,
        Change::ReserveAccounts(hold) => account_moves::reserve(transaction, execution, hold).await,
        Change::SettleAccounts { call, used } => account_moves::settle(transaction, execution, *call, *used).await,
        Change::NoteWarned { account, starts_at, warned } => {
            let columns = [("cost_level", int(warned.cost)), ("token_level", int(warned.tokens))];
            let [tenant, execution, account] = key(execution, ("account_id", id(account)));
            let key = [tenant, execution, account, ("starts_at", time(*starts_at))];
            save_row(transaction, "budget_warned", &key, &columns).await
        }
        Change::SaveLimits(raised, sources) => {
            let sql = "UPDATE execution SET limits = ? WHERE tenant_id = ? AND id = ?";
            let values = [limits(raised, sources)?, id(execution.tenant_id), id(execution.id)];
            execute(transaction, sql, values).await.map(|_| ())
        }
        Change::AddLoopOverride { command, at } => add_loop_override(transaction, execution, *command, *at).await,
    }
}

pub(super) fn key(execution: ExecutionRef, row: (&'static str, Value)) -> [(&'static str, Value); 3] {
    [("tenant_id", id(execution.tenant_id)), ("execution_id", id(execution.id)), row]
}

async fn save_iteration(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    iteration: &AgentIteration,
) -> Result<(), Fault> {
    let columns = [
        ("agent_state_ref", iteration.agent_state_ref.clone().into()),
        ("started_at", time(iteration.started_at)),
        ("ended_at", optional_time(iteration.ended_at)),
    ];
    save_row(transaction, "agent_iteration", &key(execution, ("number", int(iteration.number))), &columns).await
}

async fn save_model_call(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    call: &ModelCall,
) -> Result<(), Fault> {
    let columns = [
        ("iteration", int(call.iteration)),
        ("epoch", int(call.epoch)),
        ("state", name(call.state)),
        ("provider", call.provider.clone().into()),
        ("deployment", call.deployment.clone().into()),
        ("alias", call.alias.clone().into()),
        ("fallback_index", int(call.fallback_index)),
        ("fallback_because", optional_json(call.fallback_because.as_ref())?),
        ("tries", int(call.tries)),
        ("parameters", json(&call.parameters)?),
        ("price_version", optional_id(call.price_version)),
        ("price", optional_json(call.price.as_ref())?),
        ("reserved_tokens", int(call.reserved_tokens)),
        ("reserved_nano_usd", call.reserved.0.into()),
        ("input_tokens", int(call.usage.input)),
        ("cached_input_tokens", int(call.usage.cached_input)),
        ("output_tokens", int(call.usage.output)),
        ("reasoning_tokens", int(call.usage.reasoning)),
        ("cost_nano_usd", call.cost.0.into()),
        ("estimated", flag(call.estimated)),
        ("finish_reason", optional_name(call.finish_reason)),
        ("error", optional_json(call.error.as_ref())?),
        ("request", json(&call.request)?),
        ("reply_text", json(&call.reply_text)?),
        ("reply_tool_calls", json(&call.reply_tool_calls)?),
        ("reply_partial", flag(call.reply_partial)),
        ("started_sequence", int(call.started_sequence)),
        ("started_at", time(call.started_at)),
        ("ended_at", optional_time(call.ended_at)),
        ("first_delta_ms", optional_int(call.first_delta_ms)),
    ];
    save_row(transaction, "model_call", &key(execution, ("id", id(call.id))), &columns).await
}

async fn save_tool_call(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    call: &ToolCall,
) -> Result<(), Fault> {
    let columns = [
        ("iteration", int(call.iteration)),
        ("ordinal", int(call.ordinal)),
        ("epoch", int(call.epoch)),
        ("tool", call.tool.clone().into()),
        ("tool_version", call.tool_version.clone().into()),
        ("state", name(call.state)),
        ("side_effect", name(call.side_effect)),
        ("idempotency_key", call.idempotency_key.clone().into()),
        ("fingerprint", call.fingerprint.clone().into()),
        ("arguments", json(&call.arguments)?),
        ("result", json(&call.result)?),
        ("exit_code", optional_int(call.exit_code)),
        ("error", optional_json(call.error.as_ref())?),
        ("truncated", flag(call.truncated)),
        ("lossy", flag(call.lossy)),
        ("sandbox_id", optional_id(call.sandbox_id)),
        ("started_at", time(call.started_at)),
        ("ended_at", optional_time(call.ended_at)),
    ];
    save_row(transaction, "tool_call", &key(execution, ("id", id(call.id))), &columns).await
}

async fn save_command(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    place: &CommandPlace,
) -> Result<(), Fault> {
    let sql = "UPDATE tool_call SET sandbox_id = ?, command_id = ?, command_cursor = ?, command_limit_ms = ? \
        WHERE tenant_id = ? AND execution_id = ? AND id = ?";
    let command = &place.command;
    let columns = [id(place.sandbox), command.id.clone().into(), int(command.cursor), int(command.limit_ms)];
    let key = [id(execution.tenant_id), id(execution.id), id(place.call)];
    match execute(transaction, sql, columns.into_iter().chain(key)).await? {
        1 => Ok(()),
        _ => Err(Fault::conflict("the execution has no such tool call")),
    }
}

async fn save_workspace(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    iteration: u32,
    checkpoint: &WorkspaceCheckpoint,
) -> Result<(), Fault> {
    let columns = [
        ("manifest", checkpoint.manifest.clone().into()),
        ("left_out", int(checkpoint.left_out)),
        ("is_stale", flag(checkpoint.is_stale)),
    ];
    save_row(transaction, "workspace_checkpoint", &key(execution, ("iteration", int(iteration))), &columns).await
}

pub(super) async fn add_artifact(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    artifact: &Artifact,
) -> Result<(), Fault> {
    let columns = [
        ("kind", name(artifact.kind)),
        ("name", artifact.name.clone().into()),
        ("media_type", artifact.media_type.clone().into()),
        ("byte_size", int(artifact.byte_size)),
        ("sha256", artifact.sha256.clone().into()),
        ("tool_call_id", optional_id(artifact.tool_call_id)),
        ("created_at", time(artifact.created_at)),
    ];
    let key = key(execution, ("id", id(artifact.id)));
    let inserted = insert(transaction, "artifact", key.iter().chain(&columns)).await;
    inserted.map_err(|fault| fault.taken("an artifact with this id exists"))
}

async fn start_attempt(
    transaction: &DatabaseTransaction,
    fence: &Fence,
    number: u32,
    started_at: Timestamp,
) -> Result<(), Fault> {
    close_attempts(transaction, fence.execution, started_at, "SUPERSEDED").await?;
    let columns = [("epoch", int(fence.epoch)), ("started_at", time(started_at))];
    let key = key(fence.execution, ("number", int(number)));
    let inserted = insert(transaction, "node_attempt", key.iter().chain(&columns)).await;
    inserted.map_err(|fault| fault.taken("an attempt with this number exists"))
}

/// The end of an execution is the end of its attempt.
pub(super) async fn end_attempt(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    progress: &Progress,
) -> Result<(), Fault> {
    let Some(ended_at) = progress.ended_at.filter(|_| progress.status.is_terminal()) else { return Ok(()) };
    close_attempts(transaction, execution, ended_at, name(progress.status)).await
}

async fn close_attempts(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    at: Timestamp,
    outcome: impl Into<Value>,
) -> Result<(), Fault> {
    let sql = "UPDATE node_attempt SET ended_at = ?, outcome = ? \
        WHERE tenant_id = ? AND execution_id = ? AND ended_at IS NULL";
    let values = [time(at), outcome.into(), id(execution.tenant_id), id(execution.id)];
    execute(transaction, sql, values).await.map(|_| ())
}

async fn apply_command(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    command: CommandId,
) -> Result<(), Fault> {
    let sql = format!(
        "UPDATE execution_command SET applied_at = {} \
         WHERE tenant_id = ? AND execution_id = ? AND id = ? AND applied_at IS NULL",
        now(transaction)
    );
    execute(transaction, &sql, [id(execution.tenant_id), id(execution.id), id(command)]).await.map(|_| ())
}

async fn add_loop_override(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    command: CommandId,
    at: LoopOverride,
) -> Result<(), Fault> {
    let columns = [("after_calls", int(at.after_calls)), ("pardons", int(at.pardons))];
    save_row(transaction, "loop_override", &key(execution, ("command_id", id(command))), &columns).await
}
