//! The audit log: appended inside the transaction of what a record is about, and read.

use async_trait::async_trait;
use sea_orm::{DatabaseTransaction, QueryResult};

use super::fault::Fault;
use super::query::{all, insert, one};
use super::rows::{Row, id, int, json, long_text, name, time};
use super::{SqlStore, page};
use domain::audit::{AuditLog, AuditRecord, ChainedRecord, FIRST_PREVIOUS_HASH};
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;

const COLUMNS: &str = "sequence, previous_hash, at, requested_by, action, target, reason, detail";

/// Appends a record to the chain of its tenant. Of two that append at one time, one finds its place taken and is run
/// again.
pub(super) async fn append(transaction: &DatabaseTransaction, scope: Scope, record: &AuditRecord) -> Result<(), Fault> {
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE tenant_id = ? ORDER BY sequence DESC LIMIT 1");
    let last = one(transaction, &sql, [id(scope.tenant_id)]).await?.as_ref().map(read).transpose()?;
    let sequence = last.as_ref().map_or(0, |last| last.sequence) + 1;
    let previous_hash = last.map_or_else(|| FIRST_PREVIOUS_HASH.to_owned(), |last| last.hash());
    let columns = [
        ("tenant_id", id(scope.tenant_id)),
        ("sequence", int(sequence)),
        ("previous_hash", previous_hash.into()),
        ("at", time(record.at)),
        ("requested_by", id(record.by)),
        ("action", name(record.action)),
        ("target", record.target.clone().into()),
        ("reason", long_text(&record.reason)),
        ("detail", json(&record.detail)?),
    ];
    let inserted = insert(transaction, "audit", &columns).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })
}

#[async_trait]
impl AuditLog for SqlStore {
    async fn records(&self, scope: Scope, request: PageRequest) -> Result<Page<ChainedRecord>, StoreError> {
        Ok(records(self, scope, request).await?)
    }

    async fn records_about(&self, scope: Scope, target: &str) -> Result<Vec<ChainedRecord>, StoreError> {
        Ok(records_about(self, scope, target).await?)
    }
}

async fn records(store: &SqlStore, scope: Scope, request: PageRequest) -> Result<Page<ChainedRecord>, Fault> {
    let Ok(after) = request.after.as_deref().unwrap_or("0").parse::<u64>() else {
        return Ok(page::cut(&request, Vec::new()));
    };
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE tenant_id = ? AND sequence > ? ORDER BY sequence LIMIT ?");
    let values = [id(scope.tenant_id), int(after), page::limit(&request).into()];
    let records = all(store.reader(), &sql, values).await?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let keyed = records.into_iter().map(|record| (record.sequence.to_string(), record)).collect();
    Ok(page::cut(&request, keyed))
}

async fn records_about(store: &SqlStore, scope: Scope, target: &str) -> Result<Vec<ChainedRecord>, Fault> {
    // MySQL refuses to compare an ASCII column with other text.
    if !target.is_ascii() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE tenant_id = ? AND target = ? ORDER BY sequence");
    all(store.reader(), &sql, [id(scope.tenant_id), target.into()]).await?.iter().map(read).collect()
}

fn read(row: &QueryResult) -> Result<ChainedRecord, Fault> {
    let row = Row { table: "audit", row };
    Ok(ChainedRecord {
        sequence: row.int("sequence")?,
        previous_hash: row.text("previous_hash")?,
        record: AuditRecord {
            at: row.time("at")?,
            by: row.id("requested_by")?,
            action: row.name("action")?,
            target: row.text("target")?,
            reason: row.long_text("reason")?,
            detail: row.json("detail")?,
        },
    })
}
