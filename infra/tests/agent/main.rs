//! The agent loop in this process, on a real SQLite store: what it does when the store fails around it, and where it
//! stops. Models and sandboxes are played; where the provider matters, it is a server on loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what these tests share fails by panicking, like them")]

mod books;
mod failing_store;
mod failpoints;
mod fallbacks;
mod limits;
mod loop_rules;
mod losses;
mod played_model;
mod played_sandbox;
#[path = "../model/provider.rs"]
#[expect(dead_code, reason = "the tests of the adapter use all of it")]
mod provider;
mod provider_cases;
mod retries;
mod small_ports;
mod stage;
