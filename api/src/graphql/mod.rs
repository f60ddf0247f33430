//! The GraphQL schema: what the API shows of the domain, and nothing of its own.
//!
//! A resolver reads ids and inputs, takes the caller from its context, calls one domain function or loader, and wraps
//! the result. A folder is a noun of the field, with its objects, queries, mutations and subscriptions. Every port comes
//! from [`Services`]; [`attach`] puts the caller into an operation, the same way for HTTP and WebSocket; `error` is the
//! one place that knows the codes of errors.

mod access;
mod agent;
mod artifact;
mod audit;
mod budget;
mod connection;
mod context;
mod cost;
mod credential;
mod error;
mod event;
mod execution;
mod loader;
mod model;
mod money;
mod node;
mod price;
mod resource;
mod sandbox_connection;
mod sandbox_profile;
pub(crate) mod scalar;
mod schema;
mod services;
mod user_error;
mod viewer;

pub use context::{Caller, attach};
pub use event::{Changed, Follow};
pub use schema::{ApiSchema, build_schema, sdl};
pub use services::{ArtifactLinks, Services};
