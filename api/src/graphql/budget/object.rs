//! Accounts as the API shows them.

use async_graphql::{Enum, ID, SimpleObject};
use domain::budget::{self, AccountState, Limit};

use crate::graphql::money::Money;
use crate::graphql::scalar::{BigInt, DateTime};

/// When an account begins anew, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::Period", name = "BudgetPeriod")]
pub enum BudgetPeriod {
    /// Never.
    None,
    /// At midnight.
    Day,
    /// On the first day of the month.
    Month,
}

/// To which executions an account applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::AccountScope", name = "BudgetScope")]
pub enum BudgetScope {
    /// To those of one agent.
    Agent,
    /// To those of a project.
    Project,
    /// To all of the tenant.
    Tenant,
}

/// Whose limit it is. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::BudgetSource", name = "BudgetSource")]
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

/// What a limit counts. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum BudgetLimit {
    /// Money.
    Cost,
    /// Input and output tokens together.
    Tokens,
}

impl From<Limit> for BudgetLimit {
    fn from(limit: Limit) -> Self {
        if limit == Limit::Tokens { Self::Tokens } else { Self::Cost }
    }
}

/// Money or tokens that the executions of an agent, a project or the tenant may use in a period, together. A model call
/// starts only when its worst case fits into every account that applies to its execution.
#[derive(SimpleObject)]
pub struct BudgetAccount {
    /// Its id.
    id: ID,
    /// To which executions it applies.
    scope: BudgetScope,
    /// The agent, the project or the tenant.
    owner_id: ID,
    /// When it begins anew.
    period: BudgetPeriod,
    /// Money in the running period.
    cost: AccountCostMeter,
    /// Input and output tokens together in the running period.
    tokens: AccountTokenMeter,
    /// Percentages of a cap at which each running execution is warned once.
    warning_levels: Vec<i32>,
    /// When the running period began; null where there is only one.
    period_started_at: Option<DateTime>,
    /// When it begins anew; null when it never does.
    resets_at: Option<DateTime>,
    /// When it was made.
    created_at: DateTime,
}

/// Money of an account.
#[derive(SimpleObject)]
pub struct AccountCostMeter {
    /// The cap of each period; null for none.
    cap_per_period: Option<Money>,
    /// The cap of the running period, top-ups included; null for none.
    cap: Option<Money>,
    /// Cost of settled calls.
    spent: Money,
    /// Held by calls that are under way.
    reserved: Money,
    /// What may still be reserved; null where there is no cap.
    remaining: Option<Money>,
}

/// Tokens of an account.
#[derive(SimpleObject)]
pub struct AccountTokenMeter {
    /// The cap of each period; null for none.
    cap_per_period: Option<BigInt>,
    /// The cap of the running period, top-ups included; null for none.
    cap: Option<BigInt>,
    /// Tokens of settled calls.
    spent: BigInt,
    /// Held by calls that are under way.
    reserved: BigInt,
    /// What may still be reserved; null where there is no cap.
    remaining: Option<BigInt>,
}

impl From<AccountState> for BudgetAccount {
    fn from(state: AccountState) -> Self {
        let AccountState { account, starts_at, ends_at, .. } = &state;
        Self {
            id: account.id.to_string().into(),
            scope: account.owner.scope().into(),
            owner_id: account.owner.to_string().into(),
            period: account.period.into(),
            cost: (&state).into(),
            tokens: (&state).into(),
            warning_levels: account.warning_levels.percentages().iter().copied().map(i32::from).collect(),
            period_started_at: ends_at.map(|_| DateTime(*starts_at)),
            resets_at: ends_at.map(DateTime),
            created_at: account.created_at.into(),
        }
    }
}

impl From<&AccountState> for AccountCostMeter {
    fn from(state: &AccountState) -> Self {
        Self {
            cap_per_period: state.account.caps.max_cost.map(Money::from),
            cap: state.caps.max_cost.map(Money::from),
            spent: state.spent.cost.into(),
            reserved: state.reserved.cost.into(),
            remaining: state.remaining().max_cost.map(Money::from),
        }
    }
}

impl From<&AccountState> for AccountTokenMeter {
    fn from(state: &AccountState) -> Self {
        Self {
            cap_per_period: state.account.caps.max_tokens.map(BigInt::from),
            cap: state.caps.max_tokens.map(BigInt::from),
            spent: state.spent.tokens.into(),
            reserved: state.reserved.tokens.into(),
            remaining: state.remaining().max_tokens.map(BigInt::from),
        }
    }
}
