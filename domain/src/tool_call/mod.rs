//! A ToolCall is one use of a tool that a model asked for.
//!
//! Its row is committed as `STARTED` before a byte leaves, with its side-effect class and idempotency key, so that after
//! a loss one knows what may have happened. Calls of one reply run side by side under one budget, as far as their sandbox
//! has processes for them. A call that is not run (bad arguments, no grant, no budget) still has a row and a result: the
//! model must get an answer to each call.

mod arguments;
mod beside;
mod browse;
mod catalogue;
mod collect;
mod contract;
mod credentials;
mod egress;
mod fields;
mod files;
mod follow;
mod invocation;
mod judge;
mod model;
mod output;
mod page_text;
mod path;
pub mod plan;
mod printed;
mod program;
pub mod run;

pub use arguments::{Arguments, fingerprint, parse_strict};
pub use catalogue::{BuiltInTool, KNOWN_TOOLS, needs_sandbox};
pub(crate) use credentials::revoked_event;
pub(crate) use egress::EgressLog;
pub use invocation::Invocation;
pub(crate) use invocation::understand;
pub(crate) use judge::warning_of;
pub use model::{SideEffect, ToolCall, ToolCallState, ToolResult};
pub use output::CappedOutput;

#[cfg(test)]
mod tests;
