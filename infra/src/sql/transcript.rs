//! What happened in an execution, read back: iterations, calls, files, sandboxes.

use async_trait::async_trait;
use sea_orm::{QueryResult, Value};

use super::fault::Fault;
use super::query::{all, marks, one};
use super::rows::{Row, id};
use super::{SqlStore, executions, inbox, sandboxes, starts};
use domain::artifact::Artifact;
use domain::clock::Timestamp;
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;
use domain::execution::{
    AgentIteration, Execution, ExecutionFilter, ExecutionReader, ExecutionRef, IterationRecord, LoopOverride,
};
use domain::ids::{ArtifactId, ExecutionId, ModelCallId, SandboxId, ToolCallId};
use domain::model_call::ModelCall;
use domain::money::TokenUsage;
use domain::sandbox::{BackgroundCommand, IssuedCredential, Sandbox, WorkspaceCheckpoint};
use domain::tool_call::ToolCall;

pub(super) const SANDBOX_COLUMNS: [&str; 19] = [
    "tenant_id",
    "execution_id",
    "id",
    "epoch",
    "profile_version",
    "connection_version",
    "tier",
    "image",
    "network",
    "network_hosts",
    "credentials",
    "memory_bytes",
    "disk_bytes",
    "pids",
    "state",
    "remote_id",
    "enforced",
    "created_at",
    "expires_at",
];

#[async_trait]
impl ExecutionReader for SqlStore {
    async fn executions(&self, scope: Scope, ids: &[ExecutionId]) -> Result<Vec<Execution>, StoreError> {
        Ok(executions::by_ids(self, scope, ids).await?)
    }

    async fn started_before(
        &self,
        scope: Scope,
        key: &str,
        request_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Execution>, StoreError> {
        match starts::by_key(self, scope, key, request_hash, now).await? {
            Some(id) => Ok(executions::by_ids(self, scope, &[id]).await?.pop()),
            None => Ok(None),
        }
    }

    async fn list(
        &self,
        scope: Scope,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        Ok(executions::list(self, scope, filter, page).await?)
    }

    async fn transcript(&self, execution: ExecutionRef) -> Result<Vec<IterationRecord>, StoreError> {
        let store = self.clone();
        self.to_its_end(async move { transcript(&store, execution).await }).await
    }

    async fn loop_overrides(&self, execution: ExecutionRef) -> Result<Vec<LoopOverride>, StoreError> {
        Ok(inbox::loop_overrides(self.reader(), execution).await?)
    }

    async fn model_call(
        &self,
        scope: Scope,
        call: ModelCallId,
    ) -> Result<Option<(ExecutionId, ModelCall)>, StoreError> {
        Ok(by_id(self, "model_call", scope, id(call), read_model_call).await?)
    }

    async fn tool_call(&self, scope: Scope, call: ToolCallId) -> Result<Option<(ExecutionId, ToolCall)>, StoreError> {
        Ok(by_id(self, "tool_call", scope, id(call), read_tool_call).await?)
    }

    async fn artifacts(&self, scope: Scope, executions: &[ExecutionId]) -> Result<Vec<Artifact>, StoreError> {
        Ok(of_executions(self, "artifact", scope, executions)
            .await?
            .iter()
            .map(read_artifact)
            .collect::<Result<_, _>>()?)
    }

    async fn artifact(&self, scope: Scope, artifact: ArtifactId) -> Result<Option<Artifact>, StoreError> {
        Ok(by_id(self, "artifact", scope, id(artifact), read_artifact).await?.map(|(_, artifact)| artifact))
    }

    async fn sandbox(&self, scope: Scope, sandbox: SandboxId) -> Result<Option<(ExecutionId, Sandbox)>, StoreError> {
        Ok(by_id(self, "sandbox", scope, id(sandbox), read_sandbox).await?)
    }

    async fn issued_credentials(&self, execution: ExecutionRef) -> Result<Vec<IssuedCredential>, StoreError> {
        Ok(sandboxes::issued_credentials(self.reader(), execution).await?)
    }

    async fn sandboxes(
        &self,
        scope: Scope,
        executions: &[ExecutionId],
    ) -> Result<Vec<(ExecutionId, Sandbox)>, StoreError> {
        let rows = of_executions(self, "sandbox", scope, executions).await?;
        let read = |row| Ok((Row { table: "sandbox", row }.id("execution_id")?, read_sandbox(row)?));
        Ok(rows.iter().map(read).collect::<Result<_, Fault>>()?)
    }
}

async fn transcript(store: &SqlStore, execution: ExecutionRef) -> Result<Vec<IterationRecord>, Fault> {
    let snapshot = store.snapshot().await?;
    let select = |table: &str, order: &str| {
        format!("SELECT * FROM {table} WHERE tenant_id = ? AND execution_id = ? ORDER BY {order}")
    };
    let of = || [id(execution.tenant_id), id(execution.id)];
    let iterations = all(&snapshot, &select("agent_iteration", "number"), of()).await?;
    let model_calls = all(&snapshot, &select("model_call", "iteration, started_at, id"), of()).await?;
    let tool_calls = all(&snapshot, &select("tool_call", "iteration, ordinal, started_at, id"), of()).await?;
    let workspaces = all(&snapshot, &select("workspace_checkpoint", "iteration"), of()).await?;
    snapshot.rollback().await?;

    let mut records: Vec<IterationRecord> = iterations.iter().map(read_iteration).collect::<Result<_, _>>()?;
    for row in &model_calls {
        let call = read_model_call(row)?;
        record_of(&mut records, call.iteration, "model_call.iteration")?.model_calls.push(call);
    }
    for row in &tool_calls {
        let call = read_tool_call(row)?;
        record_of(&mut records, call.iteration, "tool_call.iteration")?.tool_calls.push(call);
    }
    for row in &workspaces {
        let row = Row { table: "workspace_checkpoint", row };
        let record = record_of(&mut records, row.int("iteration")?, "workspace_checkpoint.iteration")?;
        record.workspace = Some(WorkspaceCheckpoint {
            manifest: row.optional_text("manifest")?,
            left_out: row.int("left_out")?,
            is_stale: row.flag("is_stale")?,
        });
    }
    Ok(records)
}

fn record_of<'a>(
    records: &'a mut [IterationRecord],
    number: u32,
    column: &str,
) -> Result<&'a mut IterationRecord, Fault> {
    let at = records.binary_search_by_key(&number, |record| record.iteration.number);
    at.map(|at| &mut records[at]).map_err(|_| Fault::corrupt(column))
}

