//! A BudgetAccount is the money or the tokens that a tenant, a project or an agent may use in a period. Every execution
//! that it applies to reserves from it, whichever process runs it.
//!
//! The rule is that of an execution's own limits: a call starts only if spent + reserved + its worst case fits. Here it
//! is written for one account in memory; the store keeps it with one conditional update. Accounts are locked in the
//! order of [`BudgetAccount::lock_rank`], behind the execution's row: from narrow to wide, so that the row that most
//! executions share is held for the shortest time.

use serde::{Deserialize, Serialize};

use super::ledger::{Estimate, MINIMUM_USEFUL_OUTPUT};
use super::model::Limit;
use super::period::Period;
use super::ports::AccountPeriod;
use super::warning::WarningLevels;
use crate::clock::Timestamp;
use crate::ids::{AccountId, ProjectId, ResourceId, TenantId};
use crate::money::NanoUsd;

/// Money and tokens together: what a call holds or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// Money.
    pub cost: NanoUsd,
    /// Input and output tokens together.
    pub tokens: u64,
}

impl Amount {
    /// The sum of both.
    pub fn plus(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, tokens: self.tokens.saturating_add(other.tokens) }
    }

    /// As an audit record has it; money is a text, since it must not become a float anywhere.
    pub fn audit_detail(self) -> impl Iterator<Item = (String, serde_json::Value)> {
        [("costUsd".to_owned(), self.cost.to_usd_text().into()), ("tokens".to_owned(), self.tokens.into())].into_iter()
    }

    /// The difference, or nothing where `other` is more.
    pub fn minus(self, other: Self) -> Self {
        Self { cost: self.cost.saturating_sub(other.cost), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// Upper bounds of an account; None means no bound. An account without bounds only counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caps {
    /// Money.
    pub max_cost: Option<NanoUsd>,
    /// Input and output tokens together.
    pub max_tokens: Option<u64>,
}

impl Caps {
    /// The caps with an amount added to each that is set.
    pub fn raised_by(self, amount: Amount) -> Self {
        Self {
            max_cost: self.max_cost.map(|cap| cap + amount.cost),
            max_tokens: self.max_tokens.map(|cap| cap.saturating_add(amount.tokens)),
        }
    }
}

/// Whose account it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccountOwner {
    /// Applies to the executions of one agent.
    Agent(ResourceId),
    /// Applies to the executions of a project.
    Project(ProjectId),
    /// Applies to every execution of the tenant.
    Tenant(TenantId),
}

/// The kind of owner. The order of the variants is a part of the order in which accounts are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountScope {
    /// One agent.
    Agent,
    /// A project.
    Project,
    /// A tenant.
    Tenant,
}

impl AccountScope {
    /// For people, in the middle of a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Project => "project",
            Self::Tenant => "tenant",
        }
    }
}

impl AccountOwner {
    /// Its kind.
    pub const fn scope(self) -> AccountScope {
        match self {
            Self::Agent(_) => AccountScope::Agent,
            Self::Project(_) => AccountScope::Project,
            Self::Tenant(_) => AccountScope::Tenant,
        }
    }
}

impl std::fmt::Display for AccountOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Agent(id) => id.fmt(f),
            Self::Project(id) => id.fmt(f),
            Self::Tenant(id) => id.fmt(f),
        }
    }
}

/// An account, as people set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetAccount {
    /// Its id.
    pub id: AccountId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Whose it is; an owner has at most one account a period.
    pub owner: AccountOwner,
    /// When it begins anew.
    pub period: Period,
    /// What may be used in each period.
    pub caps: Caps,
    /// At which part of a cap running executions are warned.
    pub warning_levels: WarningLevels,
    /// When it was made.
    pub created_at: Timestamp,
}

impl BudgetAccount {
    /// Accounts are locked in this order, everywhere.
    pub fn lock_rank(&self) -> (AccountScope, Period, AccountId) {
        (self.owner.scope(), self.period, self.id)
    }
}

