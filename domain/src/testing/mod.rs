//! What tests of other crates share: sample values, and one contract suite per port.
//!
//! A suite says what every adapter of a port does, as plain async functions that panic when it does not. Each function
//! wants empty stores. Nothing here is part of the product: the feature `testing` turns it on.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a suite fails by panicking, like the tests that call it")]

pub mod contract;
mod samples;

pub use samples::{Home, Ports, Samples, plain_context, plain_live, plain_profile, plain_target};
