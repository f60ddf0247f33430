//! A Budget is a set of limits; the ledger says before each call whether it may start.
//!
//! The flow: reserve the worst case, call, settle what was used. No call starts unless spent + reserved + its worst
//! case fits. A settlement may exceed its reservation when a provider counts differently: the true cost is recorded and
//! the next reservation fails. A reservation has no timer: it ends by its settlement, or by the claim that supersedes
//! its epoch, which settles it at the worst case. The lease holder is the only writer of an execution's totals, so the
//! arithmetic is pure and the fenced commit makes it durable.

mod ledger;
mod model;
mod outcome;

pub use ledger::{Estimate, MINIMUM_USEFUL_OUTPUT, ModelCallReservation, estimate_input};
pub use model::{Budget, Limit, Limits, Used};
pub use outcome::{LimitOutcome, LimitOutcomes};

#[cfg(test)]
mod tests;
