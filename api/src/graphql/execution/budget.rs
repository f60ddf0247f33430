//! Limits and what is used of them, as meters.

use async_graphql::SimpleObject;
use domain::budget::Budget;

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
