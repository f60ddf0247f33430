//! The end of a claim: the sandbox goes, one StopReason is committed, or the execution is given back.

use super::claim::{Claim, Moving};
use super::halt::Halt;
use super::run::Ended;
use crate::budget::{AccountState, Budget, Limit, Refused};
use crate::event::{Event, JournalError};
use crate::execution::{Change, StopCause, StopCode, StopReason};
use crate::sandbox::Sandbox;

/// Ends the claim as the loop left it.
pub(super) async fn end(claim: &Claim, halt: Halt) -> Ended {
    let sandbox = claim.sandbox.remove(claim).await;
    let outcome = match halt {
        Halt::Stop { code, message, answer } => {
            finish(claim, sandbox, Ending { code, message, limit: None, answer }).await
        }
        Halt::Limit(limit) => finish(claim, sandbox, limit_ending(claim, limit)).await,
        Halt::Account(refused) => finish(claim, sandbox, account_ending(claim, refused)).await,
        Halt::Signal(StopCause::Cancelled) => finish(claim, sandbox, cancelled(claim)).await,
        Halt::Signal(StopCause::Deadline) => finish(claim, sandbox, deadline(claim)).await,
        Halt::Signal(StopCause::ActiveTime) => finish(claim, sandbox, limit_ending(claim, Limit::ActiveTime)).await,
        Halt::Drain => give_back(claim, sandbox).await,
        Halt::Signal(StopCause::LeaseLost) => Err(JournalError::LeaseLost),
        Halt::Journal(error) => Err(error),
    };
    match outcome {
        Ok(ended) => ended,
        Err(error) => {
            tracing::warn!(execution.id = %claim.execution.id, error = &error as &dyn std::error::Error, "execution was abandoned");
            Ended::Abandoned
        }
    }
}

struct Ending {
    code: StopCode,
    message: String,
    limit: Option<String>,
    answer: Option<String>,
}

async fn finish(claim: &Claim, sandbox: Option<Sandbox>, ending: Ending) -> Result<Ended, JournalError> {
    let now = claim.ports.clock.now();
    claim
        .record(|moving| {
            let mut changes: Vec<_> = sandbox.map(|row| Change::SaveSandbox(Box::new(row))).into_iter().collect();
            let mut events = Vec::new();
            if let Some(mut open) = moving.open_iteration.take() {
                open.ended_at = Some(now);
                events.push(Event::IterationFinished { iteration: open.number });
                changes.push(Change::SaveIteration(open));
            }
            let reason = StopReason {
                code: ending.code,
                message: ending.message,
                limit: ending.limit,
                iteration: Some(moving.progress.iteration).filter(|number| *number > 0),
            };
            let so_far = Some(std::mem::take(&mut moving.answer_so_far)).filter(|text| !text.is_empty());
            let answer = ending.answer.or(so_far);
            let progress = &mut moving.progress;
            progress.status = reason.code.status();
            progress.stop_reason = Some(reason.clone());
            progress.answer.clone_from(&answer);
            progress.ended_at = Some(now);
            progress.releases_lease = true;
            events.push(Event::ExecutionFinished {
                status: progress.status,
                stop_reason: reason,
                answer: answer.filter(|_| ending.code == StopCode::FinalAnswer),
                budget: final_budget(claim, moving),
            });
            (changes, events)
        })
        .await?;
    Ok(Ended::Finished)
}

fn final_budget(claim: &Claim, moving: &Moving) -> Budget {
    let budget = claim.budget_of(moving);
    debug_assert_eq!(budget.used.reserved_tokens, 0, "a reservation is left at the end");
    budget
}

async fn give_back(claim: &Claim, sandbox: Option<Sandbox>) -> Result<Ended, JournalError> {
    claim
        .record(|moving| {
            moving.progress.releases_lease = true;
            (sandbox.map(|row| Change::SaveSandbox(Box::new(row))).into_iter().collect(), Vec::new())
        })
        .await?;
    Ok(Ended::GivenBack)
}

fn cancelled(claim: &Claim) -> Ending {
    let spent = claim.moving().progress.used.spent.to_usd_text();
    Ending {
        code: StopCode::Cancelled,
        message: format!("Cancelled. ${spent} was charged; what was received so far is kept."),
        limit: None,
        answer: None,
    }
}

