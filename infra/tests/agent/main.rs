//! The agent loop in this process, on a real store: what it does when the store fails around it, when its worker is
//! lost, and where it stops. Models and sandboxes are played; where the provider matters, it is a server on loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what these tests share fails by panicking, like them")]

mod access;
mod accounts;
mod books;
mod cancels;
mod cast;
mod egress;
mod failing_store;
mod failpoints;
mod fallbacks;
mod follows;
mod fused_ports;
mod lifetimes;
mod limits;
mod loop_policies;
mod loop_rules;
mod losses;
#[path = "../it/mariadb.rs"]
mod mariadb;
mod outcomes;
mod played_background;
mod played_files;
mod played_model;
mod played_sandbox;
#[path = "../model/provider.rs"]
#[expect(dead_code, reason = "the tests of the adapter use all of it")]
mod provider;
mod provider_cases;
mod retries;
mod sandboxes;
mod side_effects;
mod small_ports;
mod stage;
mod step;
mod steps;
mod workspaces;
