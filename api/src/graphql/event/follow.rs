//! Follow tells a reader that there may be more to read. It only wakes: the store stays the truth.

use async_trait::async_trait;
use domain::execution::ExecutionRef;
use domain::ids::TenantId;
use futures_util::stream::BoxStream;

/// Something changed in a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// This execution.
    Execution(ExecutionRef),
    /// Nobody knows which: wake-ups may have been lost, or another process may have written.
    Any,
}

/// Wakes readers.
#[async_trait]
pub trait Follow: Send + Sync {
    /// Resolves when the committed head of this execution may be beyond `seen_head`, or after a moment.
    async fn changed(&self, execution: ExecutionRef, seen_head: u64);

    /// Changes in a tenant from now on. It ends only when the process does.
    fn changes(&self, tenant: TenantId) -> BoxStream<'static, Changed>;
}
