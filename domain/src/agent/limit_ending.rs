//! How a limit ends an execution: which one it was, at which step, and what its outcome is.

use super::claim::Claim;
use super::ending::Ending;
use crate::budget::{Limit, Limits, Used};
use crate::clock::Timestamp;
use crate::execution::{StopCode, StopStep};
use crate::money::NanoUsd;

/// The end that this limit brings.
pub(super) fn limit_ending(claim: &Claim, limit: Limit) -> Ending {
    let limits = claim.limits();
    let (used, reached, iteration) = {
        let moving = claim.moving();
        (claim.budget_of(&moving).used, moving.step, moving.progress.iteration)
    };
    let step = step_of(limit, reached);
    let hit = Hit::of(limit, &limits, &used, claim.execution.deadline_at);
    let place = match (step, iteration) {
        (StopStep::Iteration, 0) => "before the first iteration".to_owned(),
        (StopStep::Iteration, last) => format!("after iteration {last}"),
        (StopStep::ModelCall, number) => format!("at the model call of iteration {number}"),
        (StopStep::ToolCalls, number) => format!("at the tool calls of iteration {number}"),
    };
    Ending {
        code: hit.code,
        message: format!("Stopped by a limit {place}: {} is {}, {}.", hit.name, hit.most, hit.why),
        limit: Some((format!("{} {}", hit.name, hit.most), step)),
        outcome: limits.on_limit.of(limit),
        answer: None,
    }
}

/// A limit of calls names the call that did not start; only time can run out anywhere.
const fn step_of(limit: Limit, reached: StopStep) -> StopStep {
    match limit {
        Limit::Iterations => StopStep::Iteration,
        Limit::ModelCalls | Limit::Tokens | Limit::Cost => StopStep::ModelCall,
        Limit::ToolCalls | Limit::ErrorsPerTool => StopStep::ToolCalls,
        Limit::ActiveTime | Limit::Deadline => reached,
    }
}

/// A limit that was hit, in words.
struct Hit {
    code: StopCode,
    /// The field of the limits.
    name: &'static str,
    most: String,
    why: String,
}

impl Hit {
    fn of(limit: Limit, limits: &Limits, used: &Used, deadline_at: Option<Timestamp>) -> Self {
        let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
        let count = |value: Option<u32>| number(value.map(u64::from));
        let is_used = |so_far: String| format!("{so_far} of it is used, and the next call might go over it");
        let (code, name, most, why) = match limit {
            Limit::Iterations => (
                StopCode::IterationLimit,
                "maxIterations",
                count(limits.max_iterations),
                "and the model asked for another one".to_owned(),
            ),
            Limit::ModelCalls => (
                StopCode::ModelCallLimit,
                "maxModelCalls",
                count(limits.max_model_calls),
                format!("and {} were made", used.model_calls),
            ),
            Limit::ToolCalls => (
                StopCode::ToolCallLimit,
                "maxToolCalls",
                count(limits.max_tool_calls),
                format!("and {} were made", used.tool_calls),
            ),
            Limit::Tokens => {
                (StopCode::TokenLimit, "maxTokens", number(limits.max_tokens), is_used(used.tokens.to_string()))
            }
            Limit::Cost => {
                let most = limits.max_cost.map_or_else(|| "?".to_owned(), NanoUsd::to_usd_text);
                (StopCode::CostLimit, "maxCostUsd", most, is_used(used.spent.to_usd_text()))
            }
            Limit::ActiveTime => (
                StopCode::ActiveTimeLimit,
                "maxActiveTimeMs",
                number(limits.max_active_time_ms),
                format!("and {} ms are used; what was received so far is kept", used.active_time_us / 1000),
            ),
            Limit::ErrorsPerTool => (
                StopCode::ToolErrorLimit,
                "maxErrorsPerTool",
                count(limits.max_errors_per_tool),
                "and a tool failed as often".to_owned(),
            ),
            Limit::Deadline => (
                StopCode::DeadlineExceeded,
                "deadlineAt",
                deadline_at.and_then(Timestamp::to_rfc3339).unwrap_or_else(|| "?".to_owned()),
                "and it has passed; what was received so far is kept".to_owned(),
            ),
        };
        Self { code, name, most, why }
    }
}
