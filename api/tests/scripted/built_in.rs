//! The scenarios for tests and benchmarks.

use std::time::{Duration, Instant};

use api::scripted_model::Script;
use api::scripted_model::built_in::burst_delta;
use domain::model_call::{FinishReason, ModelCallEnd, ModelFailureKind, ReplyMode};
use serde_json::json;

use super::stage::{Stage, assert_finished, go_on, user};

#[tokio::test]
async fn echo_says_what_the_user_said_in_both_modes() {
    let stage = Stage::open(Script::default()).await;
    let words = "Grüße, 你好 🦀! A few more words, so that there are several pieces.";
    for mode in [ReplyMode::Stream, ReplyMode::Complete] {
        let (outcome, pieces) = stage.ask(&stage.request("echo", user(words), mode)).await;
        assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Stop));
        assert_eq!(outcome.reply.text, words);
        let usage = outcome.reply.usage.unwrap();
        assert_eq!(usage.input, ("instructions".len() + words.len()).div_ceil(4) as u64);
        assert_eq!(usage.output, words.len().div_ceil(4) as u64);
        assert_eq!(pieces.len() > 3, mode == ReplyMode::Stream);
    }
}

#[tokio::test]
async fn a_reply_ends_at_the_output_cap() {
    let stage = Stage::open(Script::default()).await;
    let mut request = stage.request("echo", user("éééééééééé"), ReplyMode::Stream);
    request.max_output_tokens = 2;
    let (outcome, _) = stage.ask(&request).await;
    assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Length));
    assert_eq!(outcome.reply.text, "éééé");
    assert_eq!(outcome.reply.usage.unwrap().output, 2);
}

#[tokio::test]
async fn burst_sends_every_delta_once_over_its_time() {
    let stage = Stage::open(Script::default()).await;
    let mut messages = user("please deltas=600 over_ms=600 notes=2");
    let (mut deltas, mut notes) = (Vec::new(), 0);
    let started = Instant::now();
    loop {
        let (outcome, pieces) = stage.ask(&stage.request("burst", messages.clone(), ReplyMode::Stream)).await;
        assert_finished(&outcome);
        deltas.extend(pieces);
        if outcome.reply.tool_calls.is_empty() {
            break;
        }
        go_on(&mut messages, &outcome, |name, arguments| {
            notes += 1;
            assert_eq!((name, arguments), ("note", format!("{{\"text\":\"note {notes} of 2\"}}").as_str()));
            "kept".to_owned()
        });
    }
    assert!(started.elapsed() >= Duration::from_millis(550), "{:?}", started.elapsed());
    assert_eq!(notes, 2);
    assert_eq!(deltas, (0..600).map(burst_delta).collect::<Vec<_>>());
}

#[tokio::test]
async fn tools_makes_the_calls_of_the_task() {
    let stage = Stage::open(Script::default()).await;
    let task = json!({
        "calls": [
            [{"tool": "note", "arguments": {"text": "a"}}, {"tool": "run_shell", "arguments": {"command": "ls"}}],
            [{"tool": "note", "arguments": "{\"text\": cut"}],
        ],
        "texts": ["first"],
        "answer": "it said {{last_result}}",
    });
    let mut messages = user(&format!("Do this: {task} and no more."));
    let mut asked = Vec::new();
    let answer = loop {
        let (outcome, _) = stage.ask(&stage.request("tools", messages.clone(), ReplyMode::Stream)).await;
        if outcome.reply.tool_calls.is_empty() {
            break outcome.reply.text;
        }
        assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::ToolCalls));
        asked.push((outcome.reply.text.clone(), outcome.reply.tool_calls.clone()));
        go_on(&mut messages, &outcome, |name, _| format!("result of {name}"));
    };
    let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
    assert_eq!(
        asked,
        [
            ("first".to_owned(), vec![call("note", r#"{"text":"a"}"#), call("run_shell", r#"{"command":"ls"}"#)]),
            (String::new(), vec![call("note", "{\"text\": cut")]),
        ]
    );
    assert_eq!(answer, "it said result of note");
}

#[tokio::test]
async fn tools_repeats_the_last_turn_for_ever_when_told() {
    let stage = Stage::open(Script::default()).await;
    let task = json!({"calls": [[{"tool": "note", "arguments": {}}]], "repeat": true});
    let mut messages = user(&task.to_string());
    for _ in 0..5 {
        let (outcome, _) = stage.ask(&stage.request("tools", messages.clone(), ReplyMode::Complete)).await;
        assert_eq!(outcome.reply.tool_calls, [("note".to_owned(), "{}".to_owned())]);
        go_on(&mut messages, &outcome, |_, _| String::new());
    }
}

#[tokio::test]
async fn fail_goes_wrong_as_told() {
    use ModelFailureKind::{Credentials, Protocol, ProviderError, RateLimited, Rejected, StreamTruncated, Timeout};
    let stage = Stage::open(Script::default()).await;
    for (task, kind, part) in [
        ("status=429", RateLimited, ""),
        ("status=401", Credentials, ""),
        ("status=500", ProviderError, ""),
        ("error", ProviderError, "A part, and then "),
        ("cut", StreamTruncated, "A part, and then "),
        ("stall", Timeout, "A part, and then "),
        ("silent", Timeout, ""),
        ("garbage", Protocol, ""),
        ("without a known word", Rejected, ""),
    ] {
        let (outcome, _) = stage.ask(&stage.request("fail", user(task), ReplyMode::Stream)).await;
        match &outcome.end {
            ModelCallEnd::Failed(failure) => assert_eq!(failure.kind, kind, "{task}: {failure}"),
            other => panic!("{task}: {other:?}"),
        }
        assert_eq!(outcome.reply.text, part, "{task}");
    }
    let (outcome, _) = stage.ask(&stage.request("fail", user("empty"), ReplyMode::Stream)).await;
    assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Stop));
}

#[tokio::test]
async fn a_task_out_of_bounds_is_refused() {
    let stage = Stage::open(Script::default()).await;
    for (model, task, kind) in [
        ("burst", "deltas=-1", ModelFailureKind::Rejected),
        ("burst", "deltas=99999999999", ModelFailureKind::Rejected),
        ("tools", "no JSON", ModelFailureKind::Rejected),
        ("tools", r#"{"calls": [], "unknown": 1}"#, ModelFailureKind::Rejected),
        ("nobody", "hello", ModelFailureKind::NotFound),
    ] {
        let (outcome, _) = stage.ask(&stage.request(model, user(task), ReplyMode::Stream)).await;
        match &outcome.end {
            ModelCallEnd::Failed(failure) => assert_eq!(failure.kind, kind, "{task}: {failure}"),
            other => panic!("{task}: {other:?}"),
        }
    }
}
