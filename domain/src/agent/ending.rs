//! The end of a claim: the sandbox goes, one StopReason is committed, or the execution is given back.

use super::account_ending::account_ending;
use super::claim::{Claim, Moving};
use super::halt::Halt;
use super::limit_ending::limit_ending;
use super::run::Ended;
use crate::budget::{Budget, Limit, LimitOutcome};
use crate::event::{Event, JournalError};
use crate::execution::{Change, ErrorItem, ExecutionStatus, StopCause, StopCode, StopReason, StopStep};
use crate::sandbox::Sandbox;

/// Ends the claim as the loop left it.
pub(super) async fn end(claim: &Claim, halt: Halt) -> Ended {
    // What is abandoned is the next claim's, with the sandbox.
    let sandbox =
        if halt.ends_execution() || matches!(halt, Halt::Drain) { claim.sandbox.remove(claim).await } else { None };
    let outcome = match halt {
        Halt::Stop { code, message, answer } => {
            finish(claim, sandbox, Ending { answer, ..Ending::new(code, message) }).await
        }
        Halt::Limit(limit) => finish(claim, sandbox, limit_ending(claim, limit)).await,
        Halt::Account(refused) => finish(claim, sandbox, account_ending(claim, refused)).await,
        Halt::Signal(StopCause::Cancelled) => finish(claim, sandbox, cancelled(claim)).await,
        Halt::Signal(StopCause::Deadline) => finish(claim, sandbox, limit_ending(claim, Limit::Deadline)).await,
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

/// What is committed about the end.
pub(super) struct Ending {
    pub code: StopCode,
    pub message: String,
    /// The limit and the step that it ended.
    pub limit: Option<(String, StopStep)>,
    pub outcome: LimitOutcome,
    pub answer: Option<String>,
}

impl Ending {
    pub(super) const fn new(code: StopCode, message: String) -> Self {
        Self { code, message, limit: None, outcome: LimitOutcome::Stop, answer: None }
    }

    const fn status(&self) -> ExecutionStatus {
        match self.outcome {
            LimitOutcome::Stop => self.code.status(),
            LimitOutcome::ErrorItem => ExecutionStatus::Succeeded,
        }
    }
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
            let status = ending.status();
            let (limit, step) = ending.limit.unzip();
            let reason = StopReason {
                code: ending.code,
                message: ending.message,
                limit,
                iteration: Some(moving.progress.iteration).filter(|number| *number > 0),
                step,
            };
            let so_far = Some(std::mem::take(&mut moving.answer_so_far)).filter(|text| !text.is_empty());
            let answer = ending.answer.or(so_far);
            let progress = &mut moving.progress;
            progress.status = status;
            progress.stop_reason = Some(reason.clone());
            progress.answer.clone_from(&answer);
            progress.ended_at = Some(now);
            progress.releases_lease = true;
            events.push(Event::ExecutionFinished {
                status,
                error_item: ErrorItem::of(status, &reason),
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
    Ending::new(StopCode::Cancelled, format!("Cancelled. ${spent} was charged; what was received so far is kept."))
}
