//! Adapters of [`domain::model_call::ModelRuntime`]: each speaks one wire protocol of model providers.
//!
//! A provider's shapes, field names and ids stop here. A call is one upstream request, never a second one; whatever was
//! received is handed on, whole or in part; error texts are bounded and redacted in one place.

mod assembly;
mod body;
mod exchange;
mod failure;
mod limits;
mod openai_compatible;
mod redact;
mod retry_after;
mod stream_options;
mod tool_slots;
mod upstream_request;
mod usage;

pub use limits::CallLimits;
pub use openai_compatible::OpenAiCompatible;
