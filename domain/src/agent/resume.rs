//! Where a claim begins: what earlier attempts settled is replayed from the store, what they left open is closed.

use super::claim::{Claim, Pinned, PinnedSandbox};
use super::conversation::Conversation;
use super::halt::Halt;
use crate::artifact::load_text;
use crate::event::Event;
use crate::execution::{AgentIteration, Change, ExecutionStatus, IterationRecord, StopCause, StopCode};
use crate::ids::VersionId;
use crate::model_call::run::finished_event;
use crate::model_call::{CallState, ModelCall};
use crate::money::NanoUsd;
use crate::resource::{ResourceVersion, Spec};
use crate::sandbox::SandboxTarget;
use crate::tool_call::plan::{self, Planned, Todo};
use crate::tool_call::{SideEffect, ToolCall, ToolCallState, ToolResult};

/// Where the loop goes on.
pub(super) enum Position {
    /// The last iteration is complete.
    NextIteration,
    /// The open iteration has no settled model call.
    ModelCall(AgentIteration),
    /// The open iteration's reply asked for these.
    ToolCalls(Vec<Planned>),
}

/// Reads the pinned versions and the transcript, closes what older epochs left open, and finds the place to go on.
pub(super) async fn resume(claim: &Claim) -> Result<(Conversation, Position), Halt> {
    let pinned = read_pins(claim).await?;
    let conversation = Conversation::begin(&pinned.agent.instructions, &claim.execution.task);
    let _ = claim.pinned.set(pinned);
    let mut transcript = claim.ports.reader.transcript(claim.execution.reference()).await?;
    close_open_calls(claim, &mut transcript).await?;
    if claim.moving().progress.status == ExecutionStatus::Cancelling {
        return Err(Halt::Signal(StopCause::Cancelled));
    }
    replay(claim, transcript, conversation).await
}

async fn read_pins(claim: &Claim) -> Result<Pinned, Halt> {
    let pins = claim.execution.pins;
    let wanted: Vec<VersionId> = [
        Some(pins.agent),
        Some(pins.model),
        pins.model_credential,
        pins.profile,
        pins.connection,
        pins.connection_credential,
    ]
    .into_iter()
    .flatten()
    .collect();
    let versions = claim.ports.resources.versions(claim.scope(), &wanted).await?;
    let spec = |id: Option<VersionId>| versions.iter().find(|version| Some(version.id) == id);
    let damaged = || Halt::stop(StopCode::Internal, "A version that the execution pins is missing.");
    let (Some(Spec::Agent(agent)), Some(Spec::Model(model))) =
        (spec(Some(pins.agent)).map(|v| &v.spec), spec(Some(pins.model)).map(|v| &v.spec))
    else {
        return Err(damaged());
    };
    let sandbox = match (spec(pins.profile).map(|v| &v.spec), spec(pins.connection).map(|v| &v.spec)) {
        (Some(Spec::SandboxProfile(profile)), Some(Spec::SandboxConnection(connection))) => Some(PinnedSandbox {
            profile: profile.clone(),
            credential_id: connection.credential_id,
            target: SandboxTarget {
                tier: connection.tier,
                base_url: connection.base_url.clone(),
                api_key: open(claim, spec(pins.connection_credential))?,
                allow_plaintext: connection.allow_plaintext,
                endpoint_hosts: connection.endpoint_hosts.clone(),
            },
        }),
        _ => None,
    };
    let model_key = open(claim, spec(pins.model_credential))?;
    Ok(Pinned { agent: agent.clone(), model: model.clone(), model_key, sandbox })
}

fn open(claim: &Claim, credential: Option<&ResourceVersion>) -> Result<Option<String>, Halt> {
    let Some(ResourceVersion { id, spec: Spec::Credential(credential), .. }) = credential else { return Ok(None) };
    let opened = claim.ports.secrets.open(&id.to_string(), &credential.sealed);
    opened.map(Some).map_err(|error| Halt::stop(StopCode::Internal, format!("A credential cannot be used: {error}.")))
}

