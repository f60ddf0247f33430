//! The event log, read by sequence. Segments never change once they are committed, so reads need no transaction.

use async_trait::async_trait;
use bytes::Bytes;
use sea_orm::{ConnectionTrait, QueryResult};

use super::fault::Fault;
use super::query::{all, one};
use super::rows::{Row, id, int};
use super::{SqlStore, commits};
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::event::{EventLog, Segment};
use domain::execution::ExecutionRef;

/// Segments whose sizes are looked at, and so segments of one read, at most.
const MOST_SEGMENTS: i64 = 1024;

#[async_trait]
impl EventLog for SqlStore {
    async fn read(&self, execution: ExecutionRef, after: u64, max_bytes: usize) -> Result<Vec<Segment>, StoreError> {
        Ok(read(self.reader(), execution, after, max_bytes).await?)
    }

    async fn head(&self, scope: Scope, execution: ExecutionRef) -> Result<Option<u64>, StoreError> {
        if execution.tenant_id != scope.tenant_id {
            return Ok(None);
        }
        let fence = commits::fence(self.reader(), execution).await?;
        Ok(fence.map(|fence| fence.next_sequence.saturating_sub(1)))
    }
}

async fn read<C: ConnectionTrait>(
    db: &C,
    execution: ExecutionRef,
    after: u64,
    max_bytes: usize,
) -> Result<Vec<Segment>, Fault> {
    let Some((first, last)) = range(db, execution, after, max_bytes).await? else { return Ok(Vec::new()) };
    let sql = "SELECT first_sequence, last_sequence, bytes FROM event_segment WHERE tenant_id = ? \
        AND execution_id = ? AND first_sequence BETWEEN ? AND ? ORDER BY first_sequence";
    let values = [id(execution.tenant_id), id(execution.id), int(first), int(last)];
    all(db, sql, values).await?.iter().map(read_segment).collect()
}

/// First sequences of the first and the last segment to read; sizes are read before bytes, so that a long log costs no
/// memory.
async fn range<C: ConnectionTrait>(
    db: &C,
    execution: ExecutionRef,
    after: u64,
    max_bytes: usize,
) -> Result<Option<(u64, u64)>, Fault> {
    let execution_values = || [id(execution.tenant_id), id(execution.id)];
    // The segment that holds the next event is the last one that begins at or before it.
    let sql = "SELECT first_sequence FROM event_segment WHERE tenant_id = ? AND execution_id = ? \
        AND first_sequence <= ? AND last_sequence > ? ORDER BY first_sequence DESC LIMIT 1";
    let behind = [int(after.saturating_add(1)), int(after)];
    let Some(row) = one(db, sql, execution_values().into_iter().chain(behind)).await? else { return Ok(None) };
    let first: u64 = Row { table: "event_segment", row: &row }.int("first_sequence")?;

    let sql = "SELECT first_sequence, byte_size FROM event_segment WHERE tenant_id = ? AND execution_id = ? \
        AND first_sequence >= ? ORDER BY first_sequence LIMIT ?";
    let rows = all(db, sql, execution_values().into_iter().chain([int(first), MOST_SEGMENTS.into()])).await?;
    let (mut last, mut bytes) = (first, 0_usize);
    for row in &rows {
        let row = Row { table: "event_segment", row };
        bytes = bytes.saturating_add(row.int("byte_size")?);
        last = row.int("first_sequence")?;
        if bytes >= max_bytes {
            break;
        }
    }
    Ok(Some((first, last)))
}

fn read_segment(row: &QueryResult) -> Result<Segment, Fault> {
    let row = Row { table: "event_segment", row };
    Ok(Segment {
        first_sequence: row.int("first_sequence")?,
        last_sequence: row.int("last_sequence")?,
        bytes: Bytes::from(row.bytes("bytes")?),
    })
}
