//! Sandboxes, the credentials that were in them, and those that somebody has to remove.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult};

use super::SqlStore;
use super::fault::Fault;
use super::query::{all, execute, marks, now, one, save as save_row};
use super::rows::{Row, id, int, json, name, optional_name, optional_time, time};
use super::saves::key;
use super::transcript::{SANDBOX_COLUMNS, read_sandbox};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::execution::ExecutionRef;
use domain::ids::{SandboxId, VersionId};
use domain::sandbox::{GRACE, IssuedCredential, LONGEST_TTL, RevokedBecause, Sandbox, SandboxRecords, SandboxState};

/// Ids in one statement at most.
const MOST_AT_ONCE: usize = 500;
/// The states of a sandbox that may be there.
const THERE: [SandboxState; 3] = [SandboxState::Intent, SandboxState::Live, SandboxState::KillPending];

/// Writes a new sandbox, unless the tenant has as many as it may.
pub(super) async fn open(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    sandbox: &Sandbox,
    quota: u32,
) -> Result<(), Fault> {
    // Whoever opens one for the tenant holds its row: of two at one time the second counts the first.
    execute(transaction, "UPDATE tenant SET name = name WHERE id = ?", [id(execution.tenant_id)]).await?;
    // The first read of this transaction: what it sees is from behind that lock.
    // One whose server had to remove it long ago takes no place, also while nobody can ask that server.
    let sql = "SELECT COUNT(*) AS taken FROM sandbox WHERE tenant_id = ? AND state IN (?, ?, ?) AND id <> ? \
               AND COALESCE(expires_at, created_at + ?) > ?";
    let longest = Timestamp::from_micros(0).plus(LONGEST_TTL);
    let taking = [id(sandbox.id), time(longest), time(sandbox.created_at.minus(GRACE))];
    let values = [id(execution.tenant_id)].into_iter().chain(THERE.map(name)).chain(taking);
    let taken: u32 = match one(transaction, sql, values).await? {
        Some(row) => Row { table: "sandbox", row: &row }.int("taken")?,
        None => 0,
    };
    if taken >= quota {
        return Err(StoreError::QuotaReached.into());
    }
    save(transaction, execution, sandbox).await
}

pub(super) async fn save(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    sandbox: &Sandbox,
) -> Result<(), Fault> {
    let columns = [
        ("epoch", int(sandbox.epoch)),
        ("profile_version", id(sandbox.profile_version)),
        ("connection_version", id(sandbox.connection_version)),
        ("tier", name(sandbox.tier)),
        ("image", sandbox.image.clone().into()),
        ("network", name(sandbox.network)),
        ("network_hosts", json(&sandbox.network_hosts)?),
        ("credentials", json(&sandbox.credentials)?),
        ("memory_bytes", int(sandbox.memory_bytes)),
        ("disk_bytes", int(sandbox.disk_bytes)),
        ("pids", int(sandbox.pids)),
        ("state", name(sandbox.state)),
        ("remote_id", sandbox.remote_id.clone().into()),
        ("enforced", json(&sandbox.enforced)?),
        ("created_at", time(sandbox.created_at)),
        ("expires_at", optional_time(sandbox.expires_at)),
    ];
    save_row(transaction, "sandbox", &key(execution, ("id", id(sandbox.id))), &columns).await?;
    if sandbox.state == SandboxState::Gone {
        revoke_all(transaction, execution, sandbox.id).await?;
    }
    Ok(())
}

pub(super) async fn save_credential(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    issued: &IssuedCredential,
) -> Result<(), Fault> {
    let columns = [
        ("sandbox_id", id(issued.sandbox)),
        ("credential_id", id(issued.credential)),
        ("credential_version", id(issued.version)),
        ("issued_at", time(issued.issued_at)),
        ("expires_at", time(issued.expires_at)),
        ("revoked_at", optional_time(issued.revoked.map(|(at, _)| at))),
        ("revoked_because", optional_name(issued.revoked.map(|(_, because)| because))),
    ];
    let [tenant, execution, call] = key(execution, ("tool_call_id", id(issued.call)));
    let key = [tenant, execution, call, ("name", issued.name.clone().into())];
    save_row(transaction, "sandbox_credential", &key, &columns).await
}

/// With its sandbox everything that lay in it is gone.
async fn revoke_all(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    sandbox: SandboxId,
) -> Result<(), Fault> {
    let sql = format!(
        "UPDATE sandbox_credential SET revoked_at = {}, revoked_because = ? \
         WHERE tenant_id = ? AND execution_id = ? AND sandbox_id = ? AND revoked_at IS NULL",
        now(transaction)
    );
    let values = [name(RevokedBecause::SandboxEnded), id(execution.tenant_id), id(execution.id), id(sandbox)];
    execute(transaction, &sql, values).await.map(|_| ())
}