async fn by_id<T>(
    store: &SqlStore,
    table: &'static str,
    scope: Scope,
    row_id: Value,
    read: impl Fn(&QueryResult) -> Result<T, Fault>,
) -> Result<Option<(ExecutionId, T)>, Fault> {
    let sql = format!("SELECT * FROM {table} WHERE id = ? AND tenant_id = ?");
    let Some(row) = one(store.reader(), &sql, [row_id, id(scope.tenant_id)]).await? else { return Ok(None) };
    Ok(Some((Row { table, row: &row }.id("execution_id")?, read(&row)?)))
}

async fn of_executions(
    store: &SqlStore,
    table: &str,
    scope: Scope,
    executions: &[ExecutionId],
) -> Result<Vec<QueryResult>, Fault> {
    if executions.is_empty() {
        return Ok(Vec::new());
    }
    let marks = marks(executions.len());
    let sql =
        format!("SELECT * FROM {table} WHERE tenant_id = ? AND execution_id IN ({marks}) ORDER BY created_at, id");
    all(store.reader(), &sql, std::iter::once(id(scope.tenant_id)).chain(executions.iter().map(id))).await
}

fn read_iteration(row: &QueryResult) -> Result<IterationRecord, Fault> {
    let row = Row { table: "agent_iteration", row };
    let iteration = AgentIteration {
        number: row.int("number")?,
        agent_state_ref: row.optional_text("agent_state_ref")?,
        started_at: row.time("started_at")?,
        ended_at: row.optional_time("ended_at")?,
    };
    Ok(IterationRecord { iteration, model_calls: Vec::new(), tool_calls: Vec::new(), workspace: None })
}

