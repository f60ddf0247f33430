//! What an execution makes of what providers are known to send, from the bytes on the wire to the rows and the log.

use std::time::{Duration, Instant};

use domain::artifact::StoredText;
use domain::budget::Limits;
use domain::event::Event;
use domain::execution::{ExecutionStatus, StopCode};
use domain::model_call::{CallState, FinishReason, ModelCall};
use domain::money::{NanoUsd, Price, TokenUsage};
use domain::resource::ModelSpec;
use domain::tool_call::ToolCallState::{Refused, Succeeded};
use infra::model::CallLimits;
use serde_json::Value;

use crate::books::Books;
use crate::provider::{Provider, Step, answer, chunked, stream};
use crate::stage::{PRICE, Stage, model_spec, reserved_for_tools};

/// A stage whose agent asks this provider, and an execution of it that has ended.
pub struct Played {
    pub stage: Stage,
    pub books: Books,
}

impl Played {
    async fn by(provider: &Provider) -> Self {
        Self::with(provider, CallLimits::default(), |_| {}).await
    }

    pub async fn with(provider: &Provider, limits: CallLimits, edit: impl FnOnce(&mut ModelSpec)) -> Self {
        let mut stage = Stage::new().await;
        let mut spec = asked(&stage, provider);
        edit(&mut spec);
        stage.ask_models(vec![spec], limits).await;
        let execution = stage.start_with(Vec::new(), Limits::default()).await;
        stage.finish(execution).await;
        let books = Books::of_asked_models(&stage, execution).await;
        Self { stage, books }
    }

    pub fn calls(&self) -> Vec<&ModelCall> {
        self.books.model_calls().collect()
    }

    fn one_call(&self) -> &ModelCall {
        let calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls[0]
    }
}

/// A model at this provider.
pub fn asked(stage: &Stage, provider: &Provider) -> ModelSpec {
    ModelSpec { provider: "loopback".to_owned(), base_url: provider.url(), ..model_spec(&stage.samples) }
}

pub fn error_code(call: &ModelCall) -> &str {
    call.error.as_ref().map_or("", |(code, _)| code)
}

fn fixture(path: &str) -> String {
    let all: Value = serde_json::from_str(include_str!("../model/fixtures.json")).unwrap();
    all.pointer(path).unwrap().as_str().unwrap().to_owned()
}

pub fn said(text: &str) -> Vec<Step> {
    let usage = r#"{"prompt_tokens":10,"completion_tokens":5}"#;
    streamed(&format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}\n\n"
    ))
}

fn streamed(body: &str) -> Vec<Step> {
    stream([body.as_bytes()])
}

