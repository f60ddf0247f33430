//! Whole executions, removed after their time.

use async_trait::async_trait;
use sea_orm::DatabaseTransaction;

use super::SqlStore;
use super::fault::Fault;
use super::query::{all, execute, insert, one};
use super::rows::{Row, id, name, time};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::execution::{ExecutionRef, RetentionStore, Tombstone};
use domain::ids::{ExecutionId, TenantId};
use domain::sandbox::SandboxState;

/// Every table whose rows belong to one execution, named by `execution_id`; a table before the one it refers to.
pub const TABLES_OF_AN_EXECUTION: &[&str] = &[
    "event_segment",
    "workspace_checkpoint",
    "artifact",
    "sandbox_credential",
    "sandbox",
    "tool_call",
    "model_call",
    "agent_iteration",
    "node_attempt",
    "execution_command_body",
    "loop_override",
    "execution_command",
    "idempotency",
    "budget_reservation",
    "budget_warned",
    "budget_top_up",
];

#[async_trait]
impl RetentionStore for SqlStore {
    async fn tenants(&self) -> Result<Vec<TenantId>, StoreError> {
        let rows = all(self.reader(), "SELECT id FROM tenant ORDER BY id", []).await?;
        Ok(rows.iter().map(|row| Row { table: "tenant", row }.id("id")).collect::<Result<_, Fault>>()?)
    }

    async fn expired(&self, scope: Scope, before: Timestamp, limit: u32) -> Result<Vec<ExecutionRef>, StoreError> {
        // None ends before it starts: the index over the times of creation bounds what is read.
        let sql = "SELECT e.id FROM execution e WHERE e.tenant_id = ? AND e.created_at < ? AND e.open_since IS NULL \
            AND e.ended_at < ? AND NOT EXISTS (SELECT 1 FROM sandbox s WHERE s.tenant_id = e.tenant_id \
            AND s.execution_id = e.id AND s.state <> ?) ORDER BY e.created_at, e.id LIMIT ?";
        let values =
            [id(scope.tenant_id), time(before), time(before), name(SandboxState::Gone), i64::from(limit).into()];
        let rows = all(self.reader(), sql, values).await?;
        let read = |row| Ok(ExecutionRef { tenant_id: scope.tenant_id, id: Row { table: "execution", row }.id("id")? });
        Ok(rows.iter().map(read).collect::<Result<_, Fault>>()?)
    }

    async fn remove(&self, execution: ExecutionRef, removed_at: Timestamp) -> Result<(), StoreError> {
        self.write(move |transaction| Box::pin(remove(transaction, execution, removed_at))).await
    }

    async fn tombstone(&self, scope: Scope, execution: ExecutionId) -> Result<Option<Tombstone>, StoreError> {
        let sql = "SELECT * FROM execution_tombstone WHERE tenant_id = ? AND id = ?";
        let row = one(self.reader(), sql, [id(scope.tenant_id), id(execution)]).await?;
        let read = |row: &sea_orm::QueryResult| {
            let row = Row { table: "execution_tombstone", row };
            Ok(Tombstone {
                execution_id: row.id("id")?,
                project_id: row.id("project_id")?,
                created_at: row.time("created_at")?,
                ended_at: row.time("ended_at")?,
                removed_at: row.time("removed_at")?,
            })
        };
        let tombstone: Result<Option<_>, Fault> = row.as_ref().map(read).transpose();
        Ok(tombstone?)
    }

    async fn oldest(&self, scope: Scope) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT created_at FROM execution WHERE tenant_id = ? ORDER BY created_at, id LIMIT 1";
        let row = one(self.reader(), sql, [id(scope.tenant_id)]).await?;
        let read = |row: &sea_orm::QueryResult| Row { table: "execution", row }.time("created_at");
        Ok(row.as_ref().map(read).transpose()?)
    }
}

async fn remove(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    removed_at: Timestamp,
) -> Result<(), Fault> {
    let key = [("tenant_id", id(execution.tenant_id)), ("id", id(execution.id))];
    let sql = "SELECT project_id, created_at, ended_at FROM execution \
        WHERE tenant_id = ? AND id = ? AND open_since IS NULL AND ended_at IS NOT NULL";
    let Some(row) = one(transaction, sql, key.clone().map(|(_, value)| value)).await? else { return Ok(()) };
    let row = Row { table: "execution", row: &row };
    let tombstone = [
        ("project_id", row.text("project_id")?.into()),
        ("created_at", time(row.time("created_at")?)),
        ("ended_at", time(row.time("ended_at")?)),
        ("removed_at", time(removed_at)),
    ];
    for table in TABLES_OF_AN_EXECUTION {
        let sql = format!("DELETE FROM {table} WHERE tenant_id = ? AND execution_id = ?");
        execute(transaction, &sql, key.clone().map(|(_, value)| value)).await?;
    }
    let sql = "DELETE FROM execution WHERE tenant_id = ? AND id = ?";
    execute(transaction, sql, key.clone().map(|(_, value)| value)).await?;
    insert(transaction, "execution_tombstone", key.iter().chain(&tombstone)).await
}
