//! From a reply to tool calls that are to be done: what is invalid, repeated or over the limit is refused here, with a
//! row and a result of its own, before anything starts.

use super::arguments::fingerprint;
use super::catalogue::BuiltInTool;
use super::invocation::{Invocation, understand};
use super::judge::{LOOP_DETECTED, Ruling, judge_all};
use super::model::{SideEffect, ToolCall, ToolCallState, ToolResult};
use crate::agent::{Claim, Halt, Moving};
use crate::artifact::{StoredText, store_text};
use crate::budget::Limit;
use crate::event::{Event, EventError};
use crate::execution::{Change, StopCode};
use crate::ids::ToolCallId;
use crate::loop_guard::with_warning;
use crate::model_call::{RequestedToolCall, ToolDefinition};
use crate::resource::LoopAction;
use crate::sandbox::BackgroundCommand;

const BUDGET_EXCEEDED: &str = "BUDGET_EXCEEDED";
/// Code of a call that was given back before anything of it left.
pub(super) const NOT_BEGUN: &str = "NOT_BEGUN";
const MAX_EVENT_ARGUMENT_BYTES: usize = 64 * 1024;

/// A tool call of a reply: to be done, or with its result already.
#[derive(Debug)]
pub struct Planned {
    /// Its row, as it is stored.
    pub call: ToolCall,
    /// What is to be done, or what the model gets to read.
    pub todo: Todo,
    /// A word of the loop guard to the model.
    pub warning: Option<String>,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

/// What is left to do about a tool call.
#[derive(Debug)]
pub enum Todo {
    /// This.
    Do(Invocation),
    /// Follow a background command that an earlier claim started.
    Follow(BackgroundCommand),
    /// Nothing: the result is known.
    Done(String),
}

/// A tool call as the model asked for it, checked as far as it can be without the budget.
pub struct Proposed {
    pub(super) call: ToolCall,
    pub(super) arguments: String,
    pub(super) invocation: Result<Invocation, ToolResult>,
    /// What the loop guard found.
    pub(super) ruling: Ruling,
}

impl Proposed {
    /// Checks the calls of a reply.
    pub(crate) async fn of(claim: &Claim, iteration: u32, requested: &[RequestedToolCall]) -> Result<Vec<Self>, Halt> {
        let mut proposed = Vec::with_capacity(requested.len());
        for (ordinal, request) in requested.iter().enumerate() {
            let arguments = store_text(&*claim.ports.artifacts, claim.scope(), request.arguments.clone()).await?;
            let place = (iteration, u32::try_from(ordinal).unwrap_or(u32::MAX));
            let call = new_row(claim, place, request, arguments);
            let invocation = understand(&claim.pinned()?.agent.tools, &request.name, &request.arguments);
            proposed.push(Self { call, arguments: request.arguments.clone(), invocation, ruling: Ruling::default() });
        }
        Ok(proposed)
    }
}

/// The tools that a model is told about.
pub fn definitions(tools: &[String]) -> Vec<ToolDefinition> {
    tools.iter().filter_map(|name| BuiltInTool::by_name(name)).map(BuiltInTool::definition).collect()
}

/// The tool calls of a reply, and whether the loop ends here.
#[derive(Debug, Default)]
pub struct Plan {
    /// In the order of the reply.
    pub calls: Vec<Planned>,
    /// Why the loop ends.
    pub halt: Option<Halt>,
}

impl Plan {
    /// Asks the loop guard, reserves from the budget, and writes a row and events for every call.
    pub(crate) fn make(
        claim: &Claim,
        moving: &mut Moving,
        proposed: Vec<Proposed>,
        changes: &mut Vec<Change>,
        events: &mut Vec<Event>,
    ) -> Self {
        let mut plan = Self::default();
        let mut judged = proposed;
        judge_all(claim, moving, &mut judged);
        let wanted = judged.iter().filter(|proposed| proposed.invocation.is_ok()).count();
        let mut budget = claim.budget_of(moving);
        let granted = match budget.reserve_tool_calls(u32::try_from(wanted).unwrap_or(u32::MAX)) {
            Ok(granted) => {
                moving.progress.used = budget.used;
                plan.halt = (granted == 0 && wanted > 0).then_some(Halt::Limit(Limit::ToolCalls));
                granted
            }
            Err(limit) => {
                plan.halt = Some(Halt::Limit(limit));
                0
            }
        };
        let mut left = granted;
        for mut proposed in judged {
            proposed.invocation = proposed.invocation.and_then(|invocation| match left.checked_sub(1) {
                Some(rest) => {
                    left = rest;
                    Ok(invocation)
                }
                None => Err(over_the_limit()),
            });
            plan.calls.push(planned(claim, proposed, changes, events));
        }
        plan
    }
}

/// Why the execution ends when the calls of a reply have run: the loop guard caught one of them, and the policy stops.
pub(crate) fn loop_stop<'a>(
    claim: &Claim,
    calls: impl IntoIterator<Item = &'a ToolCall>,
) -> Result<Option<Halt>, Halt> {
    if claim.pinned()?.agent.loop_policy.on_loop != LoopAction::Stop {
        return Ok(None);
    }
    let evidence = calls
        .into_iter()
        .filter(|call| call.state == ToolCallState::Refused)
        .find_map(|call| call.error.as_ref().filter(|(code, _)| code == LOOP_DETECTED).map(|(_, evidence)| evidence));
    Ok(evidence.map(|evidence| Halt::stop(StopCode::LoopDetected, format!("Stopped: {evidence}."))))
}

