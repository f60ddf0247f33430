//! The execution row: read, listed, and the ports that write it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, QueryResult, Value};

use super::fault::Fault;
use super::query::{all, marks};
use super::rows::{Row, id, name};
use super::{SqlStore, claims, commits, inbox, page, sandboxes, starts};
use domain::budget::{LimitSources, Used};
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;
use domain::execution::{
    Claimed, Command, Commit, Execution, ExecutionFilter, ExecutionRef, ExecutionStore, Fence, NewExecution, Progress,
    Renewal, StartOutcome,
};
use domain::ids::{ExecutionId, SandboxId};
use domain::sandbox::Sandbox;

#[async_trait]
impl ExecutionStore for SqlStore {
    async fn start(&self, new: &NewExecution) -> Result<StartOutcome, StoreError> {
        let new = Arc::new(new.clone());
        self.write(move |transaction| {
            let new = Arc::clone(&new);
            Box::pin(async move { starts::start(transaction, &new).await })
        })
        .await
    }

    async fn claim_next(&self, owner: &str, lease: Duration) -> Result<Option<Claimed>, StoreError> {
        let claim = claims::Claim::new(owner, lease);
        self.write(move |transaction| {
            let claim = claim.clone();
            Box::pin(async move { claims::claim_next(transaction, &claim).await })
        })
        .await
    }

    async fn claim(
        &self,
        execution: ExecutionRef,
        owner: &str,
        lease: Duration,
    ) -> Result<Option<Claimed>, StoreError> {
        let claim = claims::Claim::new(owner, lease);
        self.write(move |transaction| {
            let claim = claim.clone();
            Box::pin(async move { claims::claim(transaction, execution, &claim).await })
        })
        .await
    }

    async fn renew(&self, execution: ExecutionRef, epoch: u64, lease: Duration) -> Result<Renewal, StoreError> {
        self.write(move |transaction| Box::pin(claims::renew(transaction, execution, epoch, lease))).await
    }

    async fn commit(&self, commit: &Commit) -> Result<(), StoreError> {
        let commit = Arc::new(commit.clone());
        self.write(move |transaction| {
            let commit = Arc::clone(&commit);
            Box::pin(async move { commits::commit(transaction, &commit).await })
        })
        .await
    }

    async fn append(&self, commits: &[Commit]) -> Result<Vec<bool>, StoreError> {
        let commits: Arc<[Commit]> = commits.into();
        self.write(move |transaction| {
            let commits = Arc::clone(&commits);
            Box::pin(async move { commits::append(transaction, &commits).await })
        })
        .await
    }

    async fn fence(&self, execution: ExecutionRef) -> Result<Option<Fence>, StoreError> {
        Ok(commits::fence(self.reader(), execution).await?)
    }

    async fn add_command(&self, execution: ExecutionRef, command: &Command) -> Result<(), StoreError> {
        let command = command.clone();
        self.write(move |transaction| {
            let command = command.clone();
            Box::pin(async move { inbox::add(transaction, execution, &command).await })
        })
        .await
    }

    async fn stray_sandboxes(
        &self,
        after: Option<SandboxId>,
        limit: u32,
    ) -> Result<Vec<(ExecutionRef, Sandbox)>, StoreError> {
        Ok(sandboxes::strays(self.reader(), after, limit).await?)
    }

    async fn sandbox_gone(&self, execution: ExecutionRef, sandbox: SandboxId) -> Result<(), StoreError> {
        self.write(move |transaction| Box::pin(sandboxes::gone(transaction, execution, sandbox))).await
    }
}

const COLUMNS: &str = "tenant_id, id, project_id, agent_id, service_identity, started_by, pins, task, limits, \
    deadline_at, is_scripted, created_at, status, iteration, attempt, stop_reason, answer, started_at, ended_at, \
    used_iterations, used_model_calls, used_tool_calls, used_tokens, reserved_tokens, spent_nano_usd, \
    reserved_nano_usd, active_time_us, lease_epoch, next_sequence";

