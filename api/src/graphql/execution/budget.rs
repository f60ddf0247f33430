//! Limits and what is used of them, as meters.

use async_graphql::{Enum, ID, SimpleObject};
use domain::budget::{self, AccountState, Budget};
use domain::execution::Execution;

use crate::graphql::money::Money;
use crate::graphql::scalar::BigInt;

/// What an execution used, reserved, and may use.
#[derive(SimpleObject)]
pub struct ExecutionBudget {
    /// Money.
    cost: CostMeter,
    /// Input and output tokens together.
    tokens: CountMeter,
    /// Iterations.
    iterations: CountMeter,
    /// Model calls.
    model_calls: CountMeter,
    /// Tool calls.
    tool_calls: CountMeter,
    /// Milliseconds from the claim on, not counting time spent waiting.
    active_time: CountMeter,
}

/// Money against its limit.
#[derive(SimpleObject)]
pub struct CostMeter {
    /// Cost of settled calls.
    spent: Money,
    /// Held by calls that are under way.
    reserved: Money,
    /// The limit; null for none.
    limit: Option<Money>,
}

/// A count against its limit.
#[derive(SimpleObject)]
pub struct CountMeter {
    /// Used.
    used: BigInt,
    /// Held by calls that are under way.
    reserved: BigInt,
    /// The limit; null for none.
    limit: Option<BigInt>,
}

impl CountMeter {
    fn new(used: u64, reserved: u64, limit: Option<u64>) -> Self {
        Self { used: used.into(), reserved: reserved.into(), limit: limit.map(BigInt::from) }
    }
}

impl From<Budget> for ExecutionBudget {
    fn from(Budget { limits, used }: Budget) -> Self {
        let count = |used: u32, limit: Option<u32>| CountMeter::new(used.into(), 0, limit.map(u64::from));
        Self {
            cost: CostMeter {
                spent: used.spent.into(),
                reserved: used.reserved.into(),
                limit: limits.max_cost.map(Money::from),
            },
            tokens: CountMeter::new(used.tokens, used.reserved_tokens, limits.max_tokens),
            iterations: count(used.iterations, limits.max_iterations),
            model_calls: count(used.model_calls, limits.max_model_calls),
            tool_calls: count(used.tool_calls, limits.max_tool_calls),
            active_time: CountMeter::new(used.active_time_us / 1000, 0, limits.max_active_time_ms),
        }
    }
}

/// One limit that holds for an execution.
#[derive(SimpleObject)]
pub struct EffectiveLimit {
    /// Its name, as in Limits: maxTokens, maxCost, ...
    name: String,
    /// The bound; money in billionths of a US dollar.
    value: BigInt,
    /// Who set it.
    source: LimitSource,
    /// The budget account; null for the execution's own limits.
    account_id: Option<ID>,
}

/// Who set a limit. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::LimitSource")]
pub enum LimitSource {
    /// Nobody: it holds where nobody sets one, so that nothing runs for ever.
    Default,
    /// A budget account of the tenant.
    Tenant,
    /// A budget account of the project.
    Project,
    /// The agent's version, or a budget account of the agent.
    Agent,
    /// The start call.
    Start,
}

impl EffectiveLimit {
    /// The execution's own limits, then those of the accounts in their running periods.
    pub fn all(execution: &Execution, accounts: &[AccountState]) -> Vec<Self> {
        let own = execution.limits.values().into_iter().filter_map(|(limit, name, value)| {
            let source = execution.limit_sources.of(limit).unwrap_or(budget::LimitSource::Default);
            Some(Self { name: name.to_owned(), value: value?.into(), source: source.into(), account_id: None })
        });
        let of_account = |state: &AccountState| {
            let source = match state.account.owner.scope() {
                budget::AccountScope::Agent => LimitSource::Agent,
                budget::AccountScope::Project => LimitSource::Project,
                budget::AccountScope::Tenant => LimitSource::Tenant,
            };
            let id = state.account.id.to_string();
            let caps = [
                ("maxCost", state.caps.max_cost.map(|cap| BigInt::from(cap.0))),
                ("maxTokens", state.caps.max_tokens.map(BigInt::from)),
            ];
            caps.into_iter().filter_map(move |(name, value)| {
                Some(Self { name: name.to_owned(), value: value?, source, account_id: Some(id.clone().into()) })
            })
        };
        own.chain(accounts.iter().flat_map(of_account)).collect()
    }
}