/// An account in one period: its caps, and what is used of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountState {
    /// The account.
    pub account: BudgetAccount,
    /// The begin of the period; names it.
    pub starts_at: Timestamp,
    /// The end of the period.
    pub ends_at: Option<Timestamp>,
    /// The account's caps and what was added to them for this period.
    pub caps: Caps,
    /// What settled calls used.
    pub spent: Amount,
    /// What calls under way hold.
    pub reserved: Amount,
    /// The highest level of money and of tokens that the asking execution was warned of; 0 for none.
    pub warned: Warned,
}

/// The highest levels that an execution was warned of, in percent; 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warned {
    /// Of money.
    pub cost: u8,
    /// Of tokens.
    pub tokens: u8,
}

/// An account that cannot pay for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRefusal {
    /// The account as it was seen.
    pub state: Box<AccountState>,
    /// Which of its limits.
    pub limit: Limit,
}

impl AccountState {
    /// Names the limit over which this amount would go, beside what is spent and reserved.
    pub fn check(&self, amount: Amount) -> Result<(), Limit> {
        let taken = self.spent.plus(self.reserved).plus(amount);
        if self.caps.max_cost.is_some_and(|most| taken.cost > most) {
            return Err(Limit::Cost);
        }
        if self.caps.max_tokens.is_some_and(|most| taken.tokens > most) {
            return Err(Limit::Tokens);
        }
        Ok(())
    }

    /// Holds an amount, if it fits.
    pub fn reserve(&mut self, amount: Amount) -> Result<(), Limit> {
        self.check(amount)?;
        self.reserved = self.reserved.plus(amount);
        Ok(())
    }

    /// Ends a hold: what was used is spent, also when it is more than was held.
    pub fn settle(&mut self, held: Amount, used: Amount) {
        self.reserved = self.reserved.minus(held);
        self.spent = self.spent.plus(used);
    }

    /// Names it.
    pub const fn period(&self) -> AccountPeriod {
        AccountPeriod { account: self.account.id, starts_at: self.starts_at, ends_at: self.ends_at }
    }

    /// What may still be reserved now; None where there is no bound.
    pub fn remaining(&self) -> Caps {
        self.left_beside(self.spent.plus(self.reserved))
    }

    fn left_beside(&self, taken: Amount) -> Caps {
        Caps {
            max_cost: self.caps.max_cost.map(|most| most.saturating_sub(taken.cost)),
            max_tokens: self.caps.max_tokens.map(|most| most.saturating_sub(taken.tokens)),
        }
    }

    /// The greatest useful output cap that the account can pay beside `taken`.
    pub(super) fn payable_output(&self, estimate: Estimate, counted: Counted) -> Result<u64, Limit> {
        let taken = match counted {
            Counted::Spent => self.spent,
            Counted::SpentAndReserved => self.spent.plus(self.reserved),
        };
        let left = self.left_beside(taken);
        let useful = MINIMUM_USEFUL_OUTPUT.min(estimate.output_cap);
        let by_tokens = left.max_tokens.map_or(Some(u64::MAX), |left| left.checked_sub(estimate.input_tokens));
        let by_tokens = by_tokens.filter(|cap| *cap >= useful).ok_or(Limit::Tokens)?;
        let by_cost = match (left.max_cost, estimate.price) {
            (None, _) => Some(u64::MAX),
            (Some(left), Some(price)) => price.affordable_output(estimate.input_tokens, left),
            (Some(_), None) => None,
        };
        let by_cost = by_cost.filter(|cap| *cap >= useful).ok_or(Limit::Cost)?;
        Ok(estimate.output_cap.min(by_tokens).min(by_cost))
    }
}

/// What an account's room is measured beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// What will stay taken whatever the calls under way turn out to cost.
    Spent,
    /// That, and what the calls under way hold.
    SpentAndReserved,
}
