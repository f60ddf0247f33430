//! Black-box tests: the real binary, real services, the public API and nothing else.
//!
//! - [`process`]: starts and stops `vitrine` and its helpers, always in a directory of its own.
//! - [`client`]: GraphQL over HTTP.
//! - [`follow`]: subscriptions over WebSocket, resumable from a cursor.
//! - [`agents`]: makes the resources that a test needs.
//! - [`stored`]: reads the event log past the server.

pub mod agents;
pub mod client;
pub mod follow;
pub mod process;
pub mod stored;

/// What a test says when something that must work does not.
pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
