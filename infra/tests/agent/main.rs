//! The agent loop in this process, on a real SQLite store: what it does when the store fails around it, and where it
//! stops. Models and sandboxes are played.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what these tests share fails by panicking, like them")]

mod books;
mod failing_store;
mod failpoints;
mod limits;
mod loop_rules;
mod losses;
mod outcomes;
mod played_model;
mod played_sandbox;
mod small_ports;
mod stage;
