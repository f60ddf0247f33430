//! What price tables need from outside.

use async_trait::async_trait;

use super::model::{ModelName, ModelPrice};
use crate::clock::Timestamp;
use crate::ctx::{Page, PageRequest, Scope};
use crate::error::StoreError;
use crate::ids::{PriceVersionId, ProjectId};

/// Keeps price versions. They are only ever added.
#[async_trait]
pub trait PriceStore: Send + Sync {
    /// Stores these versions, all or none, except those that say what a stored version of the same model and moment says
    /// already. Where such a version says something else, nothing is stored and the answer is the places of those that
    /// are in the way; else the stored versions, in the order in which they came. What is added is in the audit log by the
    /// same transaction.
    async fn import_prices(&self, prices: &[ModelPrice]) -> Result<Result<Vec<ModelPrice>, Vec<usize>>, StoreError>;

    /// The version of a model that is in force in a project at this moment: of those that hold by then, the newest.
    async fn price_in_force(
        &self,
        scope: Scope,
        project: ProjectId,
        model: &ModelName,
        at: Timestamp,
    ) -> Result<Option<ModelPrice>, StoreError>;

    /// The versions with these ids, in no order; missing ones are left out.
    async fn prices(&self, scope: Scope, ids: &[PriceVersionId]) -> Result<Vec<ModelPrice>, StoreError>;

    /// A page of a project's versions: by provider, deployment, and the newest first.
    async fn list_prices(
        &self,
        scope: Scope,
        project: ProjectId,
        page: PageRequest,
    ) -> Result<Page<ModelPrice>, StoreError>;
}
