//! An AuditRecord says what a person decided: who, what, when, about what, and why.
//!
//! It is written in the transaction of what it is about, or neither is written. Records are numbered within a tenant and
//! each names the hash of the one before, so that a record that was changed or taken out is noticed. There is no way to
//! change one. What an execution does by itself is in its event log and not here.

mod model;
mod ports;
mod reason;

pub use model::{AuditAction, AuditRecord, BrokenChain, ChainedRecord, FIRST_PREVIOUS_HASH, verify_chain};
pub use ports::AuditLog;
pub use reason::check_reason;

#[cfg(test)]
mod tests;
