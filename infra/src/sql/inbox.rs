//! What comes to an execution from outside its lease: commands, and news of its sandboxes.

use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult};

use super::fault::Fault;
use super::query::{all, execute, insert};
use super::rows::{Row, id, name, time};
use super::transcript::{SANDBOX_COLUMNS, read_sandbox};
use domain::execution::{Command, ExecutionRef};
use domain::ids::SandboxId;
use domain::sandbox::{Sandbox, SandboxState};

pub(super) async fn add(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    command: &Command,
) -> Result<(), Fault> {
    let columns = [
        ("tenant_id", id(execution.tenant_id)),
        ("execution_id", id(execution.id)),
        ("id", id(command.id)),
        ("kind", name(command.kind)),
        ("requested_by", id(command.by)),
        ("created_at", time(command.created_at)),
    ];
    let inserted = insert(transaction, "execution_command", &columns).await;
    inserted.map_err(|fault| fault.taken("a command with this id exists"))
}

/// The commands that nobody has applied, oldest first.
pub(super) async fn waiting(transaction: &DatabaseTransaction, execution: ExecutionRef) -> Result<Vec<Command>, Fault> {
    let sql = "SELECT id, kind, requested_by, created_at FROM execution_command \
        WHERE tenant_id = ? AND execution_id = ? AND applied_at IS NULL ORDER BY created_at, id";
    let rows = all(transaction, sql, [id(execution.tenant_id), id(execution.id)]).await?;
    rows.iter().map(read_command).collect()
}

fn read_command(row: &QueryResult) -> Result<Command, Fault> {
    let row = Row { table: "execution_command", row };
    Ok(Command {
        id: row.id("id")?,
        kind: row.name("kind")?,
        by: row.id("requested_by")?,
        created_at: row.time("created_at")?,
    })
}

/// Sandboxes whose execution has ended or was claimed anew since they were made; of every tenant.
pub(super) async fn stray_sandboxes<C: ConnectionTrait>(
    db: &C,
    limit: u32,
) -> Result<Vec<(ExecutionRef, Sandbox)>, Fault> {
    let columns = SANDBOX_COLUMNS.map(|column| format!("s.{column}")).join(", ");
    let sql = format!(
        "SELECT {columns} FROM sandbox s JOIN execution e ON e.tenant_id = s.tenant_id AND e.id = s.execution_id \
         WHERE s.state IN (?, ?, ?) AND (e.open_since IS NULL OR s.epoch < e.lease_epoch) \
         ORDER BY s.created_at, s.id LIMIT ?"
    );
    let states = [SandboxState::Intent, SandboxState::Live, SandboxState::KillPending].map(name);
    let rows = all(db, &sql, states.into_iter().chain([i64::from(limit).into()])).await?;
    rows.iter()
        .map(|row| {
            let named = Row { table: "sandbox", row };
            let execution = ExecutionRef { tenant_id: named.id("tenant_id")?, id: named.id("execution_id")? };
            Ok((execution, read_sandbox(row)?))
        })
        .collect()
}

pub(super) async fn sandbox_gone(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    sandbox: SandboxId,
) -> Result<(), Fault> {
    let sql = "UPDATE sandbox SET state = ? WHERE tenant_id = ? AND execution_id = ? AND id = ?";
    let values = [name(SandboxState::Gone), id(execution.tenant_id), id(execution.id), id(sandbox)];
    execute(transaction, sql, values).await.map(|_| ())
}
