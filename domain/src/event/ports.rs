//! What the log needs from outside.

use async_trait::async_trait;

use super::model::Segment;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::execution::ExecutionRef;

/// Reads the committed log.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Segments that hold events behind `after`, in order, without a hole, and of about `max_bytes` together (at least
    /// one segment when there is any). The first one may begin before `after`.
    async fn read(&self, execution: ExecutionRef, after: u64, max_bytes: usize) -> Result<Vec<Segment>, StoreError>;

    /// The sequence of the last committed event; None when there is no such execution in this tenant.
    async fn head(&self, scope: Scope, execution: ExecutionRef) -> Result<Option<u64>, StoreError>;
}

/// Tells this process that something was committed. It only wakes: the store stays the truth.
pub trait EventBus: Send + Sync {
    /// A segment of an execution is committed.
    fn committed(&self, execution: ExecutionRef, segment: &Segment);

    /// A command lies in an execution's inbox.
    fn command_arrived(&self, execution: ExecutionRef);
}

/// Waits for commands on behalf of a lease holder.
#[async_trait]
pub trait CommandWakeUps: Send + Sync {
    /// Resolves when a command may have arrived in the inbox of this execution. It may miss one: look now and then.
    async fn command(&self, execution: ExecutionRef);
}
