//! The outer layer: GraphQL, HTTP, sign-in, and the wiring of the `vitrine` binary.
//!
//! [`commands`] is the command line. [`server`] starts and stops a process whose parts [`wiring`] put together from
//! [`config`]: the [`worker`] runs executions, [`listener`] takes connections, [`http`] carries requests to [`graphql`], [`live`] wakes who waits,
//! [`studio`] and [`artifact_links`] serve files, [`auth`] says who asks. [`scripted_model`] answers where no model is,
//! [`seed`] makes what a fresh installation starts with, [`local_sandbox`] keeps the sandbox runtime up.

pub mod artifact_links;
pub mod auth;
pub mod commands;
pub mod config;
pub mod graphql;
pub mod http;
pub mod listener;
pub mod live;
pub mod local_sandbox;
pub mod private_file;
pub mod scripted_model;
pub mod seed;
pub mod server;
pub mod studio;
pub mod wiring;
pub mod worker;
