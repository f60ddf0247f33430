//! The contract suites. Each public function is one sentence about a port, and wants empty stores.

pub mod access;
pub mod accounts;
pub mod artifacts;
pub mod audit;
pub mod claims;
pub mod commits;
pub mod costs;
pub mod event_log;
pub mod identity;
pub mod prices;
pub mod reader;
pub mod resources;
pub mod sandboxes;
pub mod starts;

use crate::error::StoreError;

/// Asserts that a lease holder was told to stop.
fn assert_lease_lost<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    assert!(matches!(outcome, Err(StoreError::LeaseLost)), "{outcome:?}");
}

/// Asserts that something was in the way.
fn assert_conflict<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    assert!(matches!(outcome, Err(StoreError::Conflict { .. })), "{outcome:?}");
}