fn deadline(claim: &Claim) -> Ending {
    let at = claim.execution.deadline_at.map(|deadline| deadline.as_micros().to_string());
    Ending {
        code: StopCode::DeadlineExceeded,
        message: "The deadline passed; what was received so far is kept.".to_owned(),
        limit: at.map(|micros| format!("deadlineAt {micros} µs")),
        answer: None,
    }
}

/// The account is named by whose it is and by its period, so that a person knows where to look.
fn account_ending(claim: &Claim, refused: Refused) -> Ending {
    let (refusal, why) = match refused {
        Refused::Own(limit) => return limit_ending(claim, limit),
        Refused::Account(refusal) => (refusal, "and the next call might go over it"),
        Refused::Busy(refusal) => (refusal, "and other calls hold too much of the rest"),
        Refused::NoPrice(refusal) => return no_price(&refusal.state),
    };
    let AccountState { account, caps, spent, reserved, .. } = &*refusal.state;
    let whose = account.owner.scope().noun();
    let each = account.period.each();
    let (code, name, most, used, held) = if refusal.limit == Limit::Tokens {
        let most = caps.max_tokens.unwrap_or_default().to_string();
        (StopCode::TokenLimit, "maxTokens", most, spent.tokens.to_string(), reserved.tokens.to_string())
    } else {
        let most = caps.max_cost.unwrap_or_default().to_usd_text();
        (StopCode::CostLimit, "maxCostUsd", most, spent.cost.to_usd_text(), reserved.cost.to_usd_text())
    };
    Ending {
        code,
        message: format!(
            "Stopped by a budget account of the {whose}: {name} is {most}{each}, {used} is used, {held} is held by calls \
             under way, {why}. Top the account up, or start again when its period is over."
        ),
        limit: Some(format!("{whose} {name} {most}{each}")),
        answer: None,
    }
}

fn no_price(state: &AccountState) -> Ending {
    let whose = state.account.owner.scope().noun();
    Ending {
        code: StopCode::PriceUnknown,
        message: format!(
            "A budget account of the {whose} limits money, and the model has no price: publish a version of the model \
             with a price, or limit the account by tokens alone."
        ),
        limit: None,
        answer: None,
    }
}

fn limit_ending(claim: &Claim, limit: Limit) -> Ending {
    let limits = claim.limits();
    let used = claim.moving().progress.used;
    let number = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let money =
        |value: Option<crate::money::NanoUsd>| value.map_or_else(|| "?".to_owned(), |value| value.to_usd_text());
    let (code, name, most, so_far) = match limit {
        Limit::Iterations => (
            StopCode::IterationLimit,
            "maxIterations",
            number(limits.max_iterations.map(u64::from)),
            used.iterations.to_string(),
        ),
        Limit::ModelCalls => (
            StopCode::ModelCallLimit,
            "maxModelCalls",
            number(limits.max_model_calls.map(u64::from)),
            used.model_calls.to_string(),
        ),
        Limit::ToolCalls => (
            StopCode::ToolCallLimit,
            "maxToolCalls",
            number(limits.max_tool_calls.map(u64::from)),
            used.tool_calls.to_string(),
        ),
        Limit::Tokens => (StopCode::TokenLimit, "maxTokens", number(limits.max_tokens), used.tokens.to_string()),
        Limit::Cost => (StopCode::CostLimit, "maxCostUsd", money(limits.max_cost), used.spent.to_usd_text()),
        Limit::ActiveTime => {
            let so_far = (used.active_time_us / 1000).to_string();
            (StopCode::ActiveTimeLimit, "maxActiveTimeMs", number(limits.max_active_time_ms), so_far)
        }
        Limit::ErrorsPerTool => {
            let most = number(limits.max_errors_per_tool.map(u64::from));
            (StopCode::ToolErrorLimit, "maxErrorsPerTool", most.clone(), most)
        }
    };
    Ending {
        code,
        message: format!("Stopped by a limit: {name} is {most}, {so_far} is used, and the next call might go over it."),
        limit: Some(format!("{name} {most}")),
        answer: None,
    }
}
