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
    /// Ended with an item: a final answer, or the error item of a limit whose outcome is ERROR_ITEM.
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
    /// What was about to happen, or was under way; only where a limit ended it.
    step: Option<StopStep>,
}

/// A step of the loop that a limit can end. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "execution::StopStep")]
pub enum StopStep {
    /// The next iteration was to begin.
    Iteration,
    /// A model call.
    ModelCall,
    /// The tool calls of a reply.
    ToolCalls,
}

/// A limit that was hit, as a value with which a caller goes on. It is also the member `error` of the execution's item.
#[derive(SimpleObject)]
pub struct ErrorItem {
    /// The code of the stop reason.
    code: StopReasonCode,
    /// The limit, as the stop reason names it.
    limit: Option<String>,
    /// What was about to happen, or was under way.
    step: Option<StopStep>,
    /// The iteration of that step.
    iteration: Option<i32>,
    /// For people.
    message: String,
}

impl From<execution::ErrorItem> for ErrorItem {
    fn from(item: execution::ErrorItem) -> Self {
        Self {
            code: item.code.into(),
            limit: item.limit,
            step: item.step.map(StopStep::from),
            iteration: item.iteration.map(int),
            message: item.message,
        }
    }
}

impl From<execution::StopReason> for StopReason {
    fn from(reason: execution::StopReason) -> Self {
        Self {
            code: reason.code.into(),
            message: reason.message,
            limit: reason.limit,
            iteration: reason.iteration.map(int),
            step: reason.step.map(StopStep::from),
        }
    }
}
