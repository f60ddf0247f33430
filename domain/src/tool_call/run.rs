//! Runs the tool calls of one reply, some side by side, each to its recorded result.

use std::time::Duration;

use futures_util::stream::{self, StreamExt};

use super::browse::browse;
use super::collect::{Outputs, collect, created_event, warning_event};
use super::follow;
use super::invocation::Invocation;
use super::model::{ToolCall, ToolCallState, ToolResult};
use super::plan::{NOT_BEGUN, Planned, Todo, fill, finished_event, loop_stop};
use super::program::run_program;
use crate::agent::{Claim, Halt, NoSandbox, checkpoint};
use crate::artifact::store_text;
use crate::execution::{Change, StopCause, StopCode};
use crate::ids::ToolCallId;
use crate::loop_guard::{Outcome, with_warning};
use crate::model_call::run::millis;
use crate::resource::MIN_PIDS;
use crate::sandbox::{LiveSandbox, SandboxError};

/// Processes and threads that a browser may need.
const PIDS_OF_BROWSER: u32 = 256;
/// Calls that run side by side at most, however many processes the sandbox may have.
const MOST_AT_ONCE: u32 = 8;
/// Told where the sandbox went before the files were read.
const FILES_LOST: &str = "The sandbox was lost with what this call left in outputs/ and in the workspace.";

/// Runs the calls and returns what the model gets to read of each, in the order of the reply.
///
/// So many run side by side as the processes of the sandbox allow; the others wait in the order of the reply, before
/// anything of them begins, so that no time limit runs meanwhile.
///
/// Every call is driven to its recorded end, also when another one fails: no call future is dropped. Where the loop guard
/// ends the execution, the calls before the one that it caught run first.
pub async fn run_all(claim: &Claim, planned: Vec<Planned>) -> Result<Vec<(ToolCallId, String)>, Halt> {
    let stop = loop_stop(claim, planned.iter().map(|planned| &planned.call))?;
    let at_once = at_once(claim, &planned);
    let calls = planned.into_iter().enumerate().map(|(at, planned)| async move { (at, one(claim, planned).await) });
    let mut ended: Vec<_> = stream::iter(calls).buffer_unordered(at_once).collect().await;
    ended.sort_by_key(|(at, _)| *at);
    let mut ended: Vec<_> = ended.into_iter().map(|(_, ended)| ended).collect();
    // A call that is left open is the next claim's, and so is the execution, however the other calls ended.
    ended.sort_by_key(|ended| ended.as_ref().err().is_none_or(Halt::ends_execution));
    let results = ended.into_iter().collect::<Result<_, _>>()?;
    stop.map_or(Ok(results), Err)
}

/// How many of these calls run side by side.
fn at_once(claim: &Claim, planned: &[Planned]) -> usize {
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    let needs_browser = |planned: &Planned| matches!(planned.todo, Todo::Do(Invocation::Browse(_)));
    let share = if planned.iter().any(needs_browser) { PIDS_OF_BROWSER } else { MIN_PIDS };
    let most = pinned.map_or(MOST_AT_ONCE, |sandbox| (sandbox.profile.pids / share).clamp(1, MOST_AT_ONCE));
    usize::try_from(most).unwrap_or(1)
}

async fn one(claim: &Claim, planned: Planned) -> Result<(ToolCallId, String), Halt> {
    let Planned { call, todo, warning, arguments } = planned;
    // The model knows the call by the id that it was asked under, which is also its idempotency key.
    let asked_as = call.idempotency_key.parse().unwrap_or(call.id);
    let began = claim.ports.clock.monotonic();
    let invoked = match todo {
        Todo::Done(text) => return Ok((asked_as, text)),
        Todo::Do(invocation) => invoke(claim, &call, &invocation).await,
        Todo::Follow(command) => follow::go_on(claim, &call, command).await,
    };
    let (mut result, halt, outputs) = match invoked {
        Ok((result, outputs)) => (result, None, outputs),
        Err(Unfinished::Refused { result, halt }) => (result, halt, Outputs::default()),
        Err(Unfinished::LeftOpen(halt)) => return Err(halt),
    };
    result.take_nul_out();
    if let Some(warning) = warning {
        result.text = with_warning(&result.text, &warning);
    }
    let duration = claim.ports.clock.monotonic().saturating_sub(began);
    let code = result.error.as_ref().map(|(code, _)| code.as_str());
    let outcome = Outcome::of(result.state, code, &result.text, &arguments);
    let limit = finish(claim, call, Ended { result: &result, outcome, outputs, duration }).await?;
    match halt.or(limit) {
        Some(halt) => Err(halt),
        None => Ok((asked_as, result.text)),
    }
}

