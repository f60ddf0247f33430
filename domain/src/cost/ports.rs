//! What costs need from the store.

use async_trait::async_trait;

use super::model::{CostBy, CostFilter, CostLine, CostTotals, PricedCall};
use crate::ctx::{Page, PageRequest, Scope};
use crate::error::StoreError;
use crate::execution::ExecutionRef;

/// Sums stored calls. Every sum is exact; calls that are under way are left out.
#[async_trait]
pub trait CostReader: Send + Sync {
    /// The sum of an execution's calls.
    async fn execution_cost(&self, execution: ExecutionRef) -> Result<CostTotals, StoreError>;

    /// The sum of all calls of the filter.
    async fn cost_totals(&self, scope: Scope, filter: &CostFilter) -> Result<CostTotals, StoreError>;

    /// A page of the lines whose sum is [`Self::cost_totals`]: models by provider and name, agents by id, days with the
    /// newest first.
    async fn cost_lines(
        &self,
        scope: Scope,
        filter: &CostFilter,
        by: CostBy,
        page: PageRequest,
    ) -> Result<Page<CostLine>, StoreError>;

    /// An execution's calls that have ended, oldest first.
    async fn priced_calls(&self, execution: ExecutionRef) -> Result<Vec<PricedCall>, StoreError>;
}
