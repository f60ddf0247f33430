//! What comes to an execution from outside its lease: commands, and news of its sandboxes.

use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult};
use serde_json::Value;

use super::audit;
use super::fault::Fault;
use super::query::{all, insert};
use super::rows::{Row, id, json, time};
use domain::execution::{Command, CommandKind, ExecutionRef, LoopOverride};

pub(super) async fn add(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    command: &Command,
) -> Result<(), Fault> {
    let (kind, body) = split(&command.kind)?;
    let columns = [
        ("tenant_id", id(execution.tenant_id)),
        ("execution_id", id(execution.id)),
        ("id", id(command.id)),
        ("kind", kind.into()),
        ("requested_by", id(command.by)),
        ("created_at", time(command.created_at)),
    ];
    let inserted = insert(transaction, "execution_command", &columns).await;
    inserted.map_err(|fault| fault.taken("a command with this id exists"))?;
    if let Some(body) = body {
        let columns = [
            ("tenant_id", id(execution.tenant_id)),
            ("execution_id", id(execution.id)),
            ("command_id", id(command.id)),
            ("body", json(&body)?),
        ];
        insert(transaction, "execution_command_body", &columns).await?;
    }
    match command.audit_record(execution) {
        Some(record) => audit::append(transaction, execution.scope(), &record).await,
        None => Ok(()),
    }
}

/// The name of a kind, and what it carries.
fn split(kind: &CommandKind) -> Result<(String, Option<Value>), Fault> {
    match serde_json::to_value(kind) {
        Ok(Value::Object(mut members)) => match (members.remove("kind"), members.remove("body")) {
            (Some(Value::String(kind)), body) => Ok((kind, body)),
            (Some(_) | None, _) => Err(Fault::corrupt("a command without a name")),
        },
        Ok(_) | Err(_) => Err(Fault::corrupt("a command that is no JSON")),
    }
}

fn read_kind(row: &Row<'_>) -> Result<CommandKind, Fault> {
    let body: Option<Value> = row.optional_json("body")?;
    let members = [Some(("kind", row.text("kind")?.into())), body.map(|body| ("body", body))];
    let members = members.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect();
    serde_json::from_value(Value::Object(members)).map_err(|_| Fault::corrupt("execution_command.kind"))
}

/// The commands that nobody has applied, oldest first.
pub(super) async fn waiting(transaction: &DatabaseTransaction, execution: ExecutionRef) -> Result<Vec<Command>, Fault> {
    let sql = "SELECT c.id, c.kind, c.requested_by, c.created_at, b.body FROM execution_command c \
        LEFT JOIN execution_command_body b \
        ON b.tenant_id = c.tenant_id AND b.execution_id = c.execution_id AND b.command_id = c.id \
        WHERE c.tenant_id = ? AND c.execution_id = ? AND c.applied_at IS NULL ORDER BY c.created_at, c.id";
    let rows = all(transaction, sql, [id(execution.tenant_id), id(execution.id)]).await?;
    rows.iter().map(read_command).collect()
}

fn read_command(row: &QueryResult) -> Result<Command, Fault> {
    let row = Row { table: "execution_command", row };
    Ok(Command {
        id: row.id("id")?,
        kind: read_kind(&row)?,
        by: row.id("requested_by")?,
        created_at: row.time("created_at")?,
    })
}

/// The overrides of the loop guard that were applied.
pub(super) async fn loop_overrides<C: ConnectionTrait>(
    db: &C,
    execution: ExecutionRef,
) -> Result<Vec<LoopOverride>, Fault> {
    let sql = "SELECT after_calls, pardons FROM loop_override WHERE tenant_id = ? AND execution_id = ? \
        ORDER BY after_calls, command_id";
    let rows = all(db, sql, [id(execution.tenant_id), id(execution.id)]).await?;
    rows.iter()
        .map(|row| {
            let row = Row { table: "loop_override", row };
            Ok(LoopOverride { after_calls: row.int("after_calls")?, pardons: row.int("pardons")? })
        })
        .collect()
}
