//! Limits as the API shows and reads them, and what each does when it is hit.

use async_graphql::{Enum, InputObject, SimpleObject};
use domain::budget::{self, Limit, LimitOutcomes};

use crate::graphql::money::{Money, usd};
use crate::graphql::scalar::{BigInt, Decimal, int};
use crate::graphql::user_error::Faults;

/// Upper bounds of an execution; null means no bound.
#[derive(SimpleObject)]
pub struct Limits {
    /// Agent iterations.
    max_iterations: Option<i32>,
    /// Model calls.
    max_model_calls: Option<i32>,
    /// Tool calls.
    max_tool_calls: Option<i32>,
    /// Input and output tokens together.
    max_tokens: Option<BigInt>,
    /// Money.
    max_cost: Option<Money>,
    /// Milliseconds of active time.
    max_active_time_ms: Option<BigInt>,
    /// The same tool may fail this often.
    max_errors_per_tool: Option<i32>,
    /// What a limit does when it is hit, where that was chosen; the others stop the execution.
    on_limit: Vec<OnLimit>,
}

impl From<budget::Limits> for Limits {
    fn from(limits: budget::Limits) -> Self {
        Self {
            max_iterations: limits.max_iterations.map(int),
            max_model_calls: limits.max_model_calls.map(int),
            max_tool_calls: limits.max_tool_calls.map(int),
            max_tokens: limits.max_tokens.map(BigInt::from),
            max_cost: limits.max_cost.map(Money::from),
            max_active_time_ms: limits.max_active_time_ms.map(BigInt::from),
            max_errors_per_tool: limits.max_errors_per_tool.map(int),
            on_limit: limits.on_limit.chosen().map(OnLimit::from).collect(),
        }
    }
}

/// Upper bounds; each is greater than 0, and what is left out has no bound.
#[derive(Debug, Clone, InputObject)]
pub struct LimitsInput {
    /// Agent iterations.
    max_iterations: Option<i32>,
    /// Model calls.
    max_model_calls: Option<i32>,
    /// Tool calls.
    max_tool_calls: Option<i32>,
    /// Input and output tokens together.
    max_tokens: Option<BigInt>,
    /// US dollars.
    max_cost_usd: Option<Decimal>,
    /// Milliseconds of active time.
    max_active_time_ms: Option<BigInt>,
    /// The same tool may fail this often.
    max_errors_per_tool: Option<i32>,
    /// What a limit does when it is hit; one that is not named stops the execution. What the start call says holds before
    /// what the agent says.
    on_limit: Option<Vec<OnLimitInput>>,
}

impl LimitsInput {
    /// Reads the limits, which stand at `base` in the input. What is not greater than 0 becomes 0, and the domain's rule
    /// reports it.
    pub fn read(&self, base: &[&str], faults: &mut Faults) -> budget::Limits {
        let count = |value: i32| u32::try_from(value).unwrap_or(0);
        budget::Limits {
            max_iterations: self.max_iterations.map(count),
            max_model_calls: self.max_model_calls.map(count),
            max_tool_calls: self.max_tool_calls.map(count),
            max_tokens: self.max_tokens.map(BigInt::to_u64_or_zero),
            max_cost: self.max_cost_usd.as_ref().map(|text| usd(text, base, "maxCostUsd", faults)),
            max_active_time_ms: self.max_active_time_ms.map(BigInt::to_u64_or_zero),
            max_errors_per_tool: self.max_errors_per_tool.map(count),
            on_limit: self.outcomes(base, faults),
        }
    }

    fn outcomes(&self, base: &[&str], faults: &mut Faults) -> LimitOutcomes {
        let mut outcomes = LimitOutcomes::NONE;
        for (index, OnLimitInput { limit, outcome }) in self.on_limit.iter().flatten().enumerate() {
            let limit = Limit::from(*limit);
            if outcomes.chosen().any(|(chosen, _)| chosen == limit) {
                let place = index.to_string();
                let path: Vec<_> = base.iter().copied().chain(["onLimit", &place, "limit"]).collect();
                faults.add(&path, "DUPLICATE", "is named twice; keep one outcome for it");
            }
            outcomes = outcomes.with(limit, (*outcome).into());
        }
        outcomes
    }
}

/// What a limit does when it is hit.
#[derive(SimpleObject)]
pub struct OnLimit {
    /// The limit.
    limit: LimitName,
    /// What it does.
    outcome: LimitOutcome,
}

impl From<(Limit, budget::LimitOutcome)> for OnLimit {
    fn from((limit, outcome): (Limit, budget::LimitOutcome)) -> Self {
        Self { limit: limit.into(), outcome: outcome.into() }
    }
}

/// What a limit is to do when it is hit.
#[derive(Debug, Clone, Copy, InputObject)]
pub struct OnLimitInput {
    /// The limit.
    limit: LimitName,
    /// What it does.
    outcome: LimitOutcome,
}

/// The limits there are. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::Limit")]
pub enum LimitName {
    /// maxIterations.
    Iterations,
    /// maxModelCalls.
    ModelCalls,
    /// maxToolCalls.
    ToolCalls,
    /// maxTokens.
    Tokens,
    /// maxCostUsd.
    Cost,
    /// maxActiveTimeMs.
    ActiveTime,
    /// maxErrorsPerTool.
    ErrorsPerTool,
    /// deadlineAt of the start call.
    Deadline,
}

/// What a limit that is hit does. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "budget::LimitOutcome")]
pub enum LimitOutcome {
    /// The execution ends as STOPPED.
    Stop,
    /// The execution ends as SUCCEEDED and hands on an error item, so that its caller goes on.
    ErrorItem,
}
