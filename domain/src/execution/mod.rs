//! An Execution is one run of an agent: from the start call to one StopReason.
//!
//! It is started once (its idempotency key sees to that), claimed by a worker under a lease with a growing epoch, run
//! by the agent loop, and ended by the first terminal state that is committed. Only the lease holder writes it; cancel
//! and its kin are commands in an inbox that the holder applies.

mod call_context;
pub mod cancel;
mod item;
mod model;
pub mod override_loop;
mod pins;
mod ports;
mod receipt;
pub mod retention;
pub mod start;
mod stop_signal;

pub use call_context::CallContext;
pub use item::{ErrorItem, Item};
pub use model::{
    AgentIteration, Change, Claimed, Command, CommandKind, Commit, Execution, ExecutionFilter, ExecutionRef,
    ExecutionStatus, Fence, IterationRecord, LoopOverride, NewExecution, Progress, Renewal, StartOutcome, StopCode,
    StopReason, StopStep,
};
pub use pins::{ModelPin, Pins};
pub use ports::{ExecutionReader, ExecutionStore};
pub use receipt::{CancelOutcome, CancelReceipt};
pub use retention::{RetentionStore, Tombstone};
pub use stop_signal::{StopCause, StopSignal};

#[cfg(test)]
mod tests;
