//! Sandbox profiles: image, limits, network and lifetime.

mod input;
mod mutation;
mod object;
mod query;

pub use mutation::SandboxProfileMutation;
pub use object::{SandboxNetwork, SandboxProfile, SandboxProfileVersion};
pub use query::SandboxProfileQuery;
