//! One model call, from the question whether it may be made to its settlement.

use std::time::Duration;

use super::accounts::{self, Desk};
use super::choice::ModelChoice;
use super::model::{
    CallState, FinishReason, ModelCall, ModelCallEnd, ModelEndpoint, ModelOutcome, ModelRequest, ReplyMode,
    RequestedToolCall, ToolDefinition,
};
use super::retry;
use super::sent::SentMessages;
use crate::access::AccessError;
use crate::agent::{Claim, Conversation, Halt, NextIteration, PinnedModel};
use crate::artifact::{StoredText, store_text};
use crate::budget::{Amount, Estimate, Limit, ModelCallReservation, Patience, Refused, estimate_input};
use crate::event::{Event, EventError, JournalError};
use crate::execution::{Change, StopCode};
use crate::ids::{ModelCallId, ToolCallId};
use crate::money::{NanoUsd, TokenUsage};
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

/// Makes one model call, or one for each model down the list until one answers. A reply without tool calls is the final
/// answer and so leaves the loop.
pub async fn run(claim: &Claim, conversation: &mut Conversation, mut place: Place) -> Result<Replied, Halt> {
    loop {
        let model = claim.model()?;
        authorize(claim, model).await?;
        let call = reserve(claim, conversation, place, model).await?;
        place = Place::Open(call.row.iteration);
        let (outcome, tries) = send(claim, conversation, model, &call).await;
        if let Some(replied) = settle(claim, conversation, call, outcome, tries).await? {
            return Ok(replied);
        }
    }
}

/// A call that is reserved and committed as started.
struct StartedCall {
    row: ModelCall,
    reservation: ModelCallReservation,
    began: Duration,
}

