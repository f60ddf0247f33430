//! Where a claim begins: what earlier attempts settled is replayed from the store, what they left open is closed.

use std::collections::BTreeMap;

use super::claim::{Claim, Pinned, PinnedModel, PinnedSandbox};
use super::commands::{apply_waiting_overrides, apply_waiting_top_ups};
use super::conversation::Conversation;
use super::halt::Halt;
use super::lent_secrets;
use super::sandbox_session::latest_checkpoint;
use super::take_over;
use crate::artifact::{StoredText, load_text};
use crate::budget::{Amount, Limit};
use crate::event::Event;
use crate::execution::{
    AgentIteration, Change, ExecutionStatus, IterationRecord, ModelPin, StopCause, StopCode, StopStep,
};
use crate::ids::VersionId;
use crate::loop_guard::Outcome;
use crate::model_call::run::{end_of, finished_event};
use crate::model_call::{CallState, FinishReason, ModelCall, ModelChoice};
use crate::money::NanoUsd;
use crate::resource::{ModelSpec, ResourceVersion, Spec};
use crate::sandbox::{Sandbox, SandboxTarget, WorkspaceCheckpoint};
use crate::tool_call::plan::{self, Planned, Todo};
use crate::tool_call::{SideEffect, ToolCall, ToolCallState, ToolResult, understand, warning_of};

/// What the loop guard had said to the model about a call, by iteration and ordinal.
type Warnings = BTreeMap<(u32, u32), String>;

/// Where the loop goes on.
pub(super) enum Position {
    /// The last iteration is complete.
    NextIteration,
    /// The open iteration has no settled model call.
    ModelCall(AgentIteration),
    /// The open iteration's reply asked for these.
    ToolCalls(Vec<Planned>),
}

impl Position {
    /// What happens there, as a StopReason names it.
    pub(super) const fn step(&self) -> StopStep {
        match self {
            Self::NextIteration => StopStep::Iteration,
            Self::ModelCall(_) => StopStep::ModelCall,
            Self::ToolCalls(_) => StopStep::ToolCalls,
        }
    }
}

/// Reads the pinned versions and the transcript, closes what older epochs left open, and finds the place to go on.
pub(super) async fn resume(claim: &Claim) -> Result<(Conversation, Position), Halt> {
    let pinned = read_pins(claim).await?;
    let conversation = Conversation::begin(&pinned.agent.instructions, &claim.execution.task);
    let _ = claim.pinned.set(pinned);
    let issued = lent_secrets::recall(claim).await?;
    let mut transcript = claim.ports.reader.transcript(claim.execution.reference()).await?;
    let last = transcript.last().map(|record| record.iteration.clone());
    claim.moving().open_iteration = last.filter(|iteration| iteration.ended_at.is_none());
    let taken = take_over::find(claim, &transcript).await?;
    let taken_away = lent_secrets::take_away(claim, &transcript, issued).await?;
    close_open_calls(claim, &mut transcript, taken.as_ref(), taken_away).await?;
    claim.sandbox.take_up(&transcript, taken).await;
    if claim.moving().progress.status == ExecutionStatus::Cancelling {
        return Err(Halt::Signal(StopCause::Cancelled));
    }
    apply_waiting_top_ups(claim).await;
    let followed: Vec<ToolCall> = transcript.iter().flat_map(open_calls).cloned().collect();
    let resumed = replay(claim, transcript, conversation).await;
    if resumed.as_ref().is_err_and(Halt::ends_execution) {
        interrupt(claim, followed).await?;
    }
    resumed
}

/// The calls that were not closed: a background command goes on.
fn open_calls(record: &IterationRecord) -> impl Iterator<Item = &ToolCall> {
    record.tool_calls.iter().filter(|call| call.state == ToolCallState::Started)
}

/// Ends calls that nobody will follow, because the execution ends.
async fn interrupt(claim: &Claim, calls: Vec<ToolCall>) -> Result<(), Halt> {
    if calls.is_empty() {
        return Ok(());
    }
    let now = claim.ports.clock.now();
    let (changes, events) = calls
        .into_iter()
        .map(|mut call| {
            let result = ToolResult::ended(ToolCallState::Interrupted, "INTERRUPTED", "stopped with the execution");
            plan::fill(&mut call, &result, StoredText::Inline(result.text.clone()));
            call.ended_at = Some(now);
            let event = plan::finished_event(&call, &result.text, 0);
            (Change::SaveToolCall(Box::new(call)), event)
        })
        .unzip();
    claim.record(|_| (changes, events)).await?;
    Ok(())
}

