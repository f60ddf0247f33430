//! Agents: instructions, a model, tools and limits.

mod input;
mod limits;
mod mutation;
mod object;
mod query;

pub use limits::LimitsInput;
pub use mutation::AgentMutation;
pub use object::{Agent, AgentVersion, LoopAction};
pub use query::AgentQuery;
