//! A try sends the request once; a request for which its provider did nothing is sent again, a little later.
//!
//! Only what costs nothing is tried again: the request never left, or an error came in place of a reply. So all tries
//! of a call fit into its one reservation, and none follows a byte of output. A pause is as long as the provider asks
//! for, or doubles from half a second with jitter; one that does not fit into the time that is left is not begun, and a
//! stop ends it at once.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::select;

use super::failure::{ModelFailure, RetryAdvice};
use super::model::{ModelCall, ModelCallEnd, ModelOutcome, ModelReply, ModelRequest};
use super::ports::DeltaSink;
use super::run::millis;
use crate::agent::Claim;
use crate::clock::Timestamp;
use crate::event::{Event, EventError};
use crate::execution::StopCause;
use crate::ids::ModelCallId;

/// Before jitter; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A provider that asks for a longer pause is not waited for.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How soon a pause sees that the process shuts down.
const LOOK: Duration = Duration::from_millis(250);

/// Sends the request until it is answered, fails for good, or was sent once and `max_retries` times more. Gives the
/// last outcome and the number of tries.
pub(super) async fn send(
    claim: &Claim,
    row: &ModelCall,
    request: &ModelRequest,
    max_retries: u32,
) -> (ModelOutcome, u32) {
    let (mut tries, mut retries, mut was_mended) = (1, 0, false);
    loop {
        let outcome = try_once(claim, row.id, request).await;
        let Some(failure) = free_failure(&outcome) else { return (outcome, tries) };
        let is_mended = failure.advice == RetryAdvice::AtOnce;
        let pause = match is_mended {
            true => (!was_mended).then_some(Duration::ZERO),
            false if retries < max_retries => pause_behind(failure, retries, claim.ports.clock.now(), luck(claim)),
            false => None,
        };
        let fits = |pause: &Duration| claim.time_left().is_none_or(|left| *pause < left);
        let Some(pause) = pause.filter(fits) else { return (outcome, tries) };
        if !note(claim, row, tries, failure, pause).await {
            return (outcome, tries);
        }
        if !rest(claim, pause).await {
            return (not_sent(), tries);
        }
        tries += 1;
        retries += u32::from(!is_mended);
        was_mended |= is_mended;
    }
}

/// What failed without having cost anything.
pub(super) fn free_failure(outcome: &ModelOutcome) -> Option<&ModelFailure> {
    let ModelOutcome { reply, end, was_sent, .. } = outcome;
    match end {
        ModelCallEnd::Failed(failure) if *reply == ModelReply::default() && (!was_sent || failure.is_refusal) => {
            Some(failure)
        }
        ModelCallEnd::Failed(_) | ModelCallEnd::Finished(_) | ModelCallEnd::Cancelled => None,
    }
}

/// How long to wait behind a failure; None when the request is not to be sent again.
pub(super) fn pause_behind(failure: &ModelFailure, retries: u32, now: Timestamp, luck: u8) -> Option<Duration> {
    let asked = match failure.advice {
        RetryAdvice::Unsaid | RetryAdvice::AtOnce => Duration::ZERO,
        RetryAdvice::After(pause) => pause,
        RetryAdvice::At(moment) => moment.since(now),
        RetryAdvice::Pointless => return None,
    };
    let whole = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(retries)).min(LONGEST_PAUSE);
    // From half of it to all of it, so that many that failed together do not come back together.
    let own = whole / 2 + whole / 2 * u32::from(luck) / 255;
    (failure.kind.is_passing() && asked <= LONGEST_PAUSE).then(|| own.max(asked))
}

fn luck(claim: &Claim) -> u8 {
    let mut byte = [0];
    claim.ports.entropy.fill(&mut byte);
    byte[0]
}

async fn note(claim: &Claim, row: &ModelCall, tries: u32, failure: &ModelFailure, pause: Duration) -> bool {
    let retried = Event::ModelCallRetried {
        iteration: row.iteration,
        model_call_id: row.id,
        try_number: tries,
        error: EventError { code: failure.kind.code().to_owned(), message: failure.message.clone() },
        wait_ms: millis(pause),
    };
    let is_noted = claim.record(|_| (Vec::new(), vec![retried])).await.is_ok();
    if !is_noted {
        claim.signal.trip(StopCause::LeaseLost);
    }
    is_noted
}

/// Whether nothing ended the pause from outside.
async fn rest(claim: &Claim, pause: Duration) -> bool {
    let is_wanted = || claim.signal.cause().is_none() && !claim.signal.is_draining();
    let mut left = pause;
    while is_wanted() && !left.is_zero() {
        let part = left.min(LOOK);
        select(claim.ports.clock.sleep(part), pin!(claim.signal.token().cancelled())).await;
        left -= part;
    }
    is_wanted()
}

/// Returns whatever happens: the settlement follows it without a way around.
async fn try_once(claim: &Claim, id: ModelCallId, request: &ModelRequest) -> ModelOutcome {
    if !claim.signal.may_start(&*claim.ports.clock) {
        return not_sent();
    }
    let deltas = Deltas { claim, id, has_begun: AtomicBool::new(false) };
    claim.ports.models.call(&claim.call_context(), request, &deltas).await
}

fn not_sent() -> ModelOutcome {
    ModelOutcome { reply: ModelReply::default(), end: ModelCallEnd::Cancelled, first_delta_ms: None, was_sent: false }
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
