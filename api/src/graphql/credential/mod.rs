//! Credentials: secrets that are sealed and never returned.

mod input;
mod mutation;
mod object;
mod query;

pub use mutation::CredentialMutation;
pub use object::{Credential, CredentialVersion};
pub use query::CredentialQuery;