/// X05 with a tool that there is: `put` becomes `note`, and its number a text.
fn notes(path: &str) -> Vec<Step> {
    let body = fixture(path).replace("\"put\"", "\"note\"");
    let with_text = |body: String, number: u8| {
        body.replace(&format!(r#"{{\"k\":{number}}}"#), &format!(r#"{{\"text\":\"{number}\"}}"#))
    };
    streamed(&(1..=3).fold(body, with_text))
}

/// F06: each call runs once, and each result goes back under an id that the provider's own cannot mix up.
#[tokio::test]
async fn calls_that_share_an_id_run_once_each() {
    let provider = Provider::start().await;
    provider.play_in_turn([notes("/X05/turn1"), notes("/X05/turn2"), said("Done.")]);
    let played = Played::by(&provider).await;
    assert_eq!(played.books.tool_ends(), [(Succeeded, ""); 3]);
    let arguments: Vec<_> = played.books.tool_calls().map(|call| call.arguments.clone()).collect();
    let text = |number| StoredText::Inline(format!(r#"{{"text":"{number}"}}"#));
    assert_eq!(arguments, [text(1), text(2), text(3)]);
    let requests = provider.requests();
    assert_eq!(requests.len(), 3);
    let messages = requests[1].body["messages"].as_array().unwrap();
    let asked: Vec<_> = messages[2]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].clone()).collect();
    let answered: Vec<_> = messages[3..].iter().map(|message| message["tool_call_id"].clone()).collect();
    assert_eq!(asked, answered);
    assert!(asked.len() == 2 && asked[0] != asked[1] && !asked.contains(&Value::from("dup")), "{asked:?}");
    played.stage.close().await;
}

/// F07: half an argument object is never run, whatever the finish reason says, and is kept as it came.
#[tokio::test]
async fn cut_arguments_are_refused_and_kept() {
    const CUT: &str = "{\"path\":\"/tmp/a\",\"content\":\"line1";
    let provider = Provider::start().await;
    provider.play_in_turn([streamed(&fixture("/X06/bytes")), said("Sorry.")]);
    let played = Played::by(&provider).await;
    assert_eq!(played.books.tool_ends(), [(Refused, "INVALID_TOOL_ARGUMENTS")]);
    assert_eq!(played.stage.sandbox.live(), 0);
    let call = played.calls()[0];
    assert_eq!(call.usage, TokenUsage { input: 20, output: 16, ..TokenUsage::default() });
    assert_eq!((call.cost, call.estimated), (PRICE.cost(&call.usage), false));
    assert_eq!(call.reply_tool_calls[0].arguments, CUT);
    assert_eq!(played.books.tool_calls().next().unwrap().arguments, StoredText::Inline(CUT.to_owned()));
    assert_eq!(played.books.code(), StopCode::FinalAnswer);
    played.stage.close().await;

    provider.play(streamed(&fixture("/X06/bytes").replace("\"tool_calls\"}", "\"length\"}")));
    let played = Played::by(&provider).await;
    assert_eq!((played.books.code(), played.books.tool_calls().count()), (StopCode::ModelOutputTruncated, 0));
    let call = played.one_call();
    assert_eq!((call.finish_reason, call.usage.total()), (Some(FinishReason::Length), 36));
    played.stage.close().await;
}

/// F12: an error behind status 200 is no answer. What came before it is kept, and nothing is asked again.
#[tokio::test]
async fn an_error_in_a_stream_fails_the_call_and_keeps_the_part() {
    for (path, code, text) in [
        ("/X08/object", "MODEL_RATE_LIMITED", "par"),
        ("/X08/string", "MODEL_PROVIDER_ERROR", ""),
        ("/X08/event_name", "MODEL_PROVIDER_ERROR", ""),
    ] {
        let provider = Provider::playing(streamed(&fixture(path))).await;
        let played = Played::by(&provider).await;
        let call = played.one_call();
        assert_eq!((call.state, error_code(call), call.tries), (CallState::Failed, code, 1), "{path}");
        assert_eq!((&call.reply_text, call.reply_partial), (&StoredText::Inline(text.to_owned()), true));
        assert!(call.estimated && call.cost > NanoUsd::ZERO, "an engine that broke down may have worked");
        let progress = &played.books.execution.progress;
        assert_eq!((played.books.code(), progress.status), (StopCode::ModelFailed, ExecutionStatus::Failed));
        assert_eq!(progress.answer.as_deref().unwrap_or(""), text, "{path}");
        assert_eq!(provider.requests().len(), 1, "{path}");
        played.stage.close().await;
    }
}

/// F13: a stream that ends early is no answer, and a call in it is not run though its arguments are whole.
#[tokio::test]
async fn a_stream_that_ends_early_runs_nothing() {
    for (path, text) in [("/X09/b", "half an ans"), ("/X09/c", "")] {
        let body = fixture(path).replace("\"pay\"", "\"note\"").replace("{}", r#"{\"text\":\"paid\"}"#);
        let provider = Provider::playing(streamed(&body)).await;
        let played = Played::by(&provider).await;
        let call = played.one_call();
        assert_eq!((error_code(call), call.reply_partial), ("STREAM_TRUNCATED", true), "{path}");
        assert_eq!(call.reply_text, StoredText::Inline(text.to_owned()));
        assert_eq!(played.books.tool_calls().count(), 0, "{path}");
        assert_eq!(played.books.code(), StopCode::ModelFailed);
        assert_eq!(provider.requests().len(), 1, "output came: nothing is asked again");
        played.stage.close().await;
    }
}

/// F02, F14: the usage behind the finish reason is charged once, and its parts are not added to it.
#[tokio::test]
async fn cached_and_reasoning_tokens_are_charged_as_parts() {
    let all: Value = serde_json::from_str(include_str!("../model/fixtures.json")).unwrap();
    let body = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"x\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
         data: {{\"choices\":[],\"usage\":{}}}\n\ndata: [DONE]\n\n",
        all["X10"]["usage"]
    );
    let provider = Provider::playing(streamed(&body)).await;
    let price = Price {
        input_per_million: NanoUsd(250_000_000),
        cached_input_per_million: NanoUsd(25_000_000),
        output_per_million: NanoUsd(2_000_000_000),
        reasoning_per_million: None,
    };
    let played = Played::with(&provider, CallLimits::default(), |spec| {
        spec.price.as_mut().unwrap().price = price;
    })
    .await;
    let call = played.one_call();
    assert_eq!((call.usage.total(), call.cost), (1500, NanoUsd(1_070_000)));
    assert_eq!(played.books.execution.progress.used.spent, NanoUsd(1_070_000));
    played.stage.close().await;
}

/// A token for four bytes of what was sent and of what came, and the call says that nobody counted.
#[tokio::test]
async fn a_reply_without_usage_is_estimated_and_marked() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"twelve bytes\"},\"finish_reason\":\"stop\"}]}\n\n";
    let provider = Provider::playing(streamed(text)).await;
    let played = Played::by(&provider).await;
    let call = played.one_call();
    // The instructions and the task are "Play." both; the tools are sent as well.
    assert_eq!(
        call.usage,
        TokenUsage { input: (10 + reserved_for_tools()).div_ceil(4), output: 3, ..TokenUsage::default() }
    );
    assert_eq!((call.state, call.estimated), (CallState::Settled, true));
    assert_eq!(call.cost, PRICE.cost(&call.usage));
    let is_marked = |event: &Event| matches!(event, Event::ModelCallFinished { estimated: true, .. });
    assert!(played.books.log.iter().any(|record| is_marked(&record.event)));
    played.stage.close().await;
}

/// It is asked once more without, which is a try of the same call and no retry; later calls leave it out at once.
#[tokio::test]
async fn an_endpoint_that_refuses_stream_options_is_asked_without() {
    let refused = answer("400 Bad Request", "application/json", r#"{"error":"unknown field stream_options"}"#);
    let provider = Provider::start().await;
    provider.play_in_turn([refused, notes("/X05/turn2"), said("Done.")]);
    let played = Played::with(&provider, CallLimits::default(), |spec| spec.max_retries = 0).await;
    let calls = played.calls();
    let seen: Vec<_> = calls.iter().map(|call| (call.state, call.tries, call.estimated)).collect();
    assert_eq!(seen, [(CallState::Settled, 2, true), (CallState::Settled, 1, false)]);
    let asked: Vec<_> = provider.requests().iter().map(|sent| sent.body.get("stream_options").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
    let retried = |event: &Event| match event {
        Event::ModelCallRetried { try_number, wait_ms, error, .. } => Some((*try_number, *wait_ms, error.code.clone())),
        _ => None,
    };
    let retried: Vec<_> = played.books.log.iter().filter_map(|record| retried(&record.event)).collect();
    assert_eq!(retried, [(1, 0, "MODEL_REJECTED".to_owned())]);
    played.stage.close().await;
}

fn impatient() -> CallLimits {
    let millis = Duration::from_millis;
    CallLimits { first_byte: millis(300), idle: millis(200), tail: millis(100), ..CallLimits::default() }
}

/// The idle limit ends it: the part is kept and marked, what came is charged, and the run says why it ended.
#[tokio::test]
async fn a_stream_that_stalls_ends_the_run_in_bounded_time() {
    let part = b"data: {\"choices\":[{\"delta\":{\"content\":\"So far\"}}]}\n\n";
    let mut steps = chunked("text/event-stream", [&part[..]]);
    steps.push(Step::Stall);
    let provider = Provider::playing(steps).await;
    let began = Instant::now();
    let played = Played::with(&provider, impatient(), |spec| spec.max_retries = 5).await;
    assert!(began.elapsed() < Duration::from_secs(20), "the run did not end by its idle limit");
    let call = played.one_call();
    assert_eq!((call.state, error_code(call), call.reply_partial), (CallState::Failed, "MODEL_TIMEOUT", true));
    assert_eq!(call.reply_text, StoredText::Inline("So far".to_owned()));
    assert!(call.estimated && call.cost > NanoUsd::ZERO);
    let reason = played.books.execution.progress.stop_reason.clone().unwrap();
    assert_eq!(reason.code, StopCode::ModelFailed);
    assert!(reason.message.contains("MODEL_TIMEOUT") && reason.message.contains("fell silent"), "{}", reason.message);
    assert_eq!(played.books.execution.progress.answer.as_deref(), Some("So far"));
    assert_eq!(provider.requests().len(), 1, "output came: nothing is asked again");
    played.stage.close().await;
}

/// A model that does not begin may be at work: it is charged what it was sent, and not asked twice.
#[tokio::test]
async fn headers_that_do_not_come_end_the_run_in_bounded_time() {
    let provider = Provider::playing(vec![Step::Stall]).await;
    let began = Instant::now();
    let played = Played::with(&provider, impatient(), |spec| spec.max_retries = 5).await;
    assert!(began.elapsed() < Duration::from_secs(20), "the run did not end by its time to the first byte");
    let call = played.one_call();
    assert_eq!((error_code(call), call.tries, call.estimated), ("MODEL_TIMEOUT", 1, true));
    assert!(call.usage.input > 0 && call.usage.output == 0, "{:?}", call.usage);
    assert_eq!(provider.requests().len(), 1);
    played.stage.close().await;
}