/// Sandboxes that are to be removed, or whose execution has ended, or whose claim did not take them over; of every tenant,
/// a page in the order of their ids. A claim takes over in the commit that begins its attempt, and nobody knows before
/// that what it will take.
pub(super) async fn strays<C: ConnectionTrait>(
    db: &C,
    after: Option<SandboxId>,
    limit: u32,
) -> Result<Vec<(ExecutionRef, Sandbox)>, Fault> {
    let columns = SANDBOX_COLUMNS.map(|column| format!("s.{column}")).join(", ");
    let sql = format!(
        "SELECT {columns} FROM sandbox s JOIN execution e ON e.tenant_id = s.tenant_id AND e.id = s.execution_id \
         WHERE s.state IN (?, ?, ?) AND (e.open_since IS NULL OR s.state = ? OR (s.epoch < e.lease_epoch AND EXISTS \
         (SELECT 1 FROM node_attempt a WHERE a.tenant_id = e.tenant_id AND a.execution_id = e.id \
         AND a.epoch = e.lease_epoch))) AND s.id > ? \
         ORDER BY s.id LIMIT ?"
    );
    let after = after.map_or_else(|| "".into(), id);
    let values = THERE.map(name).into_iter().chain([name(SandboxState::KillPending), after, i64::from(limit).into()]);
    let rows = all(db, &sql, values).await?;
    rows.iter()
        .map(|row| {
            let named = Row { table: "sandbox", row };
            let execution = ExecutionRef { tenant_id: named.id("tenant_id")?, id: named.id("execution_id")? };
            Ok((execution, read_sandbox(row)?))
        })
        .collect()
}

/// Notes that a sandbox was seen to be gone.
pub(super) async fn gone(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    sandbox: SandboxId,
) -> Result<(), Fault> {
    let sql = "UPDATE sandbox SET state = ? WHERE tenant_id = ? AND execution_id = ? AND id = ?";
    let values = [name(SandboxState::Gone), id(execution.tenant_id), id(execution.id), id(sandbox)];
    execute(transaction, sql, values).await?;
    revoke_all(transaction, execution, sandbox).await
}

pub(super) async fn issued_credentials<C: ConnectionTrait>(
    db: &C,
    execution: ExecutionRef,
) -> Result<Vec<IssuedCredential>, Fault> {
    let sql = "SELECT * FROM sandbox_credential WHERE tenant_id = ? AND execution_id = ? ORDER BY tool_call_id, name";
    let rows = all(db, sql, [id(execution.tenant_id), id(execution.id)]).await?;
    rows.iter().map(read_issued).collect()
}

fn read_issued(row: &QueryResult) -> Result<IssuedCredential, Fault> {
    let row = Row { table: "sandbox_credential", row };
    Ok(IssuedCredential {
        call: row.id("tool_call_id")?,
        name: row.text("name")?,
        sandbox: row.id("sandbox_id")?,
        credential: row.id("credential_id")?,
        version: row.id("credential_version")?,
        issued_at: row.time("issued_at")?,
        expires_at: row.time("expires_at")?,
        revoked: row.optional_time("revoked_at")?.zip(row.optional_name("revoked_because")?),
    })
}

#[async_trait]
impl SandboxRecords for SqlStore {
    async fn connections_used(&self, since: Timestamp) -> Result<Vec<(Scope, VersionId)>, StoreError> {
        let sql = "SELECT DISTINCT tenant_id, connection_version FROM sandbox WHERE created_at >= ?";
        let rows = all(self.reader(), sql, [time(since)]).await?;
        let read = |row| {
            let row = Row { table: "sandbox", row };
            Ok((Scope { tenant_id: row.id("tenant_id")? }, row.id("connection_version")?))
        };
        Ok(rows.iter().map(read).collect::<Result<_, Fault>>()?)
    }

    async fn gone_among(&self, ids: &[SandboxId]) -> Result<Vec<SandboxId>, StoreError> {
        let mut gone = Vec::new();
        for some in ids.chunks(MOST_AT_ONCE) {
            let sql = format!("SELECT id FROM sandbox WHERE state = ? AND id IN ({})", marks(some.len()));
            let values = [name(SandboxState::Gone)].into_iter().chain(some.iter().map(id));
            let rows = all(self.reader(), &sql, values).await?;
            for row in &rows {
                gone.push(Row { table: "sandbox", row }.id("id")?);
            }
        }
        Ok(gone)
    }
}
