//! Tries of one call: what is sent again, how long that waits, and what ends the wait.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::Ended;
use domain::budget::Limits;
use domain::event::Event;
use domain::execution::{Command, CommandKind, ExecutionRef, ExecutionStatus, StopCode, StopSignal};
use domain::model_call::CallState;
use domain::money::NanoUsd;
use infra::model::CallLimits;

use crate::books::Books;
use crate::provider::{Provider, Step, answer, answer_with};
use crate::provider_cases::{Played, asked, error_code, said};
use crate::small_ports::HASTE;
use crate::stage::{PRICE, Stage};

fn overloaded() -> Vec<Step> {
    answer("503 Service Unavailable", "application/json", r#"{"error":"overloaded"}"#)
}

fn too_many(headers: &str) -> Vec<Step> {
    answer_with("429 Too Many Requests", headers, r#"{"error":"slow down"}"#)
}

/// Try, code and pause of each retry in the log.
fn retries(books: &Books) -> Vec<(u32, String, u32)> {
    let retried = |event: &Event| match event {
        Event::ModelCallRetried { try_number, error, wait_ms, .. } => Some((*try_number, error.code.clone(), *wait_ms)),
        _ => None,
    };
    books.log.iter().filter_map(|record| retried(&record.event)).collect()
}

#[tokio::test]
async fn what_cost_nothing_is_tried_again_under_one_reservation() {
    let provider = Provider::start().await;
    provider.play_in_turn([overloaded(), too_many(""), said("Here.")]);
    let played = Played::with(&provider, CallLimits::default(), |_| {}).await;
    let calls = played.calls();
    assert_eq!((calls.len(), calls[0].state, calls[0].tries), (1, CallState::Settled, 3));
    assert_eq!((calls[0].usage.total(), calls[0].cost), (15, PRICE.cost(&calls[0].usage)));
    let retries = retries(&played.books);
    let seen: Vec<_> = retries.iter().map(|(number, code, _)| (*number, code.as_str())).collect();
    assert_eq!(seen, [(1, "MODEL_PROVIDER_ERROR"), (2, "MODEL_RATE_LIMITED")]);
    assert!((250..=500).contains(&retries[0].2) && (500..=1000).contains(&retries[1].2), "{retries:?}");
    assert_eq!(played.books.execution.progress.used.model_calls, 1);
    assert_eq!(provider.requests().len(), 3);
    played.stage.close().await;
}

#[tokio::test]
async fn the_models_version_says_how_often() {
    for (max_retries, requests) in [(0, 1), (1, 2), (4, 5)] {
        let provider = Provider::playing(overloaded()).await;
        let played = Played::with(&provider, CallLimits::default(), |spec| spec.max_retries = max_retries).await;
        let calls = played.calls();
        assert_eq!((calls.len(), error_code(calls[0])), (1, "MODEL_PROVIDER_ERROR"));
        assert_eq!((provider.requests().len(), calls[0].tries), (requests, max_retries + 1));
        assert_eq!(retries(&played.books).len(), max_retries as usize);
        assert_eq!((calls[0].cost, calls[0].usage.total(), calls[0].estimated), (NanoUsd::ZERO, 0, false));
        assert_eq!(played.books.code(), StopCode::ModelFailed);
        played.stage.close().await;
    }
}

#[tokio::test]
async fn what_would_be_answered_the_same_is_not_tried_again() {
    for (status, body, code) in [
        ("400 Bad Request", "{}", "MODEL_REJECTED"),
        ("401 Unauthorized", "{}", "MODEL_CREDENTIALS"),
        ("404 Not Found", "{}", "MODEL_NOT_FOUND"),
        ("400 Bad Request", r#"{"error":{"code":"context_length_exceeded"}}"#, "MODEL_CONTEXT_TOO_LONG"),
        ("429 Too Many Requests", r#"{"error":{"code":"insufficient_quota"}}"#, "MODEL_RATE_LIMITED"),
    ] {
        let provider = Provider::playing(answer(status, "application/json", body)).await;
        let played = Played::with(&provider, CallLimits::default(), |_| {}).await;
        let calls = played.calls();
        assert_eq!((error_code(calls[0]), calls[0].tries, calls[0].cost), (code, 1, NanoUsd::ZERO), "{status}");
        assert_eq!(provider.requests().len(), 1, "{status}");
        played.stage.close().await;
    }
}

#[tokio::test]
async fn a_provider_that_asks_for_a_pause_gets_it() {
    let provider = Provider::start().await;
    let (then, now) = ("Sun, 06 Nov 2044 08:49:37 GMT", "Sun, 06 Nov 2044 08:49:34 GMT");
    let dated = format!("retry-after: {then}\r\ndate: {now}\r\n");
    provider.play_in_turn([too_many("retry-after: 2\r\n"), too_many(&dated), said("Here.")]);
    let played = Played::with(&provider, CallLimits::default(), |_| {}).await;
    let waits: Vec<_> = retries(&played.books).into_iter().map(|(.., wait_ms)| wait_ms).collect();
    assert_eq!(waits, [2000, 3000]);
    assert_eq!(played.books.code(), StopCode::FinalAnswer);
    played.stage.close().await;
}

/// The call ends with its class at once; nobody waits for what cannot come in time.
#[tokio::test]
async fn a_pause_beyond_the_deadline_is_not_begun() {
    let provider = Provider::playing(too_many("retry-after: 50\r\n")).await;
    let mut stage = Stage::new().await;
    let spec = asked(&stage, &provider);
    stage.ask_models(vec![spec], CallLimits::default()).await;
    let new = stage.new_execution(Vec::new(), Limits::default(), Some(Duration::from_secs(40)));
    stage.ports.executions.start(&new).await.unwrap();
    let execution = new.execution.reference();
    stage.finish(execution).await;
    let books = Books::of_asked_models(&stage, execution).await;
    let call = books.model_calls().next().unwrap();
    assert_eq!((books.code(), error_code(call), call.tries), (StopCode::ModelFailed, "MODEL_RATE_LIMITED", 1));
    assert_eq!((retries(&books).len(), provider.requests().len()), (0, 1));
    // It ended as soon as it was refused, and so long before its deadline.
    let ended_at = books.execution.progress.ended_at.unwrap();
    assert!(ended_at < new.execution.deadline_at.unwrap());
    stage.close().await;

    let limits = Limits { max_active_time_ms: Some(40_000), ..Limits::default() };
    let mut stage = Stage::new().await;
    let spec = asked(&stage, &provider);
    stage.ask_models(vec![spec], CallLimits::default()).await;
    let execution = stage.start_with(Vec::new(), limits).await;
    stage.finish(execution).await;
    let books = Books::of_asked_models(&stage, execution).await;
    assert_eq!((books.code(), retries(&books).len()), (StopCode::ModelFailed, 0));
    stage.close().await;
}

/// A stage with an execution that waits for its provider.
async fn waiting(provider: &Provider) -> (Stage, ExecutionRef) {
    // The clock of the tests is hasty; this is far longer than any of them.
    const { assert!(60 / HASTE >= 3) };
    provider.play_in_turn([too_many("retry-after: 60\r\n"), said("Here.")]);
    let mut stage = Stage::new().await;
    let spec = asked(&stage, provider);
    stage.ask_models(vec![spec], CallLimits::default()).await;
    let execution = stage.start_with(Vec::new(), Limits::default()).await;
    (stage, execution)
}

async fn until_it_waits(stage: &Stage, execution: ExecutionRef) {
    while retries(&Books::read(stage, execution).await).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn cancelling_ends_the_pause_at_once_and_costs_nothing() {
    let provider = Provider::start().await;
    let (stage, execution) = waiting(&provider).await;
    let claimed = stage.claim(execution).await;
    let cancel = async {
        until_it_waits(&stage, execution).await;
        let id = stage.samples.command_id();
        let (by, created_at) = (stage.home.owner, stage.ports.clock.now());
        let command = Command { id, kind: CommandKind::Cancel, by, created_at };
        stage.ports.executions.add_command(execution, &command).await.unwrap();
        stage.ring(execution);
    };
    let (ended, ()) = tokio::join!(stage.run(claimed), cancel);
    assert_eq!(ended, Ended::Finished);
    let books = Books::of_asked_models(&stage, execution).await;
    assert_eq!(books.execution.progress.status, ExecutionStatus::Cancelled);
    let call = books.model_calls().next().unwrap();
    assert_eq!((call.state, call.cost, call.tries), (CallState::Cancelled, NanoUsd::ZERO, 1));
    assert_eq!(provider.requests().len(), 1, "the pause was not waited out");
    stage.close().await;
}

/// The process that shuts down does not wait for a provider; the next one makes the call.
#[tokio::test]
async fn a_shutdown_ends_the_pause_and_the_next_claim_makes_the_call() {
    let provider = Provider::start().await;
    let (stage, execution) = waiting(&provider).await;
    let claimed = stage.claim(execution).await;
    let signal = Arc::new(StopSignal::default());
    let drain = async {
        until_it_waits(&stage, execution).await;
        signal.drain();
    };
    let (ended, ()) = tokio::join!(stage.run_with(claimed, Arc::clone(&signal)), drain);
    assert_eq!((ended, provider.requests().len()), (Ended::GivenBack, 1));
    stage.finish(execution).await;
    let books = Books::of_asked_models(&stage, execution).await;
    let states: Vec<_> = books.model_calls().map(|call| (call.state, call.cost > NanoUsd::ZERO)).collect();
    assert_eq!(states, [(CallState::Cancelled, false), (CallState::Settled, true)]);
    assert_eq!((books.code(), provider.requests().len()), (StopCode::FinalAnswer, 2));
    stage.close().await;
}
