//! Agents: instructions, a model, tools and limits.

mod input;
mod mutation;
mod object;
mod query;

pub use mutation::AgentMutation;
pub use object::{Agent, AgentVersion, LimitsInput, LoopAction};
pub use query::AgentQuery;
