//! Retention removes whole executions some time after their end: rows, log, and the files that nothing else uses.
//!
//! What is left is a Tombstone, so that whoever comes back with a cursor is told that the events were removed and not
//! that they never were. An execution that has not ended, or whose sandbox is not seen to be gone, stays whatever its age.

use std::time::Duration;

use async_trait::async_trait;

use super::model::ExecutionRef;
use crate::artifact::ArtifactStore;
use crate::clock::Timestamp;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::ids::{ExecutionId, ProjectId, TenantId};

/// Executions that one sweep removes of each tenant at most: each in a transaction of its own, so that others come
/// between.
const BATCH: u32 = 50;

/// What is left of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its id.
    pub execution_id: ExecutionId,
    /// The project that it belonged to: who may see the project may know of it.
    pub project_id: ProjectId,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// When it was removed.
    pub removed_at: Timestamp,
}

/// What retention needs from the store.
#[async_trait]
pub trait RetentionStore: Send + Sync {
    /// Every tenant.
    async fn tenants(&self) -> Result<Vec<TenantId>, StoreError>;

    /// Executions of a tenant that ended before this moment and whose sandboxes are gone, oldest first.
    async fn expired(&self, scope: Scope, before: Timestamp, limit: u32) -> Result<Vec<ExecutionRef>, StoreError>;

    /// Removes all rows of an execution that has ended and leaves a tombstone, in one transaction. One that has not
    /// ended, or is not there, stays as it is.
    async fn remove(&self, execution: ExecutionRef, removed_at: Timestamp) -> Result<(), StoreError>;

    /// What is left of an execution; None when it is there, or never was.
    async fn tombstone(&self, scope: Scope, id: ExecutionId) -> Result<Option<Tombstone>, StoreError>;

    /// When the oldest execution of a tenant was started.
    async fn oldest(&self, scope: Scope) -> Result<Option<Timestamp>, StoreError>;
}

/// Removes executions that ended more than `keep` before `now`, some of each tenant. Returns how many.
pub async fn sweep_executions(store: &dyn RetentionStore, now: Timestamp, keep: Duration) -> Result<usize, StoreError> {
    let mut removed = 0;
    for tenant_id in store.tenants().await? {
        for execution in store.expired(Scope { tenant_id }, now.minus(keep), BATCH).await? {
            store.remove(execution, now).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes the files that only removed executions used. Returns how many.
pub async fn sweep_files(
    store: &dyn RetentionStore,
    artifacts: &dyn ArtifactStore,
    now: Timestamp,
    keep: Duration,
) -> Result<u64, StoreError> {
    let mut removed = 0;
    for tenant_id in store.tenants().await? {
        let scope = Scope { tenant_id };
        // Whatever is left put its files after it was started.
        let oldest = store.oldest(scope).await?.unwrap_or(now);
        removed += artifacts.remove_unused(scope, oldest.min(now.minus(keep))).await?;
    }
    Ok(removed)
}