async fn read_pins(claim: &Claim) -> Result<Pinned, Halt> {
    let pins = &claim.execution.pins;
    let models = pins.models();
    let of_models = models.iter().flat_map(|pin| [Some(pin.model), pin.credential]);
    let others = [Some(pins.agent), pins.profile, pins.connection, pins.connection_credential];
    let wanted: Vec<VersionId> = others.into_iter().chain(of_models).flatten().collect();
    let versions = claim.ports.resources.versions(claim.scope(), &wanted).await?;
    let version = |id: Option<VersionId>| versions.iter().find(|version| Some(version.id) == id);
    let spec = |id: Option<VersionId>| version(id).map(|version| &version.spec);
    let damaged = || Halt::stop(StopCode::Internal, "A version that the execution pins is missing.");
    let Some(Spec::Agent(agent)) = spec(Some(pins.agent)) else { return Err(damaged()) };
    let model = |pin: &ModelPin| match version(Some(pin.model)) {
        Some(ResourceVersion { resource_id, spec: Spec::Model(spec), .. }) => {
            let spec = ModelSpec { price: spec.price.or(pin.price), ..spec.clone() };
            Ok(PinnedModel { id: *resource_id, spec, key: open(claim, version(pin.credential))? })
        }
        Some(_) | None => Err(damaged()),
    };
    let sandbox = match (spec(pins.profile), spec(pins.connection)) {
        (Some(Spec::SandboxProfile(profile)), Some(Spec::SandboxConnection(connection))) => Some(PinnedSandbox {
            profile: profile.clone(),
            credential_id: connection.credential_id,
            target: SandboxTarget::new(connection.clone(), open(claim, version(pins.connection_credential))?),
        }),
        _ => None,
    };
    let models = models.iter().map(model).collect::<Result<_, _>>()?;
    Ok(Pinned { agent: agent.clone(), models, sandbox })
}

fn open(claim: &Claim, credential: Option<&ResourceVersion>) -> Result<Option<String>, Halt> {
    let Some(ResourceVersion { id, spec: Spec::Credential(credential), .. }) = credential else { return Ok(None) };
    let opened = claim.ports.secrets.open(&id.to_string(), &credential.sealed);
    opened.map(Some).map_err(|error| Halt::stop(StopCode::Internal, format!("A credential cannot be used: {error}.")))
}

/// Model calls become lost and are settled at their worst case; tool calls go by what repeating them would do.
/// A call whose command goes on in the sandbox that is taken over stays open, unless the execution is being cancelled.
async fn close_open_calls(
    claim: &Claim,
    transcript: &mut [IterationRecord],
    taken: Option<&Sandbox>,
    (taken_away, mut closed): (Vec<Change>, Vec<Event>),
) -> Result<(), Halt> {
    let now = claim.ports.clock.now();
    let attempt = claim.moving().progress.attempt;
    let is_cancelling = claim.moving().progress.status == ExecutionStatus::Cancelling;
    let goes_on =
        |call: &ToolCall| !is_cancelling && taken.is_some_and(|sandbox| take_over::goes_on_in(call, sandbox.id));
    let mut changes = vec![Change::StartAttempt { number: attempt, started_at: now }];
    changes.extend(taken.map(|sandbox| Change::SaveSandbox(Box::new(sandbox.clone()))));
    changes.extend(taken_away);
    let mut supersedes_from = None;
    let mut lost = Vec::new();
    let workspace = WorkspaceCheckpoint::describe(latest_checkpoint(transcript));
    for record in transcript.iter_mut() {
        for call in record.model_calls.iter_mut().filter(|call| call.state == CallState::Started) {
            supersedes_from = supersedes_from.or(Some(call.started_sequence));
            lose_model_call(call, now);
            closed.push(finished_event(call, 0));
            changes.push(Change::SaveModelCall(Box::new(call.clone())));
            let used = Amount { cost: call.cost, tokens: call.usage.total() };
            changes.push(Change::SettleAccounts { call: call.id, used });
            lost.push(call.clone());
        }
        let is_closed = |call: &&mut ToolCall| call.state == ToolCallState::Started && !goes_on(call);
        for call in record.tool_calls.iter_mut().filter(is_closed) {
            let result = close_tool_call(call, now, &workspace);
            closed.push(plan::finished_event(call, &result.text, 0));
            changes.push(Change::SaveToolCall(Box::new(call.clone())));
        }
    }
    claim
        .record(|moving| {
            if moving.progress.status == ExecutionStatus::Queued {
                moving.progress.status = ExecutionStatus::Running;
            }
            moving.progress.started_at = moving.progress.started_at.or(Some(now));
            for call in &lost {
                let mut budget = claim.budget_of(moving);
                budget.settle_model_call(call.reserved_tokens, call.reserved, &call.usage, call.cost);
                moving.progress.used = budget.used;
            }
            let mut events = vec![Event::NodeAttemptStarted { attempt, supersedes_from }];
            events.extend(closed);
            (changes, events)
        })
        .await?;
    Ok(())
}

