//! API keys and grants.

mod mutation;
mod object;

pub use mutation::AccessMutation;
pub use object::{ApiKey, visible_api_key};
