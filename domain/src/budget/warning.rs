//! Warning levels are the parts of a limit, in percent, at which people are told that it will be reached.
//!
//! A level is crossed by the settlement that takes what is spent from below it to it or above. An execution's own limits
//! are watched in the totals that the same commit stores, and so a level is told once, also across crashes. A limit that
//! is raised is another limit: its levels are told again.

use serde::{Deserialize, Serialize};

use super::account::AccountScope;
use super::model::Limit;
use crate::error::InvalidInput;
use crate::money::NanoUsd;

/// Levels at most.
const MOST_LEVELS: usize = 10;

/// Percentages, in growing order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WarningLevels(Vec<u8>);

impl Default for WarningLevels {
    fn default() -> Self {
        Self(vec![50, 80, 95])
    }
}

impl WarningLevels {
    /// Takes percentages in any order; an empty list warns of nothing.
    pub fn new(mut levels: Vec<u8>) -> Self {
        levels.sort_unstable();
        levels.dedup();
        Self(levels)
    }

    /// The percentages.
    pub fn percentages(&self) -> &[u8] {
        &self.0
    }

    /// Whether these are the levels of those who set none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// `path` is where the levels stand in the caller's input.
    pub fn validate(&self, path: &[&str]) -> Vec<InvalidInput> {
        let is_good = self.0.len() <= MOST_LEVELS && self.0.iter().all(|level| (1..=100).contains(level));
        if is_good {
            return Vec::new();
        }
        vec![InvalidInput {
            path: path.iter().map(ToString::to_string).collect(),
            code: "OUT_OF_RANGE",
            message: format!("must be at most {MOST_LEVELS} whole percentages from 1 to 100"),
        }]
    }

    /// The highest level that this use has reached; 0 for none.
    pub fn reached(&self, used: u128, cap: u128) -> u8 {
        let has_reached = |level: &u8| used.saturating_mul(100) >= cap.saturating_mul(u128::from(*level));
        if cap == 0 { 0 } else { self.0.iter().copied().rfind(has_reached).unwrap_or(0) }
    }

    /// The levels above `before` that this use has reached.
    pub fn crossed(&self, before: u8, used: u128, cap: u128) -> Vec<u8> {
        let reached = self.reached(used, cap);
        self.0.iter().copied().filter(|level| (before + 1..=reached).contains(level)).collect()
    }
}

/// Whose limit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BudgetSource {
    /// The execution's own.
    Execution,
    /// An account of its agent.
    Agent,
    /// An account of its project.
    Project,
    /// An account of its tenant.
    Tenant,
}

impl From<AccountScope> for BudgetSource {
    fn from(scope: AccountScope) -> Self {
        match scope {
            AccountScope::Agent => Self::Agent,
            AccountScope::Project => Self::Project,
            AccountScope::Tenant => Self::Tenant,
        }
    }
}

/// What of a limit is counted in: the two that accounts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    /// Money or tokens.
    pub limit: Limit,
    /// Used, in nano-USD or tokens.
    pub used: u64,
    /// The limit, in the same.
    pub cap: u64,
}

impl Meter {
    /// Money against its limit; None without one.
    pub fn of_cost(used: NanoUsd, cap: Option<NanoUsd>) -> Option<Self> {
        let whole = |amount: NanoUsd| u64::try_from(amount.0).unwrap_or(0);
        cap.map(|cap| Self { limit: Limit::Cost, used: whole(used), cap: whole(cap) })
    }

    /// Tokens against their limit; None without one.
    pub fn of_tokens(used: u64, cap: Option<u64>) -> Option<Self> {
        cap.map(|cap| Self { limit: Limit::Tokens, used, cap })
    }
}