fn lose_model_call(call: &mut ModelCall, now: crate::clock::Timestamp) {
    call.state = CallState::Lost;
    call.estimated = true;
    call.reply_partial = true;
    // `usage` stands at the worst case since the call was reserved, and so the cost can be computed again from it.
    call.cost = call.price.map_or(NanoUsd::ZERO, |price| price.worst_case(call.usage.input, call.usage.output));
    call.ended_at = Some(now);
}

fn close_tool_call(call: &mut ToolCall, now: crate::clock::Timestamp, workspace: &str) -> ToolResult {
    let result = match call.side_effect {
        SideEffect::SandboxOnly => ToolResult::interrupted(&format!(
            "the worker was lost while this ran; it may have run in part; {workspace}"
        )),
        SideEffect::ReadOnly | SideEffect::Idempotent | SideEffect::SideEffect => {
            ToolResult::ended(ToolCallState::Lost, "LOST", "the worker was lost while this ran")
        }
    };
    plan::fill(call, &result, StoredText::Inline(result.text.clone()));
    call.ended_at = Some(now);
    result
}

async fn replay(
    claim: &Claim,
    transcript: Vec<IterationRecord>,
    mut conversation: Conversation,
) -> Result<(Conversation, Position), Halt> {
    let mut position = Position::NextIteration;
    // Only a call that had been stopped finds its end here.
    claim.moving().step = StopStep::ModelCall;
    let warnings = remember_all(claim, &transcript).await?;
    check_tool_errors(claim)?;
    for record in transcript {
        let IterationRecord { iteration, model_calls, tool_calls, workspace: _ } = record;
        let last = model_calls.into_iter().next_back();
        if let Some(call) = &last {
            let mut moving = claim.moving();
            moving.choice = moving.choice.behind(call);
        }
        position = match last {
            None => Position::ModelCall(iteration),
            Some(call) => match call.state {
                CallState::Started | CallState::Lost => Position::ModelCall(iteration),
                CallState::Cancelled => match claim.out_of_time() {
                    Some(cause) => return Err(Halt::Signal(cause)),
                    // A person's stop is in the status. This one was let go with its worker, and is made again.
                    None => Position::ModelCall(iteration),
                },
                CallState::Failed => {
                    if let Some(cause) = claim.out_of_time() {
                        return Err(Halt::Signal(cause));
                    }
                    let next = ModelChoice::after(&call, &claim.pinned()?.models).ok_or_else(|| failed(&call))?;
                    claim.moving().choice = next;
                    Position::ModelCall(iteration)
                }
                CallState::Settled => replay_reply(claim, &mut conversation, call, tool_calls, &warnings).await?,
            },
        };
        if let Position::ToolCalls(planned) = &mut position
            && planned.iter().all(|planned| matches!(planned.todo, Todo::Done(_)))
        {
            let planned = std::mem::take(planned);
            conversation.add_results(crate::tool_call::run::run_all(claim, planned).await?);
            position = Position::NextIteration;
        }
    }
    Ok((conversation, position))
}

/// The loop guard and the error limit go on where they were.
async fn remember(claim: &Claim, record: &IterationRecord, warnings: &mut Warnings) -> Result<(), Halt> {
    // What was repeated after a loss was judged once.
    let calls = latest_of_each(record.tool_calls.clone());
    let mut outcomes = Vec::with_capacity(calls.len());
    for call in &calls {
        outcomes.push(outcome_of(claim, call).await?);
    }
    let policy = claim.pinned()?.agent.loop_policy;
    let mut moving = claim.moving();
    for call in &calls {
        let verdict = moving.guard.judge(&call.as_judged(), &policy);
        if let Some(warning) = warning_of(&policy, &verdict) {
            warnings.insert((call.iteration, call.ordinal), warning);
        }
    }
    for (call, outcome) in calls.into_iter().zip(outcomes) {
        if let Some(outcome) = outcome {
            moving.guard.note(call.iteration, call.ordinal, outcome);
        }
        if call.state == ToolCallState::Failed {
            *moving.tool_errors.entry(call.tool).or_default() += 1;
        }
    }
    Ok(())
}

/// What a stored call came to, as the loop guard compares it.
async fn outcome_of(claim: &Claim, call: &ToolCall) -> Result<Option<Outcome>, Halt> {
    let (store, scope) = (&*claim.ports.artifacts, claim.scope());
    let text = load_text(store, scope, &call.result).await?;
    let arguments = match &call.error {
        Some(_) => load_text(store, scope, &call.arguments).await?,
        None => String::new(),
    };
    let code = call.error.as_ref().map(|(code, _)| code.as_str());
    Ok(Outcome::of(call.state, code, &text, &arguments))
}

