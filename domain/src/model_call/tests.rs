use std::collections::BTreeSet;
use std::time::Duration;

use super::choice::ModelChoice;
use super::retry::{LONGEST_PAUSE, free_failure, pause_behind};
use super::{
    CallState, ModelCall, ModelCallEnd, ModelFailure, ModelFailureKind, ModelOutcome, ModelReply, RequestedToolCall,
    RetryAdvice, SentMessages,
};
use crate::agent::PinnedModel;
use crate::artifact::StoredText;
use crate::clock::Timestamp;
use crate::ids::{ModelCallId, ResourceId, ToolCallId};
use crate::money::{NanoUsd, TokenUsage};
use crate::resource::{ModelProtocol, ModelSpec};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn refusal(kind: ModelFailureKind, advice: RetryAdvice) -> ModelFailure {
    ModelFailure::refusal(kind, "no", advice)
}

fn pause(advice: RetryAdvice, retries: u32, luck: u8) -> Option<Duration> {
    pause_behind(&refusal(ModelFailureKind::RateLimited, advice), retries, NOW, luck)
}

#[test]
fn pauses_double_and_their_jitter_takes_at_most_half() {
    let millis = |millis| Some(Duration::from_millis(millis));
    let longest: Vec<_> = (0..4).map(|retries| pause(RetryAdvice::Unsaid, retries, 255)).collect();
    assert_eq!(longest, [millis(500), millis(1000), millis(2000), millis(4000)]);
    let shortest: Vec<_> = (0..3).map(|retries| pause(RetryAdvice::Unsaid, retries, 0)).collect();
    assert_eq!(shortest, [millis(250), millis(500), millis(1000)]);
    assert_eq!(pause(RetryAdvice::Unsaid, u32::MAX, 255), Some(LONGEST_PAUSE));
}

#[test]
fn a_provider_is_waited_for_as_long_as_it_asks_and_never_longer_than_a_minute() {
    let seconds = Duration::from_secs;
    assert_eq!(pause(RetryAdvice::After(seconds(7)), 0, 0), Some(seconds(7)));
    assert_eq!(pause(RetryAdvice::At(NOW.plus(seconds(9))), 0, 0), Some(seconds(9)));
    assert_eq!(pause(RetryAdvice::At(Timestamp::from_micros(1)), 0, 255), Some(Duration::from_millis(500)));
    assert_eq!(pause(RetryAdvice::After(LONGEST_PAUSE), 0, 0), Some(LONGEST_PAUSE));
    assert_eq!(pause(RetryAdvice::After(LONGEST_PAUSE + seconds(1)), 0, 0), None);
    assert_eq!(pause(RetryAdvice::Pointless, 0, 0), None);
}

#[test]
fn only_what_may_pass_is_tried_again() {
    use ModelFailureKind::{ProviderError, RateLimited, Unreachable};
    for kind in ModelFailureKind::ALL {
        let is_tried = pause_behind(&refusal(kind, RetryAdvice::Unsaid), 0, NOW, 0).is_some();
        assert_eq!(is_tried, [RateLimited, ProviderError, Unreachable].contains(&kind), "{kind:?}");
    }
}

#[test]
fn a_failure_is_free_when_nothing_was_sent_or_nothing_was_generated() {
    let outcome = |failure: ModelFailure, text: &str, was_sent| ModelOutcome {
        reply: ModelReply { text: text.to_owned(), ..ModelReply::default() },
        end: ModelCallEnd::Failed(failure),
        first_delta_ms: None,
        was_sent,
    };
    let broken = ModelFailure::new(ModelFailureKind::StreamTruncated, "cut");
    let refused = refusal(ModelFailureKind::ProviderError, RetryAdvice::Unsaid);
    assert!(free_failure(&outcome(broken.clone(), "", false)).is_some());
    assert!(free_failure(&outcome(refused.clone(), "", true)).is_some());
    assert!(free_failure(&outcome(broken, "", true)).is_none());
    assert!(free_failure(&outcome(refused.clone(), "par", true)).is_none());
    let mut paid = outcome(refused, "", true);
    paid.reply.usage = Some(TokenUsage { input: 1, ..TokenUsage::default() });
    assert!(free_failure(&paid).is_none());
    let cancelled = ModelOutcome { end: ModelCallEnd::Cancelled, was_sent: false, ..paid };
    assert!(free_failure(&cancelled).is_none());
}

fn models(windows: &[u32]) -> Vec<PinnedModel> {
    let spec = |context_window| ModelSpec {
        protocol: ModelProtocol::OpenaiCompatible,
        provider: "p".to_owned(),
        deployment: "d".to_owned(),
        alias: "a".to_owned(),
        base_url: "http://127.0.0.1/v1".to_owned(),
        credential_id: None,
        parameters: serde_json::Map::new(),
        context_window,
        max_output_tokens: 10,
        price: None,
        max_retries: 0,
    };
    windows.iter().map(|window| PinnedModel { id: ResourceId::from_bits(1), spec: spec(*window), key: None }).collect()
}

