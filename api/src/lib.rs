//! The outer layer: GraphQL, HTTP, sign-in, and the wiring of the `vitrine` binary.

pub mod graphql;
pub mod http;
pub mod scripted_model;
