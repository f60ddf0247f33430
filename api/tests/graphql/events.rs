//! `executionEvents`: every event once, in order, byte for byte, wherever a client comes back.

use std::time::Duration;

use bytes::Bytes;
use domain::event::{Cursor, Event, EventError, EventLog, Segment};
use domain::execution::{ExecutionStatus, RetentionStore as _};
use domain::ids::{ModelCallId, ToolCallId};
use domain::money::NanoUsd;
use domain::tool_call::SideEffect;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::world::{World, code};

const DOCUMENT: &str = "subscription($id: ID!, $after: String) { executionEvents(executionId: $id, after: $after) {
    __typename sequence cursor kind at executionId payload
    ... on ModelCallDelta { text }
    ... on ToolCallStarted { arguments rawArguments }
    ... on ExecutionFinished { status answer stopReason { code } budget { tokens { used } } }
} }";

fn delta(text: &str) -> Event {
    Event::ModelCallDelta { model_call_id: ModelCallId::from_bits(7), text: text.to_owned() }
}

fn tool_call(arguments: &str) -> Event {
    Event::ToolCallStarted {
        iteration: 1,
        ordinal: 0,
        tool_call_id: ToolCallId::from_bits(9),
        tool: "note".to_owned(),
        arguments: arguments.to_owned(),
        side_effect: SideEffect::ReadOnly,
        fingerprint: "f".to_owned(),
        timeout_ms: None,
    }
}

/// Events until the stream completes.
async fn all(world: &World, id: &str, after: Option<&str>) -> Vec<Value> {
    let stream = world.subscribe(Some(world.owner), DOCUMENT, json!({"id": id, "after": after}));
    let responses = tokio::time::timeout(Duration::from_secs(20), stream.collect::<Vec<_>>()).await.unwrap();
    responses.into_iter().map(|response| serde_json::to_value(response).unwrap()).collect()
}

fn event(response: &Value) -> &Value {
    assert!(response.get("errors").is_none(), "{response}");
    &response["data"]["executionEvents"]
}

#[tokio::test]
async fn resumes_behind_every_event_without_gap_or_repeat() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut worker = world.claim(&id).await;
    for text in ["a", "b", "c"] {
        worker.write(vec![delta(text), delta("x"), delta("y")]).await;
    }
    worker.finish().await;
    let whole: Vec<_> = all(&world, &id, None).await.iter().map(|response| event(response).clone()).collect();
    let sequences: Vec<_> = whole.iter().map(|event| event["sequence"].as_str().unwrap().to_owned()).collect();
    assert_eq!(sequences, (1..=11).map(|sequence: u32| sequence.to_string()).collect::<Vec<_>>());
    assert_eq!(whole[10]["__typename"], "ExecutionFinished");
    assert_eq!(whole[10]["stopReason"]["code"], "FINAL_ANSWER");
    for (index, seen) in whole.iter().enumerate() {
        let rest = all(&world, &id, seen["cursor"].as_str()).await;
        let rest: Vec<_> = rest.iter().map(|response| event(response).clone()).collect();
        assert_eq!(rest, whole[index + 1..], "behind {}", index + 1);
    }
}

#[tokio::test]
async fn follows_what_is_committed_later_and_completes_after_the_last_event() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut stream = world.subscribe(Some(world.owner), DOCUMENT, json!({"id": id}));
    let first = serde_json::to_value(stream.next().await.unwrap()).unwrap();
    assert_eq!(event(&first)["kind"], "ExecutionQueued");
    let mut worker = world.claim(&id).await;
    worker.write(vec![delta("live")]).await;
    let second = serde_json::to_value(stream.next().await.unwrap()).unwrap();
    assert_eq!(event(&second)["text"], "live");
    worker.finish().await;
    let third = serde_json::to_value(stream.next().await.unwrap()).unwrap();
    assert_eq!(event(&third)["status"], "SUCCEEDED");
    assert!(stream.next().await.is_none());
    let cursor = world.data("query($id: ID!) { execution(id: $id) { lastCursor answer items } }", json!({"id": id}));
    let execution = cursor.await["execution"].clone();
    assert_eq!(execution["lastCursor"], event(&third)["cursor"]);
    assert_eq!(execution["items"], json!([{"answer": "42"}]));
}

#[tokio::test]
async fn sends_the_stored_bytes_as_payload() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut worker = world.claim(&id).await;
    worker.write(vec![delta("\u{1} \u{7f} \u{2028} \\ \" é 🦀\n"), tool_call("{\"b\": 1.50, \"a\":1e3}")]).await;
    // Written by somebody else: other key order, white space, number text and escapes.
    let line = r#"{"kind":"WarningRaised", "z": 1.50e3, "sequence":4,"message":"\u00e9\/","atMicros":5,"code":"C","n":18446744073709551616}"#;
    let segment = Segment { first_sequence: 4, last_sequence: 4, bytes: Bytes::from_static(line.as_bytes()) };
    worker.commit(segment, ExecutionStatus::Running).await;
    worker.finish().await;
    let reference = worker.execution.reference();
    let segments = world.store.read(reference, 0, usize::MAX).await.unwrap();
    let stored: Vec<_> = segments.iter().flat_map(|segment| segment.lines_after(0)).collect();
    let responses: Vec<_> = world.subscribe(Some(world.owner), DOCUMENT, json!({"id": id})).collect().await;
    assert_eq!((stored.len(), responses.len()), (5, 5));
    for ((_, bytes), response) in stored.iter().zip(&responses) {
        let text = serde_json::to_string(response).unwrap();
        let wanted = format!("\"payload\":{}", std::str::from_utf8(bytes).unwrap());
        assert!(text.contains(&wanted), "{wanted} is not in {text}");
    }
}

