//! A ModelCall is one request to a model and what came back.
//!
//! It is authorised, reserved, sent, settled and recorded, in this order, by [`run`]. A reply that was cut off is stored
//! as partial and is never shown as complete. What a provider's wire looks like is the adapter's business.

mod model;
mod ports;
pub mod run;
mod sent;

pub use model::{
    CallState, FinishReason, Message, ModelCall, ModelCallEnd, ModelEndpoint, ModelFailure, ModelFailureKind,
    ModelOutcome, ModelReply, ModelRequest, ReplyMode, RequestedToolCall, ToolDefinition,
};
pub use ports::{DeltaSink, ModelRuntime};
pub use sent::{SentMessages, load_request};
