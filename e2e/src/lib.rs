//! Black-box tests: the real binary, real services, the public API and nothing else.
//!
//! - [`node`]: clients that others wrote in JavaScript.
//! - [`process`]: starts and stops `vitrine` and its helpers, always in a directory of its own.
//! - [`client`]: GraphQL over HTTP.
//! - [`cut_proxy`]: cuts the connections to a sandbox server.
//! - [`follow`]: subscriptions over WebSocket, resumable from a cursor.
//! - [`agents`]: makes the resources that a test needs.
//! - [`differential`]: several OpenSandbox clients against one server, compared.
//! - [`python`]: clients that others wrote in Python.
//! - [`stored`]: reads the event log past the server.
//! - [`books`]: what must be true of an execution that has ended.
//! - [`leftovers`]: what a server has left on its host.
//! - [`mariadb`]: a database server for tests with several replicas.
//! - [`replicas`]: two servers on one database.
//! - [`tool_bench`]: an agent that has every tool, and what became of its calls.
//! - [`random`]: numbers that are the same in each run.

pub mod agents;
pub mod books;
pub mod client;
pub mod cut_proxy;
pub mod differential;
pub mod follow;
pub mod leftovers;
pub mod mariadb;
pub mod node;
pub mod process;
pub mod python;
pub mod random;
pub mod replicas;
pub mod stored;
pub mod tool_bench;

/// What a test says when something that must work does not.
pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