/// A call that did not get as far as a result of its own.
pub(super) enum Unfinished {
    /// It was refused, or did not begin.
    Refused {
        /// What is recorded.
        result: ToolResult,
        /// Why the execution ends.
        halt: Option<Halt>,
    },
    /// It goes on, and the next claim follows it: nothing is recorded.
    LeftOpen(Halt),
}

impl Unfinished {
    fn of(state: ToolCallState, code: &str, message: String, halt: Option<Halt>) -> Self {
        Self::Refused { result: ToolResult::ended(state, code, message), halt }
    }
}

pub(super) type Invoked = (ToolResult, Outputs);

async fn invoke(claim: &Claim, call: &ToolCall, invocation: &Invocation) -> Result<Invoked, Unfinished> {
    if let Err(halt) = claim.check_stop() {
        return Err(not_begun(halt));
    }
    if !invocation.needs_sandbox() {
        return Ok((ToolResult::succeeded("Noted."), Outputs::default()));
    }
    let (sandbox, note) = claim.sandbox.get_or_create(claim).await.map_err(no_sandbox)?;
    let invoked = match follow::long_program(claim, invocation) {
        Some((program, limit)) => follow::begin(claim, call, program, limit, &sandbox).await,
        None => Ok(invoke_in(claim, call, invocation, &sandbox).await),
    };
    claim.sandbox.release(claim);
    let (mut result, outputs) = invoked?;
    // What was redacted in pieces may make a secret as a whole.
    result.redact(&sandbox.setting.secrets.redactor());
    if let Some(note) = note {
        result.text = format!("{}\n{note}", result.text);
    }
    Ok((result, outputs))
}

async fn invoke_in(claim: &Claim, call: &ToolCall, invocation: &Invocation, sandbox: &LiveSandbox) -> Invoked {
    let done = match invocation {
        Invocation::Run(program) => run_program(claim, call, program, sandbox).await,
        Invocation::Files(tool) => (tool.run(claim, sandbox).await, Outputs::default()),
        Invocation::Browse(page) => browse(claim, call, page, sandbox).await,
        Invocation::Note => (Ok(ToolResult::succeeded("Noted.")), Outputs::default()),
    };
    conclude(claim, call, sandbox, invocation.changes_workspace(), done).await
}

/// Keeps what a call left in its sandbox.
pub(super) async fn conclude(
    claim: &Claim,
    call: &ToolCall,
    sandbox: &LiveSandbox,
    changes_workspace: bool,
    (outcome, mut outputs): (Result<ToolResult, SandboxError>, Outputs),
) -> Invoked {
    outputs.sandbox = Some(sandbox.id);
    if outcome.as_ref().is_err_and(|error| error.sandbox_lost) {
        claim.sandbox.forget(claim, sandbox.id).await;
    }
    let is_live = claim.sandbox.current().await == Some(sandbox.id);
    let not_taken = match &outcome {
        Ok(_) if is_live => collect(claim, call, sandbox, &mut outputs).await,
        Ok(_) | Err(_) => Vec::new(),
    };
    if is_live && changes_workspace {
        outputs.warnings.extend(checkpoint::take(claim, sandbox).await);
    }
    claim.sandbox.forget_spoiled(claim, sandbox.id).await;
    let failed = |error: SandboxError| ToolResult::ended(ToolCallState::Failed, error.code, error.message);
    let mut result = outcome.unwrap_or_else(failed);
    // Else the model would say that it handed over what nobody gets.
    for message in not_taken {
        result.note(&message);
    }
    if !is_live && changes_workspace {
        outputs.warnings.push(warning_event("WORKSPACE_NOT_KEPT", FILES_LOST.to_owned()));
        result.text = format!("{}\n[{FILES_LOST}]", result.text);
    }
    (result, outputs)
}

