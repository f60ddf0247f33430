//! What a reply comes to, however its bytes are split.

use domain::model_call::{ModelCallEnd, ModelFailureKind, ModelOutcome, ModelRuntime, ReplyMode};
use infra::model::CallLimits;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::fixtures::{Case, cases};
use super::provider::{Pieces, Provider, Step, adapter, answer, ask, chunked, context, request, stream};

#[track_caller]
fn check(case: &Case, outcome: &ModelOutcome, how: &str) {
    let name = case.name;
    assert_eq!(outcome.reply.text, case.text, "{name} {how}");
    let calls: Vec<_> = outcome.reply.tool_calls.iter().map(|(name, raw)| (name.as_str(), raw.as_str())).collect();
    assert_eq!(calls, case.calls, "{name} {how}");
    assert_eq!(outcome.reply.usage, case.usage, "{name} {how}");
    assert!(outcome.was_sent);
    match (&outcome.end, case.end) {
        (ModelCallEnd::Finished(reason), Ok(wanted)) => assert_eq!(*reason, wanted, "{name} {how}"),
        (ModelCallEnd::Failed(failure), Err(wanted)) => assert_eq!(failure.kind, wanted, "{name} {how}"),
        (end, wanted) => panic!("{name} {how}: {end:?} where {wanted:?} is due"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fixture_comes_to_the_same_at_every_split() {
    let provider = Provider::start().await;
    let (context, request) = (context(), request(&provider.url(), ReplyMode::Stream));
    let adapter = adapter(CallLimits::default());
    let mut sent = 0;
    for case in cases() {
        let whole = std::iter::once((stream([&case.body[..]]), "whole".to_owned()));
        let bytewise = std::iter::once((stream(case.body.chunks(1)), "byte by byte".to_owned()));
        let splits = (1..case.body.len()).map(|at| {
            let (left, right) = case.body.split_at(at);
            (stream([left, right]), format!("split at {at}"))
        });
        for (steps, how) in whole.chain(bytewise).chain(splits) {
            provider.play(steps);
            let sink = Pieces::default();
            let outcome = adapter.call(&context, &request, &sink).await;
            check(&case, &outcome, &how);
            assert_eq!(sink.pieces.into_inner().unwrap().concat(), case.text, "{} {how}", case.name);
            assert_eq!(outcome.first_delta_ms.is_some(), !case.text.is_empty());
            sent += 1;
        }
    }
    assert_eq!(provider.requests().len(), sent, "one call is one request");
}

#[tokio::test]
async fn calls_in_a_row_share_a_connection() {
    let provider = Provider::start().await;
    let adapter = adapter(CallLimits::default());
    let case = cases().remove(0);
    for mode in [ReplyMode::Stream, ReplyMode::Complete, ReplyMode::Stream] {
        provider.play(stream([&case.body[..]]));
        let outcome = adapter.call(&context(), &request(&provider.url(), mode), &Pieces::default()).await;
        check(&case, &outcome, "in a row");
    }
    assert_eq!((provider.requests().len(), provider.connections()), (3, 1));
}

/// What an endpoint would answer without streaming: the same chunks, put together.
fn whole_body(case: &Case) -> Value {
    let calls: Vec<Value> = case
        .calls
        .iter()
        .map(|(name, raw)| json!({"id": "dup", "type": "function", "function": {"name": name, "arguments": raw}}))
        .collect();
    // A whole body that is cut off breaks earlier, as JSON; everything else has a twin.
    let reason = last_of(case, "/choices/0/finish_reason").unwrap_or(Value::Null);
    let usage = last_of(case, "/usage").unwrap_or(Value::Null);
    let message = json!({"role": "assistant", "content": case.text, "tool_calls": calls});
    json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage})
}

/// The last value of a member in the events of a stream.
fn last_of(case: &Case, path: &str) -> Option<Value> {
    let text = String::from_utf8(case.body.clone()).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let bodies = lines.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    bodies.filter_map(|body| body.pointer(path).filter(|value| !value.is_null()).cloned()).next_back()
}

#[tokio::test]
async fn complete_mode_gives_what_the_stream_gives() {
    let provider = Provider::start().await;
    let mut played = 0;
    for case in cases() {
        let body = match case.end {
            Err(ModelFailureKind::StreamTruncated) => continue,
            Err(kind) if kind != ModelFailureKind::Protocol => error_body(&case),
            Ok(_) | Err(_) => whole_body(&case),
        };
        provider.play(answer("200 OK", "application/json; charset=utf-8", &body.to_string()));
        let (outcome, pieces) = ask(&provider, ReplyMode::Complete).await;
        // An error stands alone in a whole body: there is no part before it.
        let text = if case.end.is_ok() { case.text } else { "" };
        check(&Case { text, ..case }, &outcome, "complete");
        assert!(pieces.is_empty(), "no delta was asked for");
        played += 1;
    }
    assert!(played > 18, "{played}");
}

/// The error of a stream as a whole body; what stands in an `error` event is the error itself.
fn error_body(case: &Case) -> Value {
    last_of(case, "/error")
        .map_or_else(|| json!({"error": last_of(case, "").unwrap()}), |error| json!({"error": error}))
}

#[tokio::test]
async fn either_form_is_read_whichever_was_asked_for() {
    let provider = Provider::start().await;
    let case = cases().remove(0);
    provider.play(answer("200 OK", "application/json", &whole_body(&case).to_string()));
    let (outcome, pieces) = ask(&provider, ReplyMode::Stream).await;
    check(&case, &outcome, "whole though streamed");
    assert_eq!(pieces, ["Hello"]);
    provider.play(stream([&case.body[..]]));
    let (outcome, pieces) = ask(&provider, ReplyMode::Complete).await;
    check(&case, &outcome, "streamed though whole");
    assert!(pieces.is_empty());
}

async fn end_of(media_type: &str, body: &str, mode: ReplyMode) -> ModelCallEnd {
    let mut steps = chunked(media_type, [body.as_bytes()]);
    steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
    ask(&Provider::playing(steps).await, mode).await.0.end
}

#[track_caller]
fn assert_failed(end: &ModelCallEnd, kind: ModelFailureKind, words: &str) {
    match end {
        ModelCallEnd::Failed(failure) => {
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(failure.message.contains(words), "{failure}");
        }
        other => panic!("{other:?} is no failure"),
    }
}

#[tokio::test]
async fn what_is_no_reply_is_a_failure() {
    use ModelFailureKind::{Protocol, RateLimited, StreamTruncated};
    let json = "application/json";
    let sse = "text/event-stream";
    let end = end_of(json, r#"{"error":{"message":"out","type":"insufficient_quota"}}"#, ReplyMode::Complete).await;
    assert_failed(&end, RateLimited, "out");
    assert_failed(&end_of(json, "<html>", ReplyMode::Complete).await, Protocol, "no JSON");
    assert_failed(&end_of(json, r#"{"choices":[]}"#, ReplyMode::Complete).await, Protocol, "empty");
    assert_failed(&end_of(sse, "data: {oops\n\n", ReplyMode::Stream).await, Protocol, "no JSON");
    assert_failed(&end_of(sse, "data: [DONE]\n\n", ReplyMode::Stream).await, Protocol, "empty");
    assert_failed(&end_of(sse, "", ReplyMode::Stream).await, StreamTruncated, "without a whole event");
    assert_failed(&end_of("text/html", "<html>\n", ReplyMode::Stream).await, Protocol, "no JSON");
    let nothing = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    assert_failed(&end_of(sse, nothing, ReplyMode::Stream).await, Protocol, "calls none");
}

fn tool_stream(deltas: &[Value]) -> Vec<u8> {
    let mut body = String::new();
    for delta in deltas {
        body.push_str(&format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [delta]}}]})));
    }
    body.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n");
    body.into_bytes()
}

