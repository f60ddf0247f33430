//! A ModelCall is one request to a model and what came back.
//!
//! It is authorised, reserved, sent, settled and recorded, in this order, by [`run`]. What costs nothing is tried again
//! under the same reservation; a model that fails before it said anything gives way to the next one. A reply that was
//! cut off is stored as partial and is never shown as complete. What a provider's wire looks like is the adapter's
//! business.

mod accounts;
mod choice;
mod failure;
mod model;
mod ports;
mod retry;
pub mod run;
mod sent;
#[cfg(test)]
mod tests;

pub use choice::ModelChoice;
pub use failure::{ModelFailure, ModelFailureKind, RetryAdvice};
pub use model::{
    CallState, FinishReason, Message, ModelCall, ModelCallEnd, ModelEndpoint, ModelOutcome, ModelReply, ModelRequest,
    ReplyMode, RequestedToolCall, ToolDefinition,
};
pub use ports::{DeltaSink, ModelRuntime};
pub use sent::{SentMessages, load_request};
