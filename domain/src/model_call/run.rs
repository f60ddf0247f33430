//! One model call, from the question whether it may be made to its settlement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use super::model::{
    CallState, FinishReason, ModelCall, ModelCallEnd, ModelEndpoint, ModelFailureKind, ModelOutcome, ModelRequest,
    ReplyMode, RequestedToolCall,
};
use super::ports::DeltaSink;
use super::sent::SentMessages;
use crate::access::AccessError;
use crate::agent::{Claim, Conversation, Halt, NextIteration};
use crate::artifact::{StoredText, store_text};
use crate::budget::{Estimate, Limit, ModelCallReservation, estimate_input};
use crate::event::{Event, EventError, JournalError};
use crate::execution::{Change, StopCause, StopCode};
use crate::ids::{ModelCallId, ToolCallId};
use crate::money::{NanoUsd, TokenUsage};
use crate::resource::ModelSpec;
use crate::tool_call::plan::{self, Planned, Proposed};

/// Bytes per token where neither the provider nor a tokenizer says how many there were.
const BYTES_PER_TOKEN: u64 = 4;

/// A settled reply that asks for tools.
#[derive(Debug)]
pub struct Replied {
    /// What the model said beside them.
    pub text: String,
    /// The calls, as it wrote them.
    pub requested: Vec<RequestedToolCall>,
    /// The calls, as they are to be done.
    pub tool_calls: Vec<Planned>,
    /// Input tokens, as the provider counted them.
    pub counted_input: Option<u64>,
}

/// The iteration that a call belongs to.
#[derive(Debug, Clone)]
pub enum Place {
    /// The one with this number, which is open.
    Open(u32),
    /// The next one; the call opens it.
    Next(NextIteration),
}

/// Makes one model call. A reply without tool calls is the final answer and so leaves the loop.
pub async fn run(claim: &Claim, conversation: &mut Conversation, place: Place) -> Result<Replied, Halt> {
    authorize(claim).await?;
    let call = reserve(claim, conversation, place).await?;
    let outcome = send(claim, conversation, &call).await;
    settle(claim, conversation, call, outcome).await
}

/// A call that is reserved and committed as started.
struct StartedCall {
    row: ModelCall,
    reservation: ModelCallReservation,
    began: Duration,
}