#[tokio::test]
async fn calls_are_told_apart_in_every_dialect() {
    let piece = |index: Option<u64>, id: &str, name: &str, arguments: &str| {
        let mut piece = json!({"id": id, "function": {"name": name, "arguments": arguments}});
        if let Some(index) = index {
            piece["index"] = json!(index);
        }
        piece
    };
    let f1 = ("f".to_owned(), r#"{"a":1}"#.to_owned());
    let g2 = ("g".to_owned(), r#"{"b":2}"#.to_owned());
    let f2 = ("f".to_owned(), r#"{"b":2}"#.to_owned());
    let dialects = [
        // Interleaved by index.
        (
            vec![
                piece(Some(0), "x", "f", "{\"a\""),
                piece(Some(1), "y", "g", r#"{"b""#),
                piece(Some(0), "", "", ":1}"),
                piece(Some(1), "", "", ":2}"),
            ],
            vec![f1.clone(), g2.clone()],
        ),
        // Index 0 on every call.
        (
            vec![piece(Some(0), "x", "f", r#"{"a":1}"#), piece(Some(0), "y", "g", r#"{"b":2}"#)],
            vec![f1.clone(), g2.clone()],
        ),
        // A new id for every piece.
        (vec![piece(Some(0), "x", "f", "{\"a\""), piece(Some(0), "y", "", ":1}")], vec![f1.clone()]),
        // Neither index nor id.
        (vec![piece(None, "", "f", r#"{"a":1}"#), piece(None, "", "g", r#"{"b":2}"#)], vec![f1.clone(), g2.clone()]),
        // One id for two calls, no index.
        (vec![piece(None, "x", "f", r#"{"a":1}"#), piece(None, "x", "f", r#"{"b":2}"#)], vec![f1.clone(), f2.clone()]),
        // Id and name repeated on every piece.
        (vec![piece(None, "x", "f", "{\"a\""), piece(None, "x", "f", ":1}")], vec![f1.clone()]),
    ];
    let provider = Provider::start().await;
    for (number, (deltas, wanted)) in dialects.into_iter().enumerate() {
        provider.play(stream([&tool_stream(&deltas)[..]]));
        let (outcome, _) = ask(&provider, ReplyMode::Stream).await;
        assert_eq!(outcome.reply.tool_calls, wanted, "dialect {number}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_chunking_of_a_stream_gives_the_same_reply(
        which in 0_usize..23,
        cuts in prop::collection::vec(0_usize..4000, 0..40),
    ) {
        let case = cases().remove(which);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % case.body.len()).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([case.body.len()]) {
            chunks.push(&case.body[from..cut]);
            from = cut;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = runtime.block_on(async {
            ask(&Provider::playing(stream(chunks)).await, ReplyMode::Stream).await.0
        });
        check(&case, &outcome, "chunked at random");
    }
}
