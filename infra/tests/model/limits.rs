//! Time limits, size limits and cancellation.

use std::time::{Duration, Instant};

use domain::model_call::{FinishReason, ModelCallEnd, ModelFailureKind, ModelOutcome, ModelRuntime, ReplyMode};
use infra::model::CallLimits;
use tokio_util::sync::CancellationToken;

use super::provider::{Pieces, Provider, Step, adapter, ask, chunked, context, request, stream};

const PIECE: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n";
const FINISH: &[u8] = b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

fn short() -> CallLimits {
    CallLimits {
        first_byte: Duration::from_millis(300),
        idle: Duration::from_millis(200),
        total: Duration::from_secs(30),
        tail: Duration::from_millis(100),
        reply_bytes: 1 << 20,
    }
}

async fn call(provider: &Provider, limits: CallLimits) -> ModelOutcome {
    let request = request(&provider.url(), ReplyMode::Stream);
    let started = Instant::now();
    let outcome = adapter(limits).call(&context(), &request, &Pieces::default()).await;
    assert!(started.elapsed() < Duration::from_secs(10), "the limit of the server's silence did not hold");
    outcome
}

#[track_caller]
fn assert_failed(outcome: &ModelOutcome, kind: ModelFailureKind, words: &str) {
    match &outcome.end {
        ModelCallEnd::Failed(failure) => {
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(failure.message.contains(words), "{failure}");
        }
        other => panic!("{other:?} is no failure"),
    }
}

#[tokio::test]
async fn headers_that_never_come() {
    let outcome = call(&Provider::playing(vec![Step::Stall]).await, short()).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "did not begin");
    assert!(outcome.was_sent);
}

/// Headers that come one byte at a time are read; those that never end are not waited for, however lively they are.
#[tokio::test]
async fn slow_headers() {
    let bytewise = |steps: Vec<Step>| {
        steps.into_iter().flat_map(|step| match step {
            Step::Send(bytes) => bytes.chunks(1).map(|byte| Step::Send(byte.to_vec())).collect(),
            other => vec![other],
        })
    };
    let outcome = call(&Provider::playing(bytewise(stream([PIECE, FINISH])).collect()).await, short()).await;
    assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Stop));
    let head = b"HTTP/1.1 200 OK\r\nx-wait: ".to_vec();
    let steps = vec![Step::Send(head), Step::Repeat(b"x".to_vec(), Duration::from_millis(20))];
    let outcome = call(&Provider::playing(steps).await, short()).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "did not begin");
    assert!(outcome.was_sent);
}

/// Comments keep the connection alive and say nothing: a provider may send them while it thinks.
#[tokio::test]
async fn a_stream_of_nothing_but_comments_ends_with_the_time_of_the_call() {
    let mut steps = chunked("text/event-stream", [PIECE]);
    steps.push(Step::Repeat(b"8\r\n: wait\n\n\r\n".to_vec(), Duration::from_millis(20)));
    let limits = CallLimits { total: Duration::from_millis(600), ..short() };
    let outcome = call(&Provider::playing(steps).await, limits).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "in all");
    assert_eq!(outcome.reply.text, "par");
}

#[tokio::test]
async fn headers_without_a_body() {
    let mut steps = chunked("text/event-stream", []);
    steps.push(Step::Stall);
    let outcome = call(&Provider::playing(steps).await, short()).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "did not begin");
}

#[tokio::test]
async fn silence_in_the_middle() {
    let mut steps = chunked("text/event-stream", [PIECE]);
    steps.push(Step::Stall);
    let outcome = call(&Provider::playing(steps).await, short()).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "fell silent");
    assert_eq!(outcome.reply.text, "par");
}

#[tokio::test]
async fn silence_behind_the_finish_reason_is_no_failure() {
    let mut steps = chunked("text/event-stream", [PIECE, FINISH]);
    steps.push(Step::Stall);
    let outcome = call(&Provider::playing(steps).await, short()).await;
    assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Stop));
    assert_eq!((outcome.reply.text.as_str(), outcome.reply.usage), ("par", None));
}

#[tokio::test]
async fn what_the_execution_has_left_bounds_the_call() {
    let mut steps = chunked("text/event-stream", [PIECE]);
    steps.push(Step::Stall);
    let provider = Provider::playing(steps).await;
    let mut context = context();
    context.time_left = Duration::from_millis(150);
    let request = request(&provider.url(), ReplyMode::Stream);
    let outcome = adapter(CallLimits::default()).call(&context, &request, &Pieces::default()).await;
    assert_failed(&outcome, ModelFailureKind::Timeout, "in all");
    assert_eq!(outcome.reply.text, "par");
}

#[tokio::test]
async fn cancelling_in_the_middle_returns_the_part_at_once() {
    let mut steps = chunked("text/event-stream", [PIECE]);
    steps.push(Step::Stall);
    let provider = Provider::playing(steps).await;
    let context = context();
    let sink = Pieces { cancel_at_first: Some(context.cancel.clone()), ..Pieces::default() };
    let request = request(&provider.url(), ReplyMode::Stream);
    let started = Instant::now();
    let outcome = adapter(CallLimits::default()).call(&context, &request, &sink).await;
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(outcome.end, ModelCallEnd::Cancelled);
    assert_eq!(outcome.reply.text, "par");
    assert!(outcome.was_sent);
}

#[tokio::test]
async fn a_call_that_is_cancelled_already_sends_nothing() {
    let provider = Provider::playing(stream([PIECE, FINISH])).await;
    let mut context = context();
    context.cancel = CancellationToken::new();
    context.cancel.cancel();
    let request = request(&provider.url(), ReplyMode::Stream);
    let outcome = adapter(CallLimits::default()).call(&context, &request, &Pieces::default()).await;
    assert_eq!(outcome.end, ModelCallEnd::Cancelled);
    assert!(!outcome.was_sent);
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn a_reply_over_its_size_is_a_failure_that_keeps_the_part() {
    let pieces = vec![PIECE; 50];
    let provider = Provider::playing(stream(pieces)).await;
    let outcome = call(&provider, CallLimits { reply_bytes: 100, ..short() }).await;
    assert_failed(&outcome, ModelFailureKind::Protocol, "larger than 100 bytes");
    assert_eq!(outcome.reply.text.len(), 99);
}

#[tokio::test]
async fn a_line_without_end_is_a_failure_that_keeps_the_part() {
    let long = vec![b'x'; 5 << 20];
    let mut chunks = vec![PIECE];
    chunks.extend(long.chunks(64 << 10));
    let (outcome, _) = ask(&Provider::playing(stream(chunks)).await, ReplyMode::Stream).await;
    assert_failed(&outcome, ModelFailureKind::Protocol, "too long");
    assert_eq!(outcome.reply.text, "par");
}
