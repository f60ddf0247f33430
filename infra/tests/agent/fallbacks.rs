//! The list of models: when the next one is asked, what it costs, and what a lost worker leaves of it.

use domain::agent::Ended;
use domain::budget::Limits;
use domain::event::Event;
use domain::execution::{ExecutionRef, StopCode};
use domain::ids::ResourceId;
use domain::model_call::CallState;
use domain::money::NanoUsd;
use domain::resource::ModelSpec;
use infra::model::CallLimits;
use tokio::net::TcpListener;

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::provider::{Provider, Step, answer, stream};
use crate::provider_cases::{asked, error_code, said};
use crate::stage::{PRICE, Stage};

fn refused() -> Vec<Step> {
    answer("401 Unauthorized", "application/json", r#"{"error":"wrong key"}"#)
}

/// Asks for the tool `note`.
fn noted(text: &str) -> Vec<Step> {
    let call = format!(r#"{{"index":0,"id":"c","function":{{"name":"note","arguments":"{{\"text\":\"{text}\"}}"}}}}"#);
    let usage = r#"{"prompt_tokens":10,"completion_tokens":5}"#;
    let choice = format!(r#"{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}"#);
    stream([format!("data: {{\"choices\":[{choice}],\"usage\":{usage}}}\n\n").as_bytes()])
}

struct Cast {
    stage: Stage,
    models: Vec<ResourceId>,
}

impl Cast {
    async fn of(providers: &[&Provider], edit: impl Fn(usize, &mut ModelSpec)) -> Self {
        let mut stage = Stage::new().await;
        let spec = |(index, provider): (usize, &&Provider)| {
            let mut spec = ModelSpec { alias: format!("model {index}"), ..asked(&stage, provider) };
            edit(index, &mut spec);
            spec
        };
        let specs = providers.iter().enumerate().map(spec).collect();
        let models = stage.ask_models(specs, CallLimits::default()).await;
        Self { stage, models }
    }

    async fn play(&self, limits: Limits) -> Books {
        let execution = self.stage.start_with(Vec::new(), limits).await;
        self.finish(execution).await
    }

    async fn finish(&self, execution: ExecutionRef) -> Books {
        self.stage.finish(execution).await;
        Books::of_asked_models(&self.stage, execution).await
    }
}

/// Place in the list, state and class of each call.
fn seen(books: &Books) -> Vec<(u32, CallState, &str)> {
    books.model_calls().map(|call| (call.fallback_index, call.state, error_code(call))).collect()
}

#[tokio::test]
async fn the_next_model_answers_and_stays() {
    let (first, second) = (Provider::playing(refused()).await, Provider::start().await);
    second.play_in_turn([noted("a"), said("Done.")]);
    let dear = |index: usize, spec: &mut ModelSpec| {
        if index == 1 {
            spec.price.as_mut().unwrap().price.output_per_million = NanoUsd(9_000_000_000);
        }
    };
    let cast = Cast::of(&[&first, &second], dear).await;
    let books = cast.play(Limits::default()).await;
    let (failed, settled) = (CallState::Failed, CallState::Settled);
    assert_eq!(seen(&books), [(0, failed, "MODEL_CREDENTIALS"), (1, settled, ""), (1, settled, "")]);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 2), "the list is walked down, never up");
    let calls: Vec<_> = books.model_calls().collect();
    assert_eq!(calls.iter().map(|call| call.iteration).collect::<Vec<_>>(), [1, 1, 2]);
    assert_eq!((calls[0].cost, calls[0].alias.as_str()), (NanoUsd::ZERO, "model 0"));
    assert_eq!(calls[1].cost, NanoUsd(10 * 1_000 + 5 * 9_000), "each model has its own price");
    assert!(calls[1].reserved > calls[0].reserved);
    assert_eq!(calls[0].fallback_because, None);
    assert!(calls[1..].iter().all(|call| call.fallback_because == calls[0].error));
    assert_eq!((books.code(), books.execution.progress.used.model_calls), (StopCode::FinalAnswer, 3));
    let started = |event: &Event| match event {
        Event::ModelCallStarted { fallback_index, fallback_because, .. } => {
            Some((*fallback_index, fallback_because.clone().map(|error| error.code)))
        }
        _ => None,
    };
    let started: Vec<_> = books.log.iter().filter_map(|record| started(&record.event)).collect();
    let because = Some("MODEL_CREDENTIALS".to_owned());
    assert_eq!(started, [(0, None), (1, because.clone()), (1, because)]);
    cast.stage.close().await;
}

/// Each model is tried as often as its version says, and each one that fails gives way.
#[tokio::test]
async fn the_list_is_walked_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let busy = Provider::playing(answer("503 Service Unavailable", "text/plain", "busy")).await;
    let odd = Provider::playing(answer("200 OK", "text/html", "<html>")).await;
    let cast = Cast::of(&[&busy, &busy, &odd], |index, spec| {
        spec.max_retries = 1;
        if index == 0 {
            spec.base_url.clone_from(&nobody);
        }
    })
    .await;
    let books = cast.play(Limits::default()).await;
    let failed = CallState::Failed;
    let wanted = [(0, failed, "MODEL_UNREACHABLE"), (1, failed, "MODEL_PROVIDER_ERROR"), (2, failed, "MODEL_PROTOCOL")];
    assert_eq!(seen(&books), wanted);
    assert_eq!(books.model_calls().map(|call| call.tries).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!((busy.requests().len(), odd.requests().len()), (2, 1));
    let reason = books.execution.progress.stop_reason.clone().unwrap();
    assert_eq!(reason.code, StopCode::ModelFailed);
    assert!(reason.message.contains("MODEL_PROTOCOL"), "{}", reason.message);
    cast.stage.close().await;
}

#[tokio::test]
async fn a_wrong_request_and_a_reply_that_began_stay_where_they_are() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\n";
    let cut = stream([part.as_bytes()]);
    let wrong = answer("400 Bad Request", "application/json", r#"{"error":"no such parameter"}"#);
    for (steps, code) in [(cut, "STREAM_TRUNCATED"), (wrong, "MODEL_REJECTED")] {
        let (first, second) = (Provider::playing(steps).await, Provider::playing(said("No.")).await);
        let cast = Cast::of(&[&first, &second], |_, _| {}).await;
        let books = cast.play(Limits::default()).await;
        assert_eq!(seen(&books), [(0, CallState::Failed, code)]);
        assert_eq!((books.code(), second.requests().len()), (StopCode::ModelFailed, 0));
        cast.stage.close().await;
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_goes_to_the_larger_window() {
    let body = r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#;
    let first = Provider::playing(answer("400 Bad Request", "application/json", body)).await;
    let (small, large) = (Provider::playing(said("No.")).await, Provider::playing(said("Yes.")).await);
    let window = |index: usize, spec: &mut ModelSpec| spec.context_window = [10_000, 9_000, 50_000][index];
    let cast = Cast::of(&[&first, &small, &large], window).await;
    let books = cast.play(Limits::default()).await;
    let wanted = [(0, CallState::Failed, "MODEL_CONTEXT_TOO_LONG"), (2, CallState::Settled, "")];
    assert_eq!(seen(&books), wanted);
    assert_eq!((small.requests().len(), books.execution.progress.answer.as_deref()), (0, Some("Yes.")));
    cast.stage.close().await;
}

/// Access is asked for each model, and each call must fit.
#[tokio::test]
async fn a_fallback_needs_a_grant_and_a_budget_like_any_model() {
    let (first, second) = (Provider::playing(refused()).await, Provider::playing(said("No.")).await);
    let cast = Cast::of(&[&first, &second], |_, _| {}).await;
    let one = Limits { max_model_calls: Some(1), ..Limits::default() };
    assert_eq!(cast.play(one).await.code(), StopCode::ModelCallLimit);
    cast.stage.stores.access.revoke(cast.stage.use_of(cast.models[1])).await.unwrap();
    let books = cast.play(Limits::default()).await;
    assert_eq!((books.code(), books.model_calls().count()), (StopCode::AccessDenied, 1));
    assert!(second.requests().is_empty());
    cast.stage.close().await;
}

/// Tokens that one model counted are no measure for the next: it reserves a token for each byte, like a first call.
#[tokio::test]
async fn the_next_model_reserves_by_its_own_measure() {
    let (first, second) = (Provider::start().await, Provider::playing(said("Done.")).await);
    first.play_in_turn([noted("a"), refused()]);
    let cast = Cast::of(&[&first, &second], |_, spec| spec.max_output_tokens = 20).await;
    let books = cast.play(Limits::default()).await;
    let calls: Vec<_> = books.model_calls().collect();
    assert_eq!(seen(&books)[1..], [(0, CallState::Failed, "MODEL_CREDENTIALS"), (1, CallState::Settled, "")]);
    // The first model had counted 10 tokens where there are more bytes.
    assert!(calls[2].reserved_tokens > calls[1].reserved_tokens, "{calls:?}");
    assert_eq!(calls[2].reserved, PRICE.worst_case(calls[2].reserved_tokens - 20, 20));
    cast.stage.close().await;
}

/// A worker is lost at every write of a run that falls back. Nobody goes back up the list, no answer is asked for twice,
/// and the books are closed.
#[tokio::test]
async fn a_lost_worker_leaves_the_place_in_the_list() {
    for when in [When::DownBefore, When::DownAfter] {
        let mut nth = 1;
        loop {
            let (first, second) = (Provider::playing(refused()).await, Provider::playing(said("Here.")).await);
            let cast = Cast::of(&[&first, &second], |_, _| {}).await;
            let execution = cast.stage.start_with(Vec::new(), Limits::default()).await;
            let claimed = cast.stage.claim(execution).await;
            cast.stage.store.set(&[Failpoint { method: "commit", nth, when }]);
            let ended = cast.stage.run(claimed).await;
            let is_hit = cast.stage.store.hits() > 0;
            cast.stage.store.set(&[]);
            let books = cast.finish(execution).await;
            assert_eq!(books.execution.progress.answer.as_deref(), Some("Here."), "{when:?} {nth}");
            let calls: Vec<_> = books.model_calls().collect();
            assert!(calls.is_sorted_by_key(|call| call.fallback_index), "{when:?} {nth}: {:?}", seen(&books));
            let last = calls.last().unwrap();
            assert_eq!((last.fallback_index, last.state), (1, CallState::Settled));
            assert_eq!(last.fallback_because.as_ref().map(|(code, _)| code.as_str()), Some("MODEL_CREDENTIALS"));
            let count = |state| calls.iter().filter(|call| call.state == state).count();
            assert_eq!((count(CallState::Settled), count(CallState::Failed)), (1, 1), "{:?}", seen(&books));
            assert!(count(CallState::Lost) <= 1);
            cast.stage.close().await;
            if !is_hit {
                assert_eq!(ended, Ended::Finished);
                break;
            }
            nth += 1;
        }
        assert!(nth > 6, "a run that falls back has more writes than {nth}");
    }
}
