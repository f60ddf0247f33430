//! Sandbox connections: servers that run sandboxes.

mod input;
mod mutation;
mod object;
mod query;

pub use mutation::SandboxConnectionMutation;
pub use object::{SandboxConnection, SandboxConnectionVersion, SandboxTier};
pub use query::SandboxConnectionQuery;
