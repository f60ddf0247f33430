//! The part of budget accounts in a model call: looked at before it is reserved, held by the commit that starts it,
//! settled by the one that ends it.
//!
//! An execution to which no account applies pays nothing for this: its commits say that there is none, and the store
//! refuses them when that is no longer so. Where a call fits beside what is spent, and only others' holds are in the
//! way, it waits a bounded time for them to settle. Whoever comes first then is served first; nobody stands in a queue.

use std::time::Duration;

use super::model::ModelCall;
use crate::agent::{Claim, Halt, Moving, warnings};
use crate::budget::{
    self, AccountPeriod, AccountReservation, AccountState, Amount, Budget, Estimate, Limit, ModelCallReservation,
    Patience, Refused,
};
use crate::event::Event;
use crate::execution::Change;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// A wait that is longer than this is told.
const LONG_WAIT: Duration = Duration::from_secs(1);
/// How often a call that has no time left tries again after others were faster.
const LAST_TRIES: u32 = 16;

/// What one model call knows of the accounts.
pub(super) struct Desk {
    /// The accounts that apply, as they were last seen.
    pub accounts: Vec<AccountState>,
    /// Whether it still may wait.
    pub patience: Patience,
    must_look: bool,
    opened_at: Duration,
    pause: Duration,
    tries_left: u32,
    has_told: bool,
}

impl Desk {
    /// Before the first look. Accounts that applied to the last call are looked at anew; where there was none, the
    /// store will say when there is one.
    pub(super) fn open(claim: &Claim) -> Self {
        Self {
            accounts: Vec::new(),
            patience: Patience::Waits,
            must_look: !claim.moving().accounts.is_empty(),
            opened_at: claim.ports.clock.monotonic(),
            pause: FIRST_PAUSE,
            tries_left: LAST_TRIES,
            has_told: false,
        }
    }

    /// Reads the accounts, and waits while only others' holds are in the way.
    pub(super) async fn look(&mut self, claim: &Claim, estimate: Estimate) -> Result<(), Halt> {
        loop {
            if self.must_look {
                let reference = claim.execution.reference();
                self.accounts = claim.ports.accounts.applying(reference, claim.account_subjects()).await?;
            }
            let waited = claim.ports.clock.monotonic().saturating_sub(self.opened_at);
            let left = claim.ports.account_wait.saturating_sub(waited);
            self.patience = if left.is_zero() { Patience::IsOver } else { Patience::Waits };
            let mut budget = claim.budget_of(&claim.moving());
            match self.reserve(&mut budget, estimate) {
                Err(Refused::Busy(refusal)) if self.patience == Patience::Waits => {
                    claim.check_stop()?;
                    if waited > LONG_WAIT && !std::mem::replace(&mut self.has_told, true) {
                        claim.record(|_| (Vec::new(), vec![waiting_event(&refusal.state)])).await?;
                    }
                    self.rest(claim, left).await;
                }
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    }

    /// Others were faster, or other accounts apply than were known.
    pub(super) fn was_refused(&mut self) -> Result<(), Halt> {
        self.must_look = true;
        if self.patience == Patience::IsOver {
            self.tries_left = self.tries_left.saturating_sub(1);
        }
        match self.accounts.first() {
            Some(state) if self.tries_left == 0 => {
                let limit = if state.caps.max_cost.is_some() { Limit::Cost } else { Limit::Tokens };
                let refusal = budget::AccountRefusal { state: Box::new(state.clone()), limit };
                Err(Halt::Account(Refused::Busy(refusal)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Reserves from the execution's own budget what the accounts can pay as well.
    pub(super) fn reserve(&self, budget: &mut Budget, estimate: Estimate) -> Result<ModelCallReservation, Refused> {
        budget::reserve(budget, &self.accounts, estimate, self.patience)
    }

    /// Adds what the commit that starts the call writes on the accounts.
    pub(super) fn hold(
        &mut self,
        claim: &Claim,
        row: &ModelCall,
        reservation: &ModelCallReservation,
        changes: &mut Vec<Change>,
        events: &mut Vec<Event>,
    ) {
        let periods = self.accounts.iter().map(AccountState::period).collect();
        let hold = AccountReservation {
            call: row.id,
            subjects: claim.account_subjects(),
            periods,
            amount: reservation.amount(),
        };
        let (noted, warnings) = tell(&mut self.accounts);
        changes.push(Change::ReserveAccounts(hold));
        changes.extend(noted);
        events.extend(warnings);
    }

    async fn rest(&mut self, claim: &Claim, left: Duration) {
        let mut byte = [0];
        claim.ports.entropy.fill(&mut byte);
        // Between half of the pause and all of it, so that those who wait for the same do not come at the same time.
        let jitter = 0.5 + f32::from(byte[0]) / 512.0;
        claim.ports.clock.sleep(self.pause.mul_f32(jitter).min(left)).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.must_look = true;
    }
}

/// What the commit that ends the call writes on the accounts.
pub(super) fn settle(moving: &mut Moving, row: &ModelCall, held: Amount, used: Amount) -> (Vec<Change>, Vec<Event>) {
    if moving.accounts.is_empty() {
        return (Vec::new(), Vec::new());
    }
    for state in &mut moving.accounts {
        state.reserved = state.reserved.plus(held);
        state.settle(held, used);
    }
    let (mut changes, events) = tell(&mut moving.accounts);
    changes.insert(0, Change::SettleAccounts { call: row.id, used });
    (changes, events)
}

/// Tells levels that the execution was not told of, and keeps that it was.
fn tell(accounts: &mut [AccountState]) -> (Vec<Change>, Vec<Event>) {
    let (mut changes, mut events) = (Vec::new(), Vec::new());
    for state in accounts {
        let new = warnings::of_account(state);
        if !new.is_empty() {
            let AccountPeriod { account, starts_at, .. } = state.period();
            changes.push(Change::NoteWarned { account, starts_at, warned: state.warned });
            events.extend(new);
        }
    }
    (changes, events)
}

fn waiting_event(state: &AccountState) -> Event {
    let noun = state.account.owner.scope().noun();
    Event::WarningRaised {
        code: "BUDGET_BUSY".to_owned(),
        message: format!("The model call waits: other calls hold what is left of the {noun}'s budget account."),
    }
}