async fn authorize(claim: &Claim, model: &PinnedModel) -> Result<(), Halt> {
    for resource in [Some(model.id), model.spec.credential_id].into_iter().flatten() {
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

async fn reserve(
    claim: &Claim,
    conversation: &mut Conversation,
    mut place: Place,
    model: &PinnedModel,
) -> Result<StartedCall, Halt> {
    let (from, added) = conversation.unstored();
    let messages = store_text(&*claim.ports.artifacts, claim.scope(), added).await?;
    let choice = claim.moving().choice.clone();
    let estimate = estimate(claim, model, conversation, choice.has_counted);
    let mut row = new_row(claim, model, choice, SentMessages { from, messages });
    let mut desk = Desk::open(claim);
    loop {
        desk.look(claim, estimate).await?;
        let mut reserved: Result<ModelCallReservation, Refused> = Err(Refused::Own(Limit::ModelCalls));
        let written = claim
            .record_reservation(|moving| {
                let (mut changes, mut events) = (Vec::new(), Vec::new());
                let number = match place.clone() {
                    Place::Open(number) => Ok(number),
                    Place::Next(next) => next.open(claim, moving, &mut changes, &mut events),
                };
                let mut budget = claim.budget_of(moving);
                reserved = number.map_err(Refused::Own).and_then(|number| {
                    row.iteration = number;
                    desk.reserve(&mut budget, estimate)
                });
                if let Ok(reservation) = &reserved {
                    moving.progress.used = budget.used;
                    row.started_sequence = moving.next_sequence + events.len() as u64;
                    note_reservation(&mut row, reservation);
                    events.push(started_event(&row));
                    changes.push(Change::SaveModelCall(Box::new(row.clone())));
                    desk.hold(claim, &row, reservation, &mut changes, &mut events);
                }
                (changes, events)
            })
            .await?;
        match (reserved, written) {
            (Ok(reservation), Some(_)) => {
                claim.moving().accounts = desk.accounts;
                conversation.note_stored();
                return Ok(StartedCall { row, reservation, began: claim.ports.clock.monotonic() });
            }
            (Ok(_), None) => desk.was_refused()?,
            (Err(Refused::Busy(_)), _) if desk.patience == Patience::Waits => place = Place::Open(row.iteration),
            (Err(Refused::Own(limit)), _) => return Err(Halt::Limit(limit)),
            (Err(refused), _) => return Err(Halt::Account(refused)),
        }
    }
}

fn estimate(claim: &Claim, model: &PinnedModel, conversation: &Conversation, has_counted: bool) -> Estimate {
    let (counted, bytes, messages) = match has_counted {
        true => conversation.uncounted(),
        false => (0, conversation.bytes() + bytes_beside(claim, model), conversation.messages().len() as u64),
    };
    let window = u64::from(model.spec.context_window);
    Estimate {
        input_tokens: estimate_input(counted, bytes, messages).min(window),
        output_cap: u64::from(model.spec.max_output_tokens),
        price: model.spec.price.map(|version| version.price),
    }
}

/// The tools that the model may ask for. Nothing is sent before the agent is known.
fn offered_tools(claim: &Claim) -> Vec<ToolDefinition> {
    claim.pinned.get().map(|pinned| plan::definitions(&pinned.agent.tools)).unwrap_or_default()
}

/// What a request holds beside its messages and the model reads as well: the tools, and what the parameters may hold (a
/// schema of the reply). A provider's count has it in it.
fn bytes_beside(claim: &Claim, model: &PinnedModel) -> u64 {
    let tools = offered_tools(claim);
    let bytes = |text: serde_json::Result<String>| text.map_or(0, |text| text.len() as u64);
    let of_tools = if tools.is_empty() { 0 } else { bytes(serde_json::to_string(&tools)) };
    let of_parameters =
        if model.spec.parameters.is_empty() { 0 } else { bytes(serde_json::to_string(&model.spec.parameters)) };
    of_tools + of_parameters
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
        fallback_index: row.fallback_index,
        fallback_because: event_error(row.fallback_because.clone()),
    }
}

fn new_row(
    claim: &Claim,
    PinnedModel { spec: model, .. }: &PinnedModel,
    choice: ModelChoice,
    request: SentMessages,
) -> ModelCall {
    ModelCall {
        id: ModelCallId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        iteration: 0,
        epoch: claim.journal.epoch(),
        state: CallState::Started,
        provider: model.provider.clone(),
        deployment: model.deployment.clone(),
        alias: model.alias.clone(),
        fallback_index: choice.index,
        fallback_because: choice.because,
        tries: 0,
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
async fn send(
    claim: &Claim,
    conversation: &Conversation,
    model: &PinnedModel,
    call: &StartedCall,
) -> (ModelOutcome, u32) {
    let request = ModelRequest {
        endpoint: ModelEndpoint {
            base_url: model.spec.base_url.clone(),
            deployment: model.spec.deployment.clone(),
            api_key: model.key.clone(),
        },
        messages: conversation.messages(),
        tools: offered_tools(claim),
        parameters: model.spec.parameters.clone(),
        max_output_tokens: call.reservation.output_cap,
        mode: ReplyMode::Stream,
    };
    retry::send(claim, &call.row, &request, model.spec.max_retries).await
}

async fn settle(
    claim: &Claim,
    conversation: &Conversation,
    call: StartedCall,
    outcome: ModelOutcome,
    tries: u32,
) -> Result<Option<Replied>, Halt> {
    let StartedCall { mut row, reservation, began } = call;
    let is_charged = outcome.was_sent && retry::free_failure(&outcome).is_none();
    let ModelOutcome { reply, end, first_delta_ms, .. } = outcome;
    let (usage, estimated) = match (reply.usage, is_charged) {
        (Some(usage), _) => (usage, false),
        (None, false) => (TokenUsage::default(), false),
        (None, true) => (estimated_usage(claim, conversation, &reply), true),
    };
    row.tries = tries;
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
            let used = Amount { cost: row.cost, tokens: usage.total() };
            let (settled, warnings) = accounts::settle(moving, &row, reservation.amount(), used);
            changes.extend(settled);
            events.extend(warnings);
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
) -> Result<Option<Replied>, Halt> {
    let partial = Some(text.clone()).filter(|text| !text.is_empty());
    let reason = match end {
        // The adapter's own clock may be a moment ahead of the heartbeat that watches the time.
        ModelCallEnd::Failed(failure) => {
            let message = format!("The model call failed. {failure}");
            let failed = Halt::Stop { code: StopCode::ModelFailed, message, answer: partial };
            if let Some(cause) = claim.out_of_time() {
                return Err(Halt::Signal(cause));
            }
            claim.moving().choice = ModelChoice::after(row, &claim.pinned()?.models).ok_or(failed)?;
            claim.check_stop()?;
            return Ok(None);
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
    let mut moving = claim.moving();
    moving.choice = moving.choice.behind(row);
    Ok(Some(Replied {
        text,
        requested: row.reply_tool_calls.clone(),
        tool_calls: planned.calls,
        counted_input: Some(row.usage.input).filter(|_| !row.estimated),
    }))
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

fn with_our_ids(claim: &Claim, calls: Vec<(String, String)>) -> Vec<RequestedToolCall> {
    let fresh = || ToolCallId::generate(&*claim.ports.clock, &*claim.ports.entropy);
    calls.into_iter().map(|(name, arguments)| RequestedToolCall { id: fresh(), name, arguments }).collect()
}

fn estimated_usage(claim: &Claim, conversation: &Conversation, reply: &super::ModelReply) -> TokenUsage {
    let beside = claim.model().map_or(0, |model| bytes_beside(claim, model));
    let calls: usize = reply.tool_calls.iter().map(|(name, arguments)| name.len() + arguments.len()).sum();
    TokenUsage {
        input: (conversation.bytes() + beside).div_ceil(BYTES_PER_TOKEN),
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
        error: event_error(row.error.clone()),
    }
}

fn event_error(error: Option<(String, String)>) -> Option<EventError> {
    error.map(|(code, message)| EventError { code, message })
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
