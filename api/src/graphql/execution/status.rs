//! Where an execution stands, and why it ended.

use async_graphql::{Enum, SimpleObject};
use domain::execution;

use crate::graphql::scalar::int;

/// Where an execution stands. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "execution::ExecutionStatus")]
pub enum ExecutionStatus {
    /// Waits for a worker.
    Queued,
    /// A worker runs it, or it waits for the next worker after one was lost.
    Running,
    /// Waits for a person.
    Waiting,
    /// Was told to stop; calls under way are being ended.
    Cancelling,
    /// Ended with a final answer.
    Succeeded,
    /// Ended by a failure.
    Failed,
    /// Ended by a limit or the loop guard.
    Stopped,
    /// Ended by a person.
    Cancelled,
}

/// The one cause for which an execution ended. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "execution::StopCode")]
pub enum StopReasonCode {
    /// The model gave its final answer.
    FinalAnswer,
    /// A person stopped it.
    Cancelled,
    /// The deadline passed.
    DeadlineExceeded,
    /// The limit of iterations.
    IterationLimit,
    /// The limit of model calls.
    ModelCallLimit,
    /// The limit of tool calls.
    ToolCallLimit,
    /// The limit of tokens.
    TokenLimit,
    /// The limit of money.
    CostLimit,
    /// The limit of active time.
    ActiveTimeLimit,
    /// The same tool failed too often.
    ToolErrorLimit,
    /// It went in circles.
    LoopDetected,
    /// The model's provider failed.
    ModelFailed,
    /// The model's reply was cut off at its cap.
    ModelOutputTruncated,
    /// The provider's filter cut the reply.
    ContentFiltered,
    /// No sandbox could be had.
    SandboxUnavailable,
    /// A grant was missing or revoked.
    AccessDenied,
    /// A tool with side effects may have run in part.
    ToolOutcomeUnknown,
    /// A cost limit is set and the model has no price.
    PriceUnknown,
    /// A fault of the server.
    Internal,
}

/// The kinds of loops that the loop guard knows. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "domain::loop_guard::LoopKind")]
pub enum LoopKind {
    /// The same call with unchanged results.
    RepeatedCall,
    /// A tool gives the same error again and again.
    RepeatedError,
    /// Two to five calls in the same order, with unchanged results.
    Cycle,
    /// The same call more often than polling may.
    PollLimit,
}

/// Why an execution ended, for machines and for people.
#[derive(SimpleObject)]
pub struct StopReason {
    /// The cause.
    code: StopReasonCode,
    /// A sentence for people: what happened, at which step, what to do.
    message: String,
    /// The limit that was hit, as written in the effective limits; null when no limit was.
    limit: Option<String>,
    /// The iteration at which it ended.
    iteration: Option<i32>,
}

impl From<execution::StopReason> for StopReason {
    fn from(reason: execution::StopReason) -> Self {
        Self {
            code: reason.code.into(),
            message: reason.message,
            limit: reason.limit,
            iteration: reason.iteration.map(int),
        }
    }
}