/// Feeds the guard what was judged before, with the overrides between.
async fn remember_all(claim: &Claim, transcript: &[IterationRecord]) -> Result<Warnings, Halt> {
    let overrides = claim.ports.reader.loop_overrides(claim.execution.reference()).await?;
    let mut overrides = overrides.into_iter().peekable();
    let mut warnings = Warnings::new();
    for record in transcript {
        let judged = claim.moving().guard.calls();
        while let Some(past) = overrides.next_if(|past| past.after_calls <= judged) {
            claim.moving().guard.forgive(past.pardons);
        }
        remember(claim, record, &mut warnings).await?;
    }
    for past in overrides {
        claim.moving().guard.forgive(past.pardons);
    }
    claim.moving().has_replayed = true;
    apply_waiting_overrides(claim).await;
    Ok(warnings)
}

/// The worker may have been lost between the failure that was one too many and the end.
fn check_tool_errors(claim: &Claim) -> Result<(), Halt> {
    let Some(most) = claim.limits().max_errors_per_tool else { return Ok(()) };
    let is_over = claim.moving().tool_errors.values().any(|errors| *errors >= most);
    if is_over { Err(Halt::Limit(Limit::ErrorsPerTool)) } else { Ok(()) }
}

fn failed(call: &ModelCall) -> Halt {
    let (code, message) = call.error.clone().unwrap_or_default();
    Halt::stop(StopCode::ModelFailed, format!("The model call failed. {code}: {message}"))
}

async fn replay_reply(
    claim: &Claim,
    conversation: &mut Conversation,
    call: ModelCall,
    tool_calls: Vec<ToolCall>,
    warnings: &Warnings,
) -> Result<Position, Halt> {
    let text = load_text(&*claim.ports.artifacts, claim.scope(), &call.reply_text).await?;
    if !call.estimated {
        conversation.note_counted(call.usage.input);
    }
    claim.moving().answer_so_far.clone_from(&text);
    if let Some(halt) = end_of(call.finish_reason.unwrap_or(FinishReason::Unknown), &text, &call.reply_tool_calls) {
        return Err(halt);
    }
    conversation.add_assistant(text, call.reply_tool_calls);
    let tool_calls = latest_of_each(tool_calls);
    if let Some(halt) = plan::end_of(claim, &tool_calls) {
        return Err(halt);
    }
    let mut planned: Vec<Planned> = Vec::new();
    for call in tool_calls {
        let warning = warnings.get(&(call.iteration, call.ordinal)).cloned();
        planned.push(replan(claim, call, warning).await?);
    }
    Ok(Position::ToolCalls(planned))
}

/// Of each place in the reply the newest row.
fn latest_of_each(tool_calls: Vec<ToolCall>) -> Vec<ToolCall> {
    let mut latest: Vec<ToolCall> = Vec::new();
    for call in tool_calls {
        match latest.iter_mut().find(|earlier| earlier.ordinal == call.ordinal) {
            Some(earlier) if earlier.started_at <= call.started_at => *earlier = call,
            Some(_) => {}
            None => latest.push(call),
        }
    }
    latest.sort_by_key(|call| call.ordinal);
    latest
}

/// A call with a result is done. A lost one is repeated under the same key, and counts as the same call. One whose
/// command goes on is followed to its end.
async fn replan(claim: &Claim, call: ToolCall, warning: Option<String>) -> Result<Planned, Halt> {
    if let (ToolCallState::Started, Some(command)) = (call.state, call.command.clone()) {
        let arguments = load_text(&*claim.ports.artifacts, claim.scope(), &call.arguments).await?;
        return Ok(Planned { call, todo: Todo::Follow(command), warning, arguments });
    }
    if call.state != ToolCallState::Lost {
        let text = load_text(&*claim.ports.artifacts, claim.scope(), &call.result).await?;
        return Ok(Planned { call, todo: Todo::Done(text), warning: None, arguments: String::new() });
    }
    let arguments = load_text(&*claim.ports.artifacts, claim.scope(), &call.arguments).await?;
    let repeated = plan::repeat(claim, &call);
    let invocation = understand(&claim.pinned()?.agent.tools, &repeated.tool, &arguments);
    let invocation = invocation.map_err(|_| Halt::stop(StopCode::Internal, "A lost call cannot be read again."))?;
    let row = repeated.clone();
    let started = plan::started_event(&row, arguments.clone(), invocation.timeout_ms(claim));
    claim.record(|_| (vec![Change::SaveToolCall(Box::new(row))], vec![started])).await?;
    Ok(Planned { call: repeated, todo: Todo::Do(invocation), warning, arguments })
}
