//! How the audit log is read. It is written by the stores, inside the transaction of what a record is about.

use async_trait::async_trait;

use super::model::ChainedRecord;
use crate::ctx::{Page, PageRequest, Scope};
use crate::error::StoreError;

/// Reads audit records. Every finder takes a tenant's scope.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// A page of a tenant's records, oldest first.
    async fn records(&self, scope: Scope, page: PageRequest) -> Result<Page<ChainedRecord>, StoreError>;

    /// The records about one thing, oldest first; its id as [`super::AuditRecord::target`] has it.
    async fn records_about(&self, scope: Scope, target: &str) -> Result<Vec<ChainedRecord>, StoreError>;
}
