//! Starting an execution: its key, its row, its inputs and its first event, or none of them.

use sea_orm::{DatabaseTransaction, Value};

use super::fault::Fault;
use super::query::{execute, insert, one};
use super::rows::{Row, flag, id, int, json, limits, long_text, optional_time, time};
use super::{SqlStore, commits, saves};
use domain::artifact::sha256_hex;
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::execution::{NewExecution, StartOutcome};
use domain::ids::{ExecutionId, TenantId};

const OPERATION: &str = "executionStart";

pub(super) async fn start(transaction: &DatabaseTransaction, new: &NewExecution) -> Result<StartOutcome, Fault> {
    if let Some(known) = known_key(transaction, new).await? {
        return Ok(known);
    }
    remember_key(transaction, new).await?;
    let execution = &new.execution;
    let mut columns = vec![
        ("tenant_id", id(execution.tenant_id)),
        ("id", id(execution.id)),
        ("project_id", id(execution.project_id)),
        ("agent_id", id(execution.agent_id)),
        ("service_identity", id(execution.service_identity)),
        ("started_by", id(execution.started_by)),
        ("pins", json(&execution.pins)?),
        ("task", long_text(&execution.task)),
        ("limits", limits(&execution.limits, &execution.limit_sources)?),
        ("deadline_at", optional_time(execution.deadline_at)),
        ("is_scripted", flag(execution.is_scripted)),
        ("created_at", time(execution.created_at)),
        ("open_since", open_since(new)),
        ("lease_epoch", int(execution.epoch)),
        ("next_sequence", int(new.segment.last_sequence.saturating_add(1))),
    ];
    columns.extend(commits::progress_columns(&execution.progress)?);
    insert(transaction, "execution", &columns)
        .await
        .map_err(|fault| fault.taken("an execution with this id exists"))?;
    for artifact in &new.inputs {
        saves::add_artifact(transaction, execution.reference(), artifact).await?;
    }
    commits::insert_segment(transaction, execution.reference(), &new.segment).await?;
    Ok(StartOutcome::Started)
}

/// The execution that a key and a request started, while the key holds.
pub(super) async fn by_key(
    store: &SqlStore,
    scope: Scope,
    idempotency_key: &str,
    request_hash: &str,
    now: Timestamp,
) -> Result<Option<ExecutionId>, Fault> {
    let sql = "SELECT execution_id FROM idempotency \
        WHERE tenant_id = ? AND operation = ? AND key_hash = ? AND request_hash = ? AND expires_at > ?";
    let [tenant, operation, key_hash] = key_of(scope.tenant_id, idempotency_key);
    let values = [tenant, operation, key_hash, request_hash.into(), time(now)];
    let row = one(store.reader(), sql, values).await?;
    row.map(|row| Row { table: "idempotency", row: &row }.id("execution_id")).transpose()
}

async fn known_key(transaction: &DatabaseTransaction, new: &NewExecution) -> Result<Option<StartOutcome>, Fault> {
    let sql = "SELECT request_hash, execution_id, expires_at FROM idempotency \
        WHERE tenant_id = ? AND operation = ? AND key_hash = ?";
    let Some(row) = one(transaction, sql, key(new)).await? else { return Ok(None) };
    let row = Row { table: "idempotency", row: &row };
    if row.time("expires_at")? <= new.execution.created_at {
        let sql = "DELETE FROM idempotency WHERE tenant_id = ? AND operation = ? AND key_hash = ?";
        execute(transaction, sql, key(new)).await?;
        return Ok(None);
    }
    if row.text("request_hash")? != new.request_hash {
        return Ok(Some(StartOutcome::KeyReused));
    }
    Ok(Some(StartOutcome::Replayed(row.id("execution_id")?)))
}

/// When another start with this key committed in between, the next try of this job finds its key.
async fn remember_key(transaction: &DatabaseTransaction, new: &NewExecution) -> Result<(), Fault> {
    let [tenant, operation, key_hash] = key(new);
    let columns = [
        ("tenant_id", tenant),
        ("operation", operation),
        ("key_hash", key_hash),
        ("request_hash", new.request_hash.clone().into()),
        ("execution_id", id(new.execution.id)),
        ("expires_at", time(new.key_expires_at)),
    ];
    let inserted = insert(transaction, "idempotency", &columns).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })
}

fn key(new: &NewExecution) -> [Value; 3] {
    key_of(new.execution.tenant_id, &new.idempotency_key)
}

/// The caller's key may be of any length and script; its hash is an ASCII key of 64 characters.
fn key_of(tenant: TenantId, idempotency_key: &str) -> [Value; 3] {
    [id(tenant), OPERATION.into(), sha256_hex(idempotency_key.as_bytes()).into()]
}

fn open_since(new: &NewExecution) -> Value {
    let execution = &new.execution;
    optional_time((!execution.progress.status.is_terminal()).then_some(execution.created_at))
}