async fn authorize(claim: &Claim) -> Result<(), Halt> {
    let pinned = claim.pinned()?;
    for resource in [Some(pinned.agent.model_id), pinned.model.credential_id].into_iter().flatten() {
        match claim.authorize_use(resource).await {
            Ok(()) => {}
            Err(AccessError::Denied) => {
                let message = format!("The agent has no grant to use {resource}; grant it, or choose another model.");
                return Err(Halt::stop(StopCode::AccessDenied, message));
            }
            Err(AccessError::Store(error)) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn reserve(claim: &Claim, conversation: &mut Conversation, place: Place) -> Result<StartedCall, Halt> {
    let model = &claim.pinned()?.model;
    let (from, added) = conversation.unstored();
    let messages = store_text(&*claim.ports.artifacts, claim.scope(), added).await?;
    let mut row = new_row(claim, model, SentMessages { from, messages });
    let estimate = estimate(model, conversation);
    let mut reserved: Result<ModelCallReservation, Limit> = Err(Limit::ModelCalls);
    claim
        .record(|moving| {
            let (mut changes, mut events) = (Vec::new(), Vec::new());
            let number = match place {
                Place::Open(number) => Ok(number),
                Place::Next(next) => next.open(claim, moving, &mut changes, &mut events),
            };
            let mut budget = claim.budget_of(moving);
            reserved = number.and_then(|number| {
                row.iteration = number;
                budget.reserve_model_call(estimate)
            });
            if let Ok(reservation) = &reserved {
                moving.progress.used = budget.used;
                row.started_sequence = moving.next_sequence + events.len() as u64;
                note_reservation(&mut row, reservation);
                events.push(started_event(&row));
                changes.push(Change::SaveModelCall(Box::new(row.clone())));
            }
            (changes, events)
        })
        .await?;
    let reservation = reserved.map_err(Halt::Limit)?;
    conversation.note_stored();
    Ok(StartedCall { row, reservation, began: claim.ports.clock.monotonic() })
}

fn estimate(model: &ModelSpec, conversation: &Conversation) -> Estimate {
    let (counted, bytes, messages) = conversation.uncounted();
    let window = u64::from(model.context_window);
    Estimate {
        input_tokens: estimate_input(counted, bytes, messages).min(window),
        output_cap: u64::from(model.max_output_tokens),
        price: model.price.map(|version| version.price),
    }
}

/// Until it is settled, a call stands with its worst case: that is what it costs if its worker is lost.
fn note_reservation(row: &mut ModelCall, reservation: &ModelCallReservation) {
    row.reserved = reservation.cost;
    row.reserved_tokens = reservation.tokens;
    row.usage = TokenUsage { input: reservation.input_tokens, output: reservation.output_cap, ..TokenUsage::default() };
}

fn started_event(row: &ModelCall) -> Event {
    Event::ModelCallStarted {
        iteration: row.iteration,
        model_call_id: row.id,
        alias: row.alias.clone(),
        deployment: row.deployment.clone(),
        reserved_cost: row.reserved,
        reserved_tokens: row.reserved_tokens,
    }
}

fn new_row(claim: &Claim, model: &ModelSpec, request: SentMessages) -> ModelCall {
    ModelCall {
        id: ModelCallId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        iteration: 0,
        epoch: claim.journal.epoch(),
        state: CallState::Started,
        provider: model.provider.clone(),
        deployment: model.deployment.clone(),
        alias: model.alias.clone(),
        parameters: model.parameters.clone(),
        price_version: model.price.map(|version| version.id),
        price: model.price.map(|version| version.price),
        reserved_tokens: 0,
        reserved: NanoUsd::ZERO,
        usage: TokenUsage::default(),
        cost: NanoUsd::ZERO,
        estimated: false,
        finish_reason: None,
        error: None,
        request,
        reply_text: StoredText::empty(),
        reply_tool_calls: Vec::new(),
        reply_partial: false,
        started_sequence: 0,
        started_at: claim.ports.clock.now(),
        ended_at: None,
        first_delta_ms: None,
    }
}

/// The only slow line of a call. It returns whatever happens: the settlement follows it without a way around.
async fn send(claim: &Claim, conversation: &Conversation, call: &StartedCall) -> ModelOutcome {
    let Some(pinned) = claim.pinned.get() else { return not_sent() };
    if !claim.signal.may_start(&*claim.ports.clock) {
        return not_sent();
    }
    let request = ModelRequest {
        endpoint: ModelEndpoint {
            base_url: pinned.model.base_url.clone(),
            deployment: pinned.model.deployment.clone(),
            api_key: pinned.model_key.clone(),
        },
        messages: conversation.messages(),
        tools: plan::definitions(&pinned.agent.tools),
        parameters: pinned.model.parameters.clone(),
        max_output_tokens: call.reservation.output_cap,
        mode: ReplyMode::Stream,
    };
    let deltas = Deltas { claim, id: call.row.id, has_begun: AtomicBool::new(false) };
    claim.ports.models.call(&claim.call_context(), &request, &deltas).await
}

fn not_sent() -> ModelOutcome {
    ModelOutcome {
        reply: super::ModelReply::default(),
        end: ModelCallEnd::Cancelled,
        first_delta_ms: None,
        was_sent: false,
    }
}

struct Deltas<'a> {
    claim: &'a Claim,
    id: ModelCallId,
    has_begun: AtomicBool,
}

#[async_trait]
impl DeltaSink for Deltas<'_> {
    async fn text(&self, piece: &str) {
        let is_first = !self.has_begun.swap(true, Ordering::Relaxed);
        let delta = Event::ModelCallDelta { model_call_id: self.id, text: piece.to_owned() };
        if self.claim.journal.delta(delta, is_first).await.is_err() {
            self.claim.signal.trip(StopCause::LeaseLost);
        }
    }
}

async fn settle(
    claim: &Claim,
    conversation: &Conversation,
    call: StartedCall,
    outcome: ModelOutcome,
) -> Result<Replied, Halt> {
    let StartedCall { mut row, reservation, began } = call;
    let ModelOutcome { reply, end, first_delta_ms, was_sent } = outcome;
    let (usage, estimated) = match (reply.usage, was_sent && !is_refused(&end, &reply)) {
        (Some(usage), _) => (usage, false),
        (None, false) => (TokenUsage::default(), false),
        (None, true) => (estimated_usage(conversation, &reply), true),
    };
    row.usage = usage;
    row.estimated = estimated;
    row.cost = row.price.map_or(NanoUsd::ZERO, |price| price.cost(&usage));
    row.first_delta_ms = first_delta_ms;
    row.ended_at = Some(claim.ports.clock.now());
    (row.state, row.finish_reason, row.error) = match &end {
        ModelCallEnd::Finished(reason) => (CallState::Settled, Some(*reason), None),
        ModelCallEnd::Failed(failure) => {
            (CallState::Failed, None, Some((failure.kind.code().to_owned(), failure.message.clone())))
        }
        ModelCallEnd::Cancelled => (CallState::Cancelled, None, None),
    };
    row.reply_partial = row.state != CallState::Settled;
    row.reply_text = store_text(&*claim.ports.artifacts, claim.scope(), reply.text.clone()).await?;
    row.reply_tool_calls = with_our_ids(claim, reply.tool_calls);
    let duration_ms = millis(claim.ports.clock.monotonic().saturating_sub(began));
    let wants_tools = matches!(end, ModelCallEnd::Finished(reason) if reason != FinishReason::Length);
    let proposed =
        if wants_tools { Proposed::of(claim, row.iteration, &row.reply_tool_calls).await? } else { Vec::new() };
    let mut planned = plan::Plan::default();
    claim
        .record(|moving| {
            let mut budget = claim.budget_of(moving);
            budget.settle_model_call(reservation.tokens, reservation.cost, &usage, row.cost);
            moving.progress.used = budget.used;
            moving.answer_so_far.clone_from(&reply.text);
            let mut changes = vec![Change::SaveModelCall(Box::new(row.clone()))];
            let mut events = vec![finished_event(&row, duration_ms)];
            planned = plan::Plan::make(claim, moving, proposed, &mut changes, &mut events);
            (changes, events)
        })
        .await?;
    leave_or_go_on(claim, &row, end, reply.text, planned)
}

fn leave_or_go_on(
    claim: &Claim,
    row: &ModelCall,
    end: ModelCallEnd,
    text: String,
    planned: plan::Plan,
) -> Result<Replied, Halt> {
    let partial = Some(text.clone()).filter(|text| !text.is_empty());
    let reason = match end {
        // The adapter's own clock may be a moment ahead of the heartbeat that watches the time.
        ModelCallEnd::Failed(failure) => {
            let message = format!("The model call failed. {failure}");
            let failed = Halt::Stop { code: StopCode::ModelFailed, message, answer: partial };
            return Err(claim.out_of_time().map_or(failed, Halt::Signal));
        }
        ModelCallEnd::Cancelled => {
            claim.check_stop()?;
            // It was not sent because the lease was about to run out. Whoever claims next makes it.
            return Err(Halt::Journal(JournalError::LeaseLost));
        }
        ModelCallEnd::Finished(reason) => reason,
    };
    if let Some(halt) = planned.halt {
        return Err(halt);
    }
    if let Some(halt) = end_of(reason, &text, &row.reply_tool_calls) {
        return Err(halt);
    }
    Ok(Replied {
        text,
        requested: row.reply_tool_calls.clone(),
        tool_calls: planned.calls,
        counted_input: Some(row.usage.input).filter(|_| !row.estimated),
    })
}

/// Whether and why a whole reply ends the run; the same for one that has just come and for one that is replayed.
pub(crate) fn end_of(reason: FinishReason, text: &str, requested: &[RequestedToolCall]) -> Option<Halt> {
    let stop = |code, message: &str, answer| Some(Halt::Stop { code, message: message.to_owned(), answer });
    let partial = Some(text.to_owned()).filter(|text| !text.is_empty());
    match (reason, requested.is_empty()) {
        (FinishReason::Length, _) => {
            stop(StopCode::ModelOutputTruncated, "The reply reached the output cap and is cut off.", partial)
        }
        (FinishReason::ContentFilter, true) => {
            stop(StopCode::ContentFiltered, "The provider's filter cut the reply.", partial)
        }
        (_, false) => None,
        (_, true) if text.trim().is_empty() => {
            stop(StopCode::ModelFailed, "The model replied with neither text nor tool calls.", None)
        }
        (_, true) => stop(StopCode::FinalAnswer, "The model gave its final answer.", partial),
    }
}

/// Whether the provider turned the request away before it did any work for it.
fn is_refused(end: &ModelCallEnd, reply: &super::ModelReply) -> bool {
    match end {
        ModelCallEnd::Failed(_) if !reply.text.is_empty() || !reply.tool_calls.is_empty() => false,
        ModelCallEnd::Failed(failure) => match failure.kind {
            ModelFailureKind::Credentials | ModelFailureKind::RateLimited | ModelFailureKind::Rejected => true,
            ModelFailureKind::ProviderError
            | ModelFailureKind::Unreachable
            | ModelFailureKind::Timeout
            | ModelFailureKind::StreamTruncated
            | ModelFailureKind::Protocol => false,
        },
        ModelCallEnd::Finished(_) | ModelCallEnd::Cancelled => false,
    }
}

fn with_our_ids(claim: &Claim, calls: Vec<(String, String)>) -> Vec<RequestedToolCall> {
    let fresh = || ToolCallId::generate(&*claim.ports.clock, &*claim.ports.entropy);
    calls.into_iter().map(|(name, arguments)| RequestedToolCall { id: fresh(), name, arguments }).collect()
}

fn estimated_usage(conversation: &Conversation, reply: &super::ModelReply) -> TokenUsage {
    let calls: usize = reply.tool_calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
    TokenUsage {
        input: conversation.bytes().div_ceil(BYTES_PER_TOKEN),
        output: ((reply.text.len() + calls) as u64).div_ceil(BYTES_PER_TOKEN),
        ..TokenUsage::default()
    }
}

/// The event that tells how a call ended.
pub(crate) fn finished_event(row: &ModelCall, duration_ms: u32) -> Event {
    Event::ModelCallFinished {
        iteration: row.iteration,
        model_call_id: row.id,
        state: row.state,
        finish_reason: row.finish_reason,
        usage: row.usage,
        cost: row.cost,
        estimated: row.estimated,
        duration_ms,
        error: row.error.clone().map(|(code, message)| EventError { code, message }),
    }
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