pub(super) async fn by_ids(store: &SqlStore, scope: Scope, ids: &[ExecutionId]) -> Result<Vec<Execution>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {COLUMNS} FROM execution WHERE tenant_id = ? AND id IN ({})", marks(ids.len()));
    let values = std::iter::once(id(scope.tenant_id)).chain(ids.iter().map(id));
    all(store.reader(), &sql, values).await?.iter().map(read).collect()
}

/// The row inside a transaction, where it is known to exist.
pub(super) async fn in_transaction(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
) -> Result<Execution, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM execution WHERE tenant_id = ? AND id = ?");
    let row = super::query::one(transaction, &sql, [id(execution.tenant_id), id(execution.id)]).await?;
    read(&row.ok_or_else(|| Fault::corrupt("execution.id"))?)
}

pub(super) async fn list(
    store: &SqlStore,
    scope: Scope,
    filter: &ExecutionFilter,
    request: PageRequest,
) -> Result<Page<Execution>, Fault> {
    let mut sql = format!("SELECT {COLUMNS} FROM execution WHERE tenant_id = ?");
    let mut values: Vec<Value> = vec![id(scope.tenant_id)];
    if let Some(project) = filter.project_id {
        sql.push_str(" AND project_id = ?");
        values.push(id(project));
    }
    if let Some(agent) = filter.agent_id {
        sql.push_str(" AND agent_id = ?");
        values.push(id(agent));
    }
    if !filter.status.is_empty() {
        sql.push_str(&format!(" AND status IN ({})", marks(filter.status.len())));
        values.extend(filter.status.iter().map(name));
    }
    if let Some(after) = &request.after {
        let Some((at, behind)) = page::parse_time_key(after) else { return Ok(page::cut(&request, Vec::new())) };
        sql.push_str(" AND (created_at < ? OR (created_at = ? AND id < ?))");
        values.extend([at.into(), at.into(), behind.into()]);
    }
    sql.push_str(" ORDER BY created_at DESC, id DESC LIMIT ?");
    values.push(page::limit(&request).into());
    let rows = all(store.reader(), &sql, values).await?;
    let executions: Vec<Execution> = rows.iter().map(read).collect::<Result<_, _>>()?;
    let keyed = executions.into_iter().map(|row| (page::time_key(row.created_at, row.id), row)).collect();
    Ok(page::cut(&request, keyed))
}

fn read(row: &QueryResult) -> Result<Execution, Fault> {
    let row = Row { table: "execution", row };
    Ok(Execution {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        project_id: row.id("project_id")?,
        agent_id: row.id("agent_id")?,
        service_identity: row.id("service_identity")?,
        started_by: row.id("started_by")?,
        pins: row.json("pins")?,
        task: row.long_text("task")?,
        limits: row.json("limits")?,
        limit_sources: row.json::<StoredSources>("limits")?.sources,
        deadline_at: row.optional_time("deadline_at")?,
        is_scripted: row.flag("is_scripted")?,
        created_at: row.time("created_at")?,
        progress: read_progress(&row)?,
        epoch: row.int("lease_epoch")?,
        next_sequence: row.int("next_sequence")?,
    })
}

/// The sources stand beside the limits; in older rows there are none.
#[derive(serde::Deserialize)]
struct StoredSources {
    #[serde(default)]
    sources: LimitSources,
}

fn read_progress(row: &Row<'_>) -> Result<Progress, Fault> {
    Ok(Progress {
        status: row.name("status")?,
        used: Used {
            iterations: row.int("used_iterations")?,
            model_calls: row.int("used_model_calls")?,
            tool_calls: row.int("used_tool_calls")?,
            tokens: row.int("used_tokens")?,
            reserved_tokens: row.int("reserved_tokens")?,
            spent: row.money("spent_nano_usd")?,
            reserved: row.money("reserved_nano_usd")?,
            active_time_us: row.int("active_time_us")?,
        },
        iteration: row.int("iteration")?,
        attempt: row.int("attempt")?,
        stop_reason: row.optional_json("stop_reason")?,
        answer: row.optional_long_text("answer")?,
        started_at: row.optional_time("started_at")?,
        ended_at: row.optional_time("ended_at")?,
        releases_lease: false,
    })
}
