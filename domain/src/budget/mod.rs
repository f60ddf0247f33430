//! A Budget is a set of limits; the ledger says before each call whether it may start.
//!
//! The flow: reserve the worst case, call, settle what was used. No call starts unless spent + reserved + its worst
//! case fits. A settlement may exceed its reservation when a provider counts differently: the true cost is recorded and
//! the next reservation fails. A reservation has no timer: it ends by its settlement, or by the claim that supersedes
//! its epoch, which settles it at the worst case. The lease holder is the only writer of an execution's totals, so the
//! arithmetic is pure and the fenced commit makes it durable.

//!
//! Beside its own limits an execution has accounts: a [`BudgetAccount`] is shared by all executions of an agent, a
//! project or a tenant, and one conditional update in the same commit holds a call's worst case on each of them.

mod account;
mod administer;
mod ledger;
mod model;
mod offer;
mod outcome;
mod period;
mod ports;
mod source;
mod warning;

pub use account::{AccountOwner, AccountRefusal, AccountScope, AccountState, Amount, BudgetAccount, Caps, Warned};
pub use administer::{
    AccountSetting, BudgetPorts, TopUpRequest, ToppedUp, list_accounts, set_account, top_up, visible_account,
};
pub use ledger::{Estimate, MINIMUM_USEFUL_OUTPUT, ModelCallReservation, estimate_input};
pub use model::{Budget, Limit, Limits, Used};
pub use offer::{Patience, Refused, reserve};
pub use outcome::{LimitOutcome, LimitOutcomes};
pub use period::Period;
pub use ports::{
    AccountChange, AccountPeriod, AccountReservation, AccountSubjects, BudgetAccounts, TopUp, TopUpOutcome, TopUpTarget,
};
pub use source::{LimitSource, LimitSources, effective};
pub use warning::{BudgetSource, Meter, WarningLevels};

#[cfg(test)]
mod model_test;
#[cfg(test)]
mod tests;
