//! An offer answers, for one model call, whether its execution's own limits and every account can pay for it.
//!
//! Two ways to lower the output cap are told apart. What is spent stays spent, so the cap is lowered to what is left
//! beside it. What other calls hold mostly comes back, so a call does not shrink for it at once: it waits. Only when it
//! has waited for its time does it take what is free, if that is still useful.

use super::account::{AccountRefusal, AccountState, Amount, Counted};
use super::ledger::{Estimate, ModelCallReservation};
use super::model::{Budget, Limit};

/// Whether a call still has time to wait for others to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Others may settle: do not take less than is left beside what is spent.
    Waits,
    /// Take what is free now, or refuse.
    IsOver,
}

/// Why a call cannot be reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// A limit of the execution itself.
    Own(Limit),
    /// An account is used up, whatever the calls under way turn out to cost.
    Account(AccountRefusal),
    /// An account has room beside what is spent, and others hold it.
    Busy(AccountRefusal),
    /// An account limits money, and the model has no price.
    NoPrice(AccountRefusal),
}

impl ModelCallReservation {
    /// What it holds of each account.
    pub const fn amount(&self) -> Amount {
        Amount { cost: self.cost, tokens: self.tokens }
    }
}

/// Reserves a call from the execution's budget, its output cap lowered to what the budget and the accounts can pay. The
/// accounts are only looked at: the store holds the amount on each of them if it still fits.
pub fn reserve(
    budget: &mut Budget,
    accounts: &[AccountState],
    estimate: Estimate,
    patience: Patience,
) -> Result<ModelCallReservation, Refused> {
    let refusal = |state: &AccountState, limit| AccountRefusal { state: Box::new(state.clone()), limit };
    let mut output_cap = estimate.output_cap;
    for state in accounts {
        if state.caps.max_cost.is_some() && estimate.price.is_none() {
            return Err(Refused::NoPrice(refusal(state, Limit::Cost)));
        }
        let lasting = state.payable_output(estimate, Counted::Spent);
        let lasting = lasting.map_err(|limit| Refused::Account(refusal(state, limit)))?;
        let cap = match patience {
            Patience::Waits => lasting,
            Patience::IsOver => state
                .payable_output(estimate, Counted::SpentAndReserved)
                .map_err(|limit| Refused::Busy(refusal(state, limit)))?,
        };
        output_cap = output_cap.min(cap);
    }
    let mut tried = *budget;
    let reservation = tried.reserve_model_call(Estimate { output_cap, ..estimate }).map_err(Refused::Own)?;
    for state in accounts {
        state.check(reservation.amount()).map_err(|limit| Refused::Busy(refusal(state, limit)))?;
    }
    *budget = tried;
    Ok(reservation)
}
