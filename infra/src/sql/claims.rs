//! Leases: taken, renewed, and given by the database's clock alone.

use std::time::Duration;

use sea_orm::{DatabaseTransaction, QueryResult, Value};

use super::fault::Fault;
use super::query::{execute, now, one};
use super::rows::{Row, id, int};
use super::{executions, inbox};
use domain::error::StoreError;
use domain::execution::{Claimed, ExecutionRef, Renewal};

/// How often a claim looks again after another worker was faster, before it leaves the rest to the next poll.
const LOOKS: u32 = 32;

/// Who claims, and for how long.
#[derive(Clone)]
pub(super) struct Claim {
    owner: String,
    lease: Duration,
}

impl Claim {
    pub(super) fn new(owner: &str, lease: Duration) -> Self {
        Self { owner: owner.to_owned(), lease }
    }
}

/// An execution that looked free, and the epoch that it had then.
struct Candidate {
    execution: ExecutionRef,
    epoch: u64,
}

pub(super) async fn claim_next(transaction: &DatabaseTransaction, claim: &Claim) -> Result<Option<Claimed>, Fault> {
    // The condition on `open_since` is what the index is for: finished executions have none. One that waits for a person
    // is nobody's until a command is there.
    let sql = format!(
        "SELECT tenant_id, id, lease_epoch FROM execution e WHERE open_since >= 0 \
         AND (lease_until IS NULL OR lease_until <= {}) AND (status <> 'WAITING' OR EXISTS (\
           SELECT 1 FROM execution_command c WHERE c.tenant_id = e.tenant_id AND c.execution_id = e.id \
           AND c.applied_at IS NULL)) ORDER BY open_since, id LIMIT 1",
        now(transaction)
    );
    for _ in 0..LOOKS {
        let Some(row) = one(transaction, &sql, []).await? else { return Ok(None) };
        if let Some(claimed) = take(transaction, &read_candidate(&row)?, claim).await? {
            return Ok(Some(claimed));
        }
    }
    Ok(None)
}

pub(super) async fn claim(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    claim: &Claim,
) -> Result<Option<Claimed>, Fault> {
    let sql = "SELECT tenant_id, id, lease_epoch FROM execution WHERE tenant_id = ? AND id = ?";
    let Some(row) = one(transaction, sql, [id(execution.tenant_id), id(execution.id)]).await? else {
        return Ok(None);
    };
    take(transaction, &read_candidate(&row)?, claim).await
}

/// Takes the lease unless somebody did since the epoch was read: of two that saw the same epoch, one matches.
async fn take(
    transaction: &DatabaseTransaction,
    candidate: &Candidate,
    claim: &Claim,
) -> Result<Option<Claimed>, Fault> {
    let now = now(transaction);
    let sql = format!(
        "UPDATE execution SET lease_epoch = lease_epoch + 1, lease_owner = ?, lease_until = {now} + ? \
         WHERE tenant_id = ? AND id = ? AND lease_epoch = ? AND open_since IS NOT NULL \
         AND (lease_until IS NULL OR lease_until <= {now})"
    );
    let ExecutionRef { tenant_id, id: execution_id } = candidate.execution;
    let values =
        [claim.owner.clone().into(), micros(claim.lease), id(tenant_id), id(execution_id), int(candidate.epoch)];
    if execute(transaction, &sql, values).await? != 1 {
        return Ok(None);
    }
    let execution = executions::in_transaction(transaction, candidate.execution).await?;
    let commands = inbox::waiting(transaction, candidate.execution).await?;
    Ok(Some(Claimed { execution, commands }))
}

pub(super) async fn renew(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    epoch: u64,
    lease: Duration,
) -> Result<Renewal, Fault> {
    let now = now(transaction);
    // A lease that was given back has no owner and is not renewed: nobody runs the execution.
    let sql = format!(
        "UPDATE execution SET lease_until = {now} + ? WHERE tenant_id = ? AND id = ? AND lease_epoch = ? \
         AND open_since IS NOT NULL AND lease_owner IS NOT NULL"
    );
    let values = [micros(lease), id(execution.tenant_id), id(execution.id), int(epoch)];
    if execute(transaction, &sql, values).await? != 1 {
        return Err(StoreError::LeaseLost.into());
    }
    Ok(Renewal { commands: inbox::waiting(transaction, execution).await? })
}

/// A century at most, so that the sum with the clock stays a whole number.
fn micros(lease: Duration) -> Value {
    int(lease.min(Duration::from_secs(100 * 365 * 86_400)).as_micros())
}

fn read_candidate(row: &QueryResult) -> Result<Candidate, Fault> {
    let row = Row { table: "execution", row };
    let execution = ExecutionRef { tenant_id: row.id("tenant_id")?, id: row.id("id")? };
    Ok(Candidate { execution, epoch: row.int("lease_epoch")? })
}

/// Ends every lease that runs.
pub(super) async fn end_all(transaction: &DatabaseTransaction) -> Result<(), Fault> {
    execute(transaction, "UPDATE execution SET lease_until = NULL WHERE lease_until IS NOT NULL", []).await?;
    Ok(())
}
