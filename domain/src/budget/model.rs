//! Limits, what is used of them, and which one was hit.

use serde::{Deserialize, Serialize};

use super::account::{Amount, Caps};
use super::outcome::LimitOutcomes;
use crate::error::InvalidInput;
use crate::money::NanoUsd;

/// Upper bounds; None means no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Agent iterations.
    pub max_iterations: Option<u32>,
    /// Model calls.
    pub max_model_calls: Option<u32>,
    /// Tool calls.
    pub max_tool_calls: Option<u32>,
    /// Input and output tokens together.
    pub max_tokens: Option<u64>,
    /// Money.
    pub max_cost: Option<NanoUsd>,
    /// Milliseconds from the claim on, not counting time in `WAITING` or `QUEUED`.
    pub max_active_time_ms: Option<u64>,
    /// How often the same tool may fail.
    pub max_errors_per_tool: Option<u32>,
    /// What each limit does when it is hit, the deadline included.
    #[serde(skip_serializing_if = "LimitOutcomes::is_empty")]
    pub on_limit: LimitOutcomes,
}

impl Limits {
    /// Of each limit the tighter one. Outcomes are no bounds: those that are chosen here hold before those of `other`.
    pub fn tightest(self, other: Self) -> Self {
        Self {
            max_iterations: tighter(self.max_iterations, other.max_iterations),
            max_model_calls: tighter(self.max_model_calls, other.max_model_calls),
            max_tool_calls: tighter(self.max_tool_calls, other.max_tool_calls),
            max_tokens: tighter(self.max_tokens, other.max_tokens),
            max_cost: tighter(self.max_cost, other.max_cost),
            max_active_time_ms: tighter(self.max_active_time_ms, other.max_active_time_ms),
            max_errors_per_tool: tighter(self.max_errors_per_tool, other.max_errors_per_tool),
            on_limit: self.on_limit.or(other.on_limit),
        }
    }

    /// The limits that are set, and where one is not, the one of `defaults`.
    pub fn or(self, defaults: Self) -> Self {
        Self {
            max_iterations: self.max_iterations.or(defaults.max_iterations),
            max_model_calls: self.max_model_calls.or(defaults.max_model_calls),
            max_tool_calls: self.max_tool_calls.or(defaults.max_tool_calls),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            max_cost: self.max_cost.or(defaults.max_cost),
            max_active_time_ms: self.max_active_time_ms.or(defaults.max_active_time_ms),
            max_errors_per_tool: self.max_errors_per_tool.or(defaults.max_errors_per_tool),
            on_limit: self.on_limit.or(defaults.on_limit),
        }
    }

    /// Each bound with its name in the API; money in nano-USD.
    pub fn values(&self) -> [(Limit, &'static str, Option<u64>); 7] {
        [
            (Limit::Iterations, "maxIterations", self.max_iterations.map(u64::from)),
            (Limit::ModelCalls, "maxModelCalls", self.max_model_calls.map(u64::from)),
            (Limit::ToolCalls, "maxToolCalls", self.max_tool_calls.map(u64::from)),
            (Limit::Tokens, "maxTokens", self.max_tokens),
            (Limit::Cost, "maxCost", self.max_cost.map(|cost| u64::try_from(cost.0).unwrap_or(0))),
            (Limit::ActiveTime, "maxActiveTimeMs", self.max_active_time_ms),
            (Limit::ErrorsPerTool, "maxErrorsPerTool", self.max_errors_per_tool.map(u64::from)),
        ]
    }

    /// The limits of money and tokens raised by an amount, where they are set.
    #[must_use]
    pub fn topped_up(self, amount: Amount) -> Self {
        let caps = Caps { max_cost: self.max_cost, max_tokens: self.max_tokens }.raised_by(amount);
        Self { max_cost: caps.max_cost, max_tokens: caps.max_tokens, ..self }
    }

    /// Every limit that is set must be at least 1. `path` is where the limits stand in the caller's input.
    pub fn validate(&self, path: &[&str]) -> Vec<InvalidInput> {
        self.values()
            .into_iter()
            .filter(|(_, _, value)| value.is_some_and(|value| value < 1))
            // What callers give in dollars is named so.
            .map(|(limit, name, _)| if limit == Limit::Cost { "maxCostUsd" } else { name })
            .map(|field| InvalidInput {
                path: path.iter().chain([&field]).map(ToString::to_string).collect(),
                code: "OUT_OF_RANGE",
                message: "must be greater than 0; leave it out for no limit".to_owned(),
            })
            .collect()
    }
}

fn tighter<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What an execution has used and reserved so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Used {
    /// Iterations opened.
    pub iterations: u32,
    /// Model calls started.
    pub model_calls: u32,
    /// Tool calls started.
    pub tool_calls: u32,
    /// Tokens of settled calls.
    pub tokens: u64,
    /// Tokens reserved by calls that are under way.
    pub reserved_tokens: u64,
    /// Cost of settled calls.
    pub spent: NanoUsd,
    /// Money reserved by calls that are under way.
    pub reserved: NanoUsd,
    /// Active time in microseconds.
    pub active_time_us: u64,
}

/// Limits together with what is used of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// The effective limits.
    pub limits: Limits,
    /// What is used.
    pub used: Used,
}

/// A limit, named when it was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Limit {
    /// Of iterations.
    Iterations,
    /// Of model calls.
    ModelCalls,
    /// Of tool calls.
    ToolCalls,
    /// Of tokens.
    Tokens,
    /// Of money.
    Cost,
    /// Of active time.
    ActiveTime,
    /// Of errors of one tool.
    ErrorsPerTool,
    /// The moment at which the execution must have ended.
    Deadline,
}

impl Limit {
    /// All of them, in the order of the variants.
    pub const ALL: [Self; 8] = [
        Self::Iterations,
        Self::ModelCalls,
        Self::ToolCalls,
        Self::Tokens,
        Self::Cost,
        Self::ActiveTime,
        Self::ErrorsPerTool,
        Self::Deadline,
    ];
}