#[tokio::test]
async fn shows_arguments_that_are_json_and_keeps_those_that_are_not() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut worker = world.claim(&id).await;
    worker.write(vec![tool_call(r#"{"text": "x"}"#), tool_call(r#"{"text": "#)]).await;
    worker.finish().await;
    let responses = all(&world, &id, None).await;
    assert_eq!(event(&responses[1])["arguments"], json!({"text": "x"}));
    assert_eq!(event(&responses[2])["arguments"], Value::Null);
    assert_eq!(event(&responses[2])["rawArguments"], r#"{"text": "#);
}

#[tokio::test]
async fn refuses_cursors_that_are_malformed_foreign_or_beyond_the_head() {
    let world = World::new().await;
    let things = world.things().await;
    let other = world.start(&things.agent, "other").await;
    let cursor = |id: &str, sequence| Cursor { execution_id: id.parse().unwrap(), sequence }.to_string();
    for bad in [cursor(&other, 1), cursor(&things.execution, 2), "x".to_owned(), String::new()] {
        let answers = all(&world, &things.execution, Some(&bad)).await;
        assert_eq!(answers.len(), 1);
        assert_eq!(code(&answers[0]), Some("BAD_USER_INPUT"), "{bad}: {}", answers[0]);
    }
}

#[tokio::test]
async fn tells_of_tries_and_of_the_model_that_is_asked() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut worker = world.claim(&id).await;
    let model_call_id = ModelCallId::from_bits(7);
    let error = EventError { code: "MODEL_UNREACHABLE".to_owned(), message: "away".to_owned() };
    let started = Event::ModelCallStarted {
        iteration: 1,
        model_call_id,
        alias: "second".to_owned(),
        deployment: "d".to_owned(),
        reserved_cost: NanoUsd(1),
        reserved_tokens: 2,
        fallback_index: 1,
        fallback_because: Some(error.clone()),
    };
    let retried = Event::ModelCallRetried { iteration: 1, model_call_id, try_number: 2, error, wait_ms: 700 };
    worker.write(vec![started, retried]).await;
    worker.finish().await;
    let document = "subscription($id: ID!) { executionEvents(executionId: $id) {
        __typename
        ... on ModelCallStarted { alias fallbackIndex fallbackBecause { code message } }
        ... on ModelCallRetried { iteration modelCallId tryNumber error { code message } waitMs }
    } }";
    let responses = world.subscribe(Some(world.owner), document, json!({"id": id})).collect::<Vec<_>>().await;
    let events: Vec<_> = responses.into_iter().map(|response| serde_json::to_value(response).unwrap()).collect();
    let away = json!({"code": "MODEL_UNREACHABLE", "message": "away"});
    let wanted = json!({
        "__typename": "ModelCallStarted", "alias": "second", "fallbackIndex": 1, "fallbackBecause": away,
    });
    assert_eq!(event(&events[1]), &wanted);
    let wanted = json!({
        "__typename": "ModelCallRetried", "iteration": 1, "modelCallId": model_call_id.to_string(), "tryNumber": 2,
        "error": away, "waitMs": 700,
    });
    assert_eq!(event(&events[2]), &wanted);
}

/// One whose execution was removed after its time says so, to those who could see it; no cursor makes a difference.
#[tokio::test]
async fn a_removed_log_has_expired() {
    let world = World::new().await;
    let id = world.things().await.execution;
    let mut worker = world.claim(&id).await;
    worker.finish().await;
    let reference = worker.execution.reference();
    let whole = all(&world, &id, None).await;
    let cursor = event(&whole[0])["cursor"].as_str().unwrap().to_owned();
    world.store.remove(reference, world.services.clock.now()).await.unwrap();
    for after in [None, Some(cursor.as_str())] {
        let answers = all(&world, &id, after).await;
        assert_eq!((answers.len(), code(&answers[0])), (1, Some("EVENTS_EXPIRED")), "{answers:?}");
    }
    let variables = json!({"id": id});
    assert_eq!(
        world.data("query($id: ID!) { execution(id: $id) { id } }", variables.clone()).await,
        json!({"execution": null})
    );
    let mut foreign = world.subscribe(Some(world.stranger), DOCUMENT, variables);
    let answer = serde_json::to_value(foreign.next().await.unwrap()).unwrap();
    assert_eq!(code(&answer), Some("NOT_FOUND"), "{answer}");
}
