//! The fence, and what is written behind it. There is no other way to change an execution that runs.

use std::fmt::Write as _;

use sea_orm::{ConnectionTrait, DatabaseTransaction, Value};

use super::fault::Fault;
use super::query::{execute, insert, one};
use super::rows::{Row, id, int, name, optional_json, optional_long_text, optional_time};
use super::{account_moves, saves};
use domain::budget::AccountReservation;
use domain::error::StoreError;
use domain::event::Segment;
use domain::execution::{Commit, ExecutionRef, Fence, Progress};

/// Writes a commit; `LeaseLost` when its fence does not match.
pub(super) async fn commit(transaction: &DatabaseTransaction, commit: &Commit) -> Result<(), Fault> {
    if write(transaction, commit).await? { Ok(()) } else { Err(StoreError::LeaseLost.into()) }
}

/// Writes each commit whose fence matches, and says which did.
pub(super) async fn append(transaction: &DatabaseTransaction, commits: &[Commit]) -> Result<Vec<bool>, Fault> {
    let mut written = Vec::with_capacity(commits.len());
    for commit in commits {
        written.push(write(transaction, commit).await?);
    }
    Ok(written)
}

async fn write(transaction: &DatabaseTransaction, commit: &Commit) -> Result<bool, Fault> {
    let fits = |segment: &Segment| {
        segment.first_sequence == commit.fence.next_sequence && segment.last_sequence >= segment.first_sequence
    };
    if !commit.segment.as_ref().is_none_or(fits) {
        return Err(Fault::conflict("the segment does not begin at the fence"));
    }
    let hold = account_moves::reservation_of(commit);
    if !pass_fence(transaction, commit, hold).await? {
        return account_moves::tell_apart(transaction, &commit.fence, hold).await.map(|()| false);
    }
    for change in &commit.changes {
        saves::save(transaction, &commit.fence, change).await?;
    }
    if let Some(progress) = &commit.progress {
        saves::end_attempt(transaction, commit.fence.execution, progress).await?;
    }
    if let Some(segment) = &commit.segment {
        insert_segment(transaction, commit.fence.execution, segment).await?;
    }
    Ok(true)
}

/// The compare-and-set; takes the row's lock, so that all that follows belongs to this epoch.
async fn pass_fence(
    transaction: &DatabaseTransaction,
    commit: &Commit,
    hold: Option<&AccountReservation>,
) -> Result<bool, Fault> {
    let fence = &commit.fence;
    let next_sequence = commit.segment.as_ref().map_or(fence.next_sequence, |segment| segment.last_sequence + 1);
    let mut sql = "UPDATE execution SET next_sequence = ?".to_owned();
    let mut values = vec![int(next_sequence)];
    if let Some(progress) = &commit.progress {
        for (column, value) in progress_columns(progress)? {
            // Writing to a String cannot fail.
            let _ = write!(sql, ", {column} = ?");
            values.push(value);
        }
        if progress.status.is_terminal() {
            sql.push_str(", open_since = NULL");
        }
        if progress.status.is_terminal() || progress.releases_lease {
            sql.push_str(", lease_owner = NULL, lease_until = NULL");
        }
    }
    sql.push_str(
        " WHERE tenant_id = ? AND id = ? AND lease_epoch = ? AND next_sequence = ? AND status NOT IN \
         ('SUCCEEDED', 'FAILED', 'STOPPED', 'CANCELLED')",
    );
    values.extend([id(fence.execution.tenant_id), id(fence.execution.id), int(fence.epoch), int(fence.next_sequence)]);
    if let Some(hold) = hold {
        sql.push_str(account_moves::ARE_ALL);
        values.extend(account_moves::are_all(hold));
    }
    Ok(execute(transaction, &sql, values).await? == 1)
}

/// The columns that a lease holder moves on.
pub(super) fn progress_columns(progress: &Progress) -> Result<[(&'static str, Value); 15], Fault> {
    let used = &progress.used;
    Ok([
        ("status", name(progress.status)),
        ("iteration", int(progress.iteration)),
        ("attempt", int(progress.attempt)),
        ("stop_reason", optional_json(progress.stop_reason.as_ref())?),
        ("answer", optional_long_text(progress.answer.as_deref())),
        ("started_at", optional_time(progress.started_at)),
        ("ended_at", optional_time(progress.ended_at)),
        ("used_iterations", int(used.iterations)),
        ("used_model_calls", int(used.model_calls)),
        ("used_tool_calls", int(used.tool_calls)),
        ("used_tokens", int(used.tokens)),
        ("reserved_tokens", int(used.reserved_tokens)),
        ("spent_nano_usd", used.spent.0.into()),
        ("reserved_nano_usd", used.reserved.0.into()),
        ("active_time_us", int(used.active_time_us)),
    ])
}

pub(super) async fn insert_segment(
    transaction: &DatabaseTransaction,
    execution: ExecutionRef,
    segment: &Segment,
) -> Result<(), Fault> {
    let columns = [
        ("tenant_id", id(execution.tenant_id)),
        ("execution_id", id(execution.id)),
        ("first_sequence", int(segment.first_sequence)),
        ("last_sequence", int(segment.last_sequence)),
        ("byte_size", int(segment.bytes.len())),
        ("bytes", segment.bytes.to_vec().into()),
    ];
    insert(transaction, "event_segment", &columns).await
}

pub(super) async fn fence<C: ConnectionTrait>(db: &C, execution: ExecutionRef) -> Result<Option<Fence>, Fault> {
    let sql = "SELECT lease_epoch, next_sequence FROM execution WHERE tenant_id = ? AND id = ?";
    let Some(row) = one(db, sql, [id(execution.tenant_id), id(execution.id)]).await? else { return Ok(None) };
    let row = Row { table: "execution", row: &row };
    Ok(Some(Fence { execution, epoch: row.int("lease_epoch")?, next_sequence: row.int("next_sequence")? }))
}