/// A call that did not begin: the next worker makes it where the execution goes on, and nobody where it ends.
pub(super) fn not_begun(halt: Halt) -> Unfinished {
    let (state, code, message) = match &halt {
        Halt::Drain | Halt::Journal(_) | Halt::Signal(StopCause::LeaseLost) => {
            (ToolCallState::Lost, NOT_BEGUN, "the worker stopped before this began")
        }
        Halt::Stop { .. } | Halt::Limit(_) | Halt::Account(_) | Halt::Signal(_) => {
            (ToolCallState::Cancelled, "CANCELLED", "the execution was stopped")
        }
    };
    Unfinished::of(state, code, message.to_owned(), Some(halt))
}

pub(super) fn no_sandbox(why: NoSandbox) -> Unfinished {
    let halt = match why {
        NoSandbox::Halt(halt) => halt,
        NoSandbox::NotMade(error) => {
            let halt = Halt::stop(StopCode::SandboxUnavailable, format!("The sandbox could not be made. {error}"));
            let message = format!("the sandbox could not be made: {}", error.message);
            return Unfinished::of(ToolCallState::Failed, error.code, message, Some(halt));
        }
        NoSandbox::QuotaReached { most } => {
            let message = format!(
                "no sandbox could be made, because the {most} that a tenant may have at one time are in use; try again \
                 later"
            );
            return Unfinished::of(ToolCallState::Failed, "SANDBOX_QUOTA_EXCEEDED", message, None);
        }
    };
    let (code, message) = match &halt {
        Halt::Stop { code: StopCode::AccessDenied, message, .. } => ("ACCESS_DENIED", message.clone()),
        Halt::Stop { message, .. } => ("SANDBOX_UNAVAILABLE", message.clone()),
        Halt::Limit(_) | Halt::Account(_) | Halt::Signal(_) | Halt::Drain | Halt::Journal(_) => return not_begun(halt),
    };
    Unfinished::of(ToolCallState::Failed, code, message, Some(halt))
}

/// How a call ended, and what it left.
struct Ended<'a> {
    result: &'a ToolResult,
    /// What the loop guard compares.
    outcome: Option<Outcome>,
    outputs: Outputs,
    duration: Duration,
}

/// Records the result, its files and their events in one commit. Names the limit when a tool failed too often.
async fn finish(claim: &Claim, mut call: ToolCall, ended: Ended<'_>) -> Result<Option<Halt>, Halt> {
    let Ended { result, outcome, outputs, duration } = ended;
    let stored = store_text(&*claim.ports.artifacts, claim.scope(), result.text.clone()).await?;
    fill(&mut call, result, stored);
    call.ended_at = Some(claim.ports.clock.now());
    // The one that it was in, also when that is given up and another one is there by now.
    call.sandbox_id = outputs.sandbox.or(call.sandbox_id).or(claim.sandbox.current().await);
    let mut rows = Vec::with_capacity(outputs.files.len());
    for (artifact, bytes) in outputs.files {
        claim.ports.artifacts.put(claim.scope(), bytes).await?;
        rows.push(artifact);
    }
    let mut too_many_errors = None;
    claim
        .record(|moving| {
            if let Some(outcome) = outcome {
                moving.guard.note(call.iteration, call.ordinal, outcome);
            }
            if result.state == ToolCallState::Failed {
                let errors = moving.tool_errors.entry(call.tool.clone()).or_default();
                *errors += 1;
                let limit = moving.limits.max_errors_per_tool;
                too_many_errors = limit.filter(|most| *errors >= *most);
            }
            let mut events = outputs.last_words;
            events.extend(rows.iter().map(created_event).chain(outputs.warnings));
            events.push(finished_event(&call, &result.text, millis(duration)));
            let mut changes: Vec<_> = rows.into_iter().chain(outputs.printed).map(Change::AddArtifact).collect();
            changes.extend(claim.sandbox.unsaved_checkpoint(call.iteration));
            changes.push(Change::SaveToolCall(Box::new(call)));
            (changes, events)
        })
        .await?;
    Ok(too_many_errors.map(|_| Halt::Limit(crate::budget::Limit::ErrorsPerTool)))
}