fn read_model_call(row: &QueryResult) -> Result<ModelCall, Fault> {
    let row = Row { table: "model_call", row };
    Ok(ModelCall {
        id: row.id("id")?,
        iteration: row.int("iteration")?,
        epoch: row.int("epoch")?,
        state: row.name("state")?,
        provider: row.text("provider")?,
        deployment: row.text("deployment")?,
        alias: row.text("alias")?,
        // Rows from before there were fallbacks have neither.
        fallback_index: row.optional_int("fallback_index")?.unwrap_or(0),
        fallback_because: row.optional_json("fallback_because")?,
        tries: row.optional_int("tries")?.unwrap_or(1),
        parameters: row.json("parameters")?,
        price_version: row.optional_id("price_version")?,
        price: row.optional_json("price")?,
        reserved_tokens: row.int("reserved_tokens")?,
        reserved: row.money("reserved_nano_usd")?,
        usage: TokenUsage {
            input: row.int("input_tokens")?,
            cached_input: row.int("cached_input_tokens")?,
            output: row.int("output_tokens")?,
            reasoning: row.int("reasoning_tokens")?,
        },
        cost: row.money("cost_nano_usd")?,
        estimated: row.flag("estimated")?,
        finish_reason: row.optional_name("finish_reason")?,
        error: row.optional_json("error")?,
        request: row.json("request")?,
        reply_text: row.json("reply_text")?,
        reply_tool_calls: row.json("reply_tool_calls")?,
        reply_partial: row.flag("reply_partial")?,
        started_sequence: row.int("started_sequence")?,
        started_at: row.time("started_at")?,
        ended_at: row.optional_time("ended_at")?,
        first_delta_ms: row.optional_int("first_delta_ms")?,
    })
}

fn read_command(row: &Row<'_>) -> Result<Option<BackgroundCommand>, Fault> {
    let Some(id) = row.optional_text("command_id")? else { return Ok(None) };
    Ok(Some(BackgroundCommand { id, cursor: row.int("command_cursor")?, limit_ms: row.int("command_limit_ms")? }))
}

fn read_tool_call(row: &QueryResult) -> Result<ToolCall, Fault> {
    let row = Row { table: "tool_call", row };
    Ok(ToolCall {
        id: row.id("id")?,
        iteration: row.int("iteration")?,
        ordinal: row.int("ordinal")?,
        epoch: row.int("epoch")?,
        tool: row.text("tool")?,
        tool_version: row.text("tool_version")?,
        state: row.name("state")?,
        side_effect: row.name("side_effect")?,
        idempotency_key: row.text("idempotency_key")?,
        fingerprint: row.text("fingerprint")?,
        arguments: row.json("arguments")?,
        result: row.json("result")?,
        exit_code: row.optional_int("exit_code")?,
        error: row.optional_json("error")?,
        truncated: row.flag("truncated")?,
        lossy: row.flag("lossy")?,
        sandbox_id: row.optional_id("sandbox_id")?,
        command: read_command(&row)?,
        started_at: row.time("started_at")?,
        ended_at: row.optional_time("ended_at")?,
    })
}

fn read_artifact(row: &QueryResult) -> Result<Artifact, Fault> {
    let row = Row { table: "artifact", row };
    Ok(Artifact {
        id: row.id("id")?,
        execution_id: row.id("execution_id")?,
        kind: row.name("kind")?,
        name: row.text("name")?,
        media_type: row.text("media_type")?,
        byte_size: row.int("byte_size")?,
        sha256: row.text("sha256")?,
        tool_call_id: row.optional_id("tool_call_id")?,
        created_at: row.time("created_at")?,
    })
}

pub(super) fn read_sandbox(row: &QueryResult) -> Result<Sandbox, Fault> {
    let row = Row { table: "sandbox", row };
    Ok(Sandbox {
        id: row.id("id")?,
        epoch: row.int("epoch")?,
        profile_version: row.id("profile_version")?,
        connection_version: row.id("connection_version")?,
        tier: row.name("tier")?,
        image: row.text("image")?,
        network: row.name("network")?,
        network_hosts: row.optional_json("network_hosts")?.unwrap_or_default(),
        credentials: row.optional_json("credentials")?.unwrap_or_default(),
        memory_bytes: row.int("memory_bytes")?,
        disk_bytes: row.int("disk_bytes")?,
        pids: row.int("pids")?,
        state: row.name("state")?,
        remote_id: row.optional_text("remote_id")?,
        enforced: row.json("enforced")?,
        created_at: row.time("created_at")?,
        expires_at: row.optional_time("expires_at")?,
    })
}