fn failed(fallback_index: u32, kind: ModelFailureKind) -> ModelCall {
    ModelCall {
        id: ModelCallId::from_bits(1),
        iteration: 1,
        epoch: 1,
        state: CallState::Failed,
        provider: String::new(),
        deployment: String::new(),
        alias: String::new(),
        fallback_index,
        fallback_because: None,
        tries: 1,
        parameters: serde_json::Map::new(),
        price_version: None,
        price: None,
        reserved_tokens: 0,
        reserved: NanoUsd::ZERO,
        usage: TokenUsage::default(),
        cost: NanoUsd::ZERO,
        estimated: false,
        finish_reason: None,
        error: Some((kind.code().to_owned(), "no".to_owned())),
        request: SentMessages { from: 0, messages: StoredText::empty() },
        reply_text: StoredText::empty(),
        reply_tool_calls: Vec::new(),
        reply_partial: true,
        started_sequence: 1,
        started_at: NOW,
        ended_at: Some(NOW),
        first_delta_ms: None,
    }
}

fn next(call: &ModelCall, windows: &[u32]) -> Option<u32> {
    ModelChoice::after(call, &models(windows)).map(|choice| choice.index)
}

#[test]
fn the_next_model_is_asked_whatever_failed_but_a_wrong_request() {
    for kind in ModelFailureKind::ALL {
        let wanted = (kind != ModelFailureKind::Rejected).then_some(1);
        assert_eq!(next(&failed(0, kind), &[10, 20]), wanted, "{kind:?}");
        assert_eq!(next(&failed(1, kind), &[10, 20]), None, "{kind:?}: the list has an end");
    }
    let choice = ModelChoice::after(&failed(0, ModelFailureKind::Timeout), &models(&[10, 10])).unwrap();
    assert_eq!(choice.because, Some(("MODEL_TIMEOUT".to_owned(), "no".to_owned())));
    assert!(!choice.has_counted);
}

/// What a model has counted stays its measure until another model is asked.
#[test]
fn a_count_holds_for_the_model_that_made_it() {
    let call = |fallback_index, state, estimated| ModelCall {
        state,
        estimated,
        ..failed(fallback_index, ModelFailureKind::Timeout)
    };
    let counted = ModelChoice::default().behind(&call(0, CallState::Settled, false));
    assert!(counted.has_counted);
    assert!(counted.behind(&call(0, CallState::Settled, true)).has_counted);
    assert!(counted.behind(&call(0, CallState::Lost, true)).has_counted);
    assert!(!counted.behind(&call(1, CallState::Settled, true)).has_counted);
    assert!(!counted.behind(&call(1, CallState::Lost, true)).has_counted);
    assert!(!ModelChoice::default().behind(&call(0, CallState::Settled, true)).has_counted);
    assert_eq!(counted.behind(&call(1, CallState::Settled, false)).index, 1);
}

#[test]
fn a_conversation_that_is_too_long_goes_to_a_larger_window() {
    let call = failed(0, ModelFailureKind::ContextTooLong);
    assert_eq!(next(&call, &[20, 10, 20, 30]), Some(3));
    assert_eq!(next(&call, &[20, 10, 20]), None);
}

#[test]
fn nothing_is_asked_again_once_a_byte_of_output_came() {
    let mut call = failed(0, ModelFailureKind::ProviderError);
    call.reply_text = StoredText::Inline("par".to_owned());
    assert_eq!(next(&call, &[10, 10]), None);
    let mut call = failed(0, ModelFailureKind::StreamTruncated);
    let (name, arguments) = ("pay".to_owned(), "{}".to_owned());
    call.reply_tool_calls = vec![RequestedToolCall { id: ToolCallId::from_bits(1), name, arguments }];
    assert_eq!(next(&call, &[10, 10]), None);
    for state in [CallState::Started, CallState::Settled, CallState::Cancelled, CallState::Lost] {
        assert_eq!(next(&ModelCall { state, ..failed(0, ModelFailureKind::Timeout) }, &[10, 10]), None);
    }
}

#[test]
fn every_class_has_a_code_of_its_own_and_is_found_by_it() {
    let codes: BTreeSet<_> = ModelFailureKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), ModelFailureKind::ALL.len());
    assert!(ModelFailureKind::ALL.iter().all(|kind| ModelFailureKind::of_code(kind.code()) == Some(*kind)));
    assert_eq!(ModelFailureKind::of_code("LOST"), None);
}

/// The page and the code say the same: a row for each class, in order, with whether it is tried again and whether the
/// next model is asked.
#[test]
fn the_page_for_users_tells_of_every_class() {
    let page = include_str!("../../../docs/model-errors.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), ModelFailureKind::ALL.len());
    let yes = |cell: &str| cell.starts_with("yes");
    for (kind, row) in ModelFailureKind::ALL.into_iter().zip(rows) {
        assert_eq!(row[0], format!("`{}`", kind.code()));
        assert_eq!(row.len(), 6, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert_eq!((yes(row[2]), yes(row[3])), (kind.is_passing(), kind.is_other_models_chance()), "{row:?}");
    }
    let codes = include_str!("../../../docs/errors.md");
    assert!(ModelFailureKind::ALL.iter().all(|kind| codes.contains(&format!("`{}`", kind.code()))));
}