/// Model calls become lost and are settled at their worst case; tool calls go by what repeating them would do.
async fn close_open_calls(claim: &Claim, transcript: &mut [IterationRecord]) -> Result<(), Halt> {
    let now = claim.ports.clock.now();
    let attempt = claim.moving().progress.attempt;
    let mut changes = vec![Change::StartAttempt { number: attempt, started_at: now }];
    let mut closed = Vec::new();
    let mut supersedes_from = None;
    let mut lost = Vec::new();
    for record in transcript.iter_mut() {
        for call in record.model_calls.iter_mut().filter(|call| call.state == CallState::Started) {
            supersedes_from = supersedes_from.or(Some(call.started_sequence));
            lose_model_call(call, now);
            closed.push(finished_event(call, 0));
            changes.push(Change::SaveModelCall(Box::new(call.clone())));
            lost.push(call.clone());
        }
        for call in record.tool_calls.iter_mut().filter(|call| call.state == ToolCallState::Started) {
            let result = close_tool_call(call, now);
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

fn close_tool_call(call: &mut ToolCall, now: crate::clock::Timestamp) -> ToolResult {
    let result = match call.side_effect {
        SideEffect::SandboxOnly => ToolResult::ended(
            ToolCallState::Interrupted,
            "INTERRUPTED",
            "the worker was lost while this ran; it may have run in part, and the workspace is a fresh one",
        ),
        SideEffect::ReadOnly | SideEffect::Idempotent | SideEffect::SideEffect => {
            ToolResult::ended(ToolCallState::Lost, "LOST", "the worker was lost while this ran")
        }
    };
    plan::fill(call, &result, crate::artifact::StoredText::Inline(result.text.clone()));
    call.ended_at = Some(now);
    result
}

async fn replay(
    claim: &Claim,
    transcript: Vec<IterationRecord>,
    mut conversation: Conversation,
) -> Result<(Conversation, Position), Halt> {
    let mut position = Position::NextIteration;
    for record in transcript {
        remember(claim, &record);
        let IterationRecord { iteration, model_calls, tool_calls } = record;
        if iteration.ended_at.is_none() {
            claim.moving().open_iteration = Some(iteration.clone());
        }
        position = match model_calls.into_iter().next_back() {
            None => Position::ModelCall(iteration),
            Some(call) => match call.state {
                CallState::Started | CallState::Lost => Position::ModelCall(iteration),
                CallState::Cancelled => return Err(interrupted(claim)),
                CallState::Failed => return Err(failed(&call)),
                CallState::Settled => replay_reply(claim, &mut conversation, call, tool_calls).await?,
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
fn remember(claim: &Claim, record: &IterationRecord) {
    let mut moving = claim.moving();
    for call in &record.tool_calls {
        // What was repeated after a loss was judged once.
        if call.state == ToolCallState::Lost {
            continue;
        }
        moving.guard.judge(&call.fingerprint, call.iteration, u32::MAX);
        if call.state == ToolCallState::Failed {
            *moving.tool_errors.entry(call.tool.clone()).or_default() += 1;
        }
    }
}

/// A model call that was stopped ends its run; what stopped it is found again.
fn interrupted(claim: &Claim) -> Halt {
    let is_out_of_time = claim.budget_of(&claim.moving()).check_active_time().is_err();
    match claim.execution.deadline_at {
        Some(deadline) if deadline <= claim.ports.clock.now() => Halt::Signal(StopCause::Deadline),
        Some(_) | None if is_out_of_time => Halt::Signal(StopCause::ActiveTime),
        Some(_) | None => Halt::Signal(StopCause::Cancelled),
    }
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
) -> Result<Position, Halt> {
    let text = load_text(&*claim.ports.artifacts, claim.scope(), &call.reply_text).await?;
    if !call.estimated {
        conversation.note_counted(call.usage.input);
    }
    if call.reply_tool_calls.is_empty() {
        return Err(Halt::Stop {
            code: StopCode::FinalAnswer,
            message: "The model gave its final answer.".to_owned(),
            answer: Some(text),
        });
    }
    conversation.add_assistant(text, call.reply_tool_calls);
    let mut planned: Vec<Planned> = Vec::new();
    for call in latest_of_each(tool_calls) {
        planned.push(replan(claim, call).await?);
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

/// A call with a result is done. A lost one is repeated under the same key when that is safe, and else ends the run.
async fn replan(claim: &Claim, call: ToolCall) -> Result<Planned, Halt> {
    if call.state != ToolCallState::Lost {
        let text = load_text(&*claim.ports.artifacts, claim.scope(), &call.result).await?;
        return Ok(Planned { call, todo: Todo::Done(text), warning: None });
    }
    if call.side_effect == SideEffect::SideEffect {
        let message = format!("{} was lost while it ran and may have acted; a person must look.", call.tool);
        return Err(Halt::stop(StopCode::ToolOutcomeUnknown, message));
    }
    let arguments = load_text(&*claim.ports.artifacts, claim.scope(), &call.arguments).await?;
    let repeated = plan::repeat(claim, &call);
    let invocation = plan::understand(&claim.pinned()?.agent.tools, &repeated.tool, &arguments);
    let invocation = invocation.map_err(|_| Halt::stop(StopCode::Internal, "A lost call cannot be read again."))?;
    let row = repeated.clone();
    let started = plan::started_event(&row, arguments, invocation.timeout_ms(claim));
    claim
        .record(|moving| {
            moving.progress.used.tool_calls += 1;
            (vec![Change::SaveToolCall(Box::new(row))], vec![started])
        })
        .await?;
    Ok(Planned { call: repeated, todo: Todo::Do(invocation), warning: None })
}
