//! The loop guard sees the sequence of calls and their outcomes and says when an agent goes round in circles.
//!
//! Progress is an outcome that was not there before: calls whose results change are work. Its memory belongs to the
//! execution and comes back from the stored calls, so that neither another tool nor another worker resets it. What
//! happens to a call that is caught is the agent's policy. The guard does not decide anything else: what a loop costs is
//! the business of the budget.
//!
//! [`LoopGuard`] is the memory, `detect` holds the rules, [`Finding`] is what they found, and [`transcript`] runs them
//! over a file.

mod detect;
mod error_text;
mod finding;
mod guard;
mod outcome;
pub mod transcript;

pub use finding::{Finding, LoopKind, Verdict};
pub use guard::{Call, LoopGuard};
pub use outcome::{Outcome, with_warning, without_warning};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