/// Whether and why the stored calls of a reply end the run before the others are repeated: what [`Plan::make`] said of
/// them, or a loss that only a person can judge.
pub(crate) fn end_of(claim: &Claim, calls: &[ToolCall]) -> Option<Halt> {
    let has_none_run = calls.iter().all(|call| call.state == ToolCallState::Refused);
    let is_over = |call: &ToolCall| call.error.as_ref().is_some_and(|(code, _)| code == BUDGET_EXCEEDED);
    if has_none_run && calls.iter().any(is_over) {
        let limit = claim.budget_of(&claim.moving()).check_active_time().err().unwrap_or(Limit::ToolCalls);
        return Some(Halt::Limit(limit));
    }
    let has_begun = |call: &ToolCall| call.error.as_ref().is_none_or(|(code, _)| code != NOT_BEGUN);
    let is_unsure = |call: &&ToolCall| {
        call.state == ToolCallState::Lost && call.side_effect == SideEffect::SideEffect && has_begun(call)
    };
    calls.iter().find(is_unsure).map(|call| {
        let message = format!("{} was lost while it ran and may have acted; a person must look.", call.tool);
        Halt::stop(StopCode::ToolOutcomeUnknown, message)
    })
}

fn over_the_limit() -> ToolResult {
    ToolResult::ended(ToolCallState::Refused, BUDGET_EXCEEDED, "no tool calls are left in the budget")
}

fn planned(claim: &Claim, proposed: Proposed, changes: &mut Vec<Change>, events: &mut Vec<Event>) -> Planned {
    let Proposed { mut call, arguments, invocation, ruling: Ruling { warning, event } } = proposed;
    let timeout_ms = invocation.as_ref().ok().and_then(|invocation| invocation.timeout_ms(claim));
    events.push(started_event(&call, arguments.clone(), timeout_ms));
    events.extend(event);
    let todo = match invocation {
        Ok(invocation) => Todo::Do(invocation),
        Err(mut result) => {
            if let Some(warning) = &warning {
                result.text = with_warning(&result.text, warning);
            }
            call.ended_at = Some(call.started_at);
            fill(&mut call, &result, StoredText::Inline(result.text.clone()));
            events.push(finished_event(&call, &result.text, 0));
            Todo::Done(result.text)
        }
    };
    changes.push(Change::SaveToolCall(Box::new(call.clone())));
    Planned { call, todo, warning, arguments }
}

/// The event that tells that a tool call may start. Arguments that are too long for the log are cut; the row has them.
pub(crate) fn started_event(call: &ToolCall, mut arguments: String, timeout_ms: Option<u32>) -> Event {
    if arguments.len() > MAX_EVENT_ARGUMENT_BYTES {
        arguments.truncate(arguments.floor_char_boundary(MAX_EVENT_ARGUMENT_BYTES));
    }
    Event::ToolCallStarted {
        iteration: call.iteration,
        ordinal: call.ordinal,
        tool_call_id: call.id,
        tool: call.tool.clone(),
        arguments,
        side_effect: call.side_effect,
        fingerprint: call.fingerprint.clone(),
        timeout_ms,
    }
}

/// Puts a result into a row.
pub(crate) fn fill(call: &mut ToolCall, result: &ToolResult, text: StoredText) {
    call.state = result.state;
    call.result = text;
    call.exit_code = result.exit_code;
    call.error.clone_from(&result.error);
    call.truncated = result.truncated;
    call.lossy = result.lossy;
}

/// The event that tells how a tool call ended.
pub(crate) fn finished_event(call: &ToolCall, result: &str, duration_ms: u32) -> Event {
    Event::ToolCallFinished {
        iteration: call.iteration,
        ordinal: call.ordinal,
        tool_call_id: call.id,
        tool: call.tool.clone(),
        state: call.state,
        result: result.to_owned(),
        exit_code: call.exit_code,
        error: call.error.clone().map(|(code, message)| EventError { code, message }),
        duration_ms,
        truncated: call.truncated,
        lossy: call.lossy,
    }
}

fn new_row(
    claim: &Claim,
    (iteration, ordinal): (u32, u32),
    request: &RequestedToolCall,
    arguments: StoredText,
) -> ToolCall {
    let tool = BuiltInTool::by_name(&request.name);
    ToolCall {
        id: request.id,
        iteration,
        ordinal,
        epoch: claim.journal.epoch(),
        tool: request.name.chars().take(200).collect(),
        tool_version: BuiltInTool::VERSION.to_owned(),
        state: ToolCallState::Started,
        side_effect: tool.map_or(SideEffect::SideEffect, BuiltInTool::side_effect),
        idempotency_key: request.id.to_string(),
        fingerprint: fingerprint(&request.name, &request.arguments),
        arguments,
        result: StoredText::empty(),
        exit_code: None,
        error: None,
        truncated: false,
        lossy: false,
        sandbox_id: None,
        command: None,
        started_at: claim.ports.clock.now(),
        ended_at: None,
    }
}

/// A lost call that is safe to repeat: a new row under the same key and place.
pub(crate) fn repeat(claim: &Claim, lost: &ToolCall) -> ToolCall {
    ToolCall {
        id: ToolCallId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        epoch: claim.journal.epoch(),
        state: ToolCallState::Started,
        command: None,
        started_at: claim.ports.clock.now(),
        ..lost.clone()
    }
}
