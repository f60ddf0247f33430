//! Pausing, resuming, and snapshots.

use std::time::Duration;

use http::Method;
use sandbox::opensandbox::{Client, SnapshotState};
use serde_json::json;

use crate::support::{Canned, Fake, canned};

fn state(state: &str) -> Canned {
    canned(200, json!({"id": "sb1", "status": {"state": state}}).to_string())
}

fn impatient(fake: &Fake) -> Client {
    let mut connection = fake.connection();
    connection.timeouts.pause = Duration::from_millis(400);
    Client::new(connection).unwrap()
}

#[tokio::test]
async fn a_pause_is_done_when_it_is_shown() {
    let fake = Fake::start().await;
    fake.answer(Method::POST, "/pause", canned(202, ""));
    for shown in ["Running", "Pausing", "Paused"] {
        fake.answer(Method::GET, "/sandboxes/sb1", state(shown));
    }
    fake.sandbox().pause().await.unwrap();
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 3);
}

#[tokio::test]
async fn looks_the_address_up_again_after_a_resumption_row_27() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    sandbox.ping().await.unwrap();
    sandbox.ping().await.unwrap();
    assert_eq!(fake.count(Method::GET, "/endpoints/44772"), 1);
    fake.answer(Method::POST, "/resume", canned(202, ""));
    for shown in ["Paused", "Resuming", "Running"] {
        fake.answer(Method::GET, "/sandboxes/sb1", state(shown));
    }
    sandbox.resume().await.unwrap();
    sandbox.ping().await.unwrap();
    assert_eq!(fake.count(Method::GET, "/endpoints/44772"), 2);
}

#[tokio::test]
async fn says_that_a_change_is_unconfirmed() {
    for (verb, shown, code) in [("/pause", "Running", "pause_unconfirmed"), ("/resume", "Paused", "resume_unconfirmed")]
    {
        let fake = Fake::start().await;
        fake.answer(Method::POST, verb, canned(202, ""));
        fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": shown}}));
        let client = impatient(&fake);
        let result = if verb == "/pause" { client.pause("sb1").await } else { client.resume("sb1").await };
        let error = result.unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.to_string().contains("sb1"));
        assert_eq!(fake.count(Method::POST, verb), 1, "never asked for again");
    }
}

#[tokio::test]
async fn resolves_a_lost_answer_by_looking() {
    let fake = Fake::start().await;
    *fake.world.lose_reply_to.lock().unwrap() = Some("/pause");
    fake.answer(Method::GET, "/sandboxes/sb1", state("Paused"));
    fake.sandbox().pause().await.unwrap();
    assert_eq!(fake.count(Method::POST, "/pause"), 1);

    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Running"}}));
    let error = impatient(&fake).pause("sb1").await.unwrap_err();
    assert_eq!((error.code(), fake.count(Method::POST, "/pause")), ("pause_unconfirmed", 2));
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("outcome of pause is unknown"));
}

#[tokio::test]
async fn passes_on_that_a_change_is_refused_or_impossible() {
    let fake = Fake::start().await;
    for (status, body, code) in [
        (409, r#"{"code":"DOCKER::SANDBOX_NOT_RUNNING","message":"no"}"#, "rejected"),
        (404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"no"}"#, "not_found"),
        (501, r#"{"code":"SANDBOX::API_NOT_SUPPORTED","message":"no"}"#, "not_supported"),
        (400, r#"{"code":"KUBERNETES::INVALID_STATE","message":"no"}"#, "not_supported"),
        (404, r#"{"detail":"Not Found"}"#, "not_supported"),
    ] {
        fake.answer(Method::POST, "/pause", canned(status, body));
        assert_eq!(fake.sandbox().pause().await.unwrap_err().code(), code, "{body}");
    }
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 0);
    fake.answer(Method::POST, "/pause", canned(202, ""));
    assert_eq!(fake.sandbox().pause().await.unwrap_err().code(), "not_found", "it is gone");
}

const SNAPSHOT: &str = r#"{"id":"sn1","sandboxId":"sb1","name":"n","status":{"state":"Creating","reason":"snapshot_accepted"},"createdAt":"2026-01-01T00:00:00Z"}"#;

#[tokio::test]
async fn leads_a_snapshot_through_its_life() {
    let fake = Fake::start().await;
    let client = fake.client();
    fake.answer(Method::POST, "/sandboxes/sb1/snapshots", canned(202, SNAPSHOT));
    let made = client.create_snapshot("sb1", Some("n")).await.unwrap();
    assert_eq!((made.id.as_str(), made.sandbox_id.as_str(), made.state), ("sn1", "sb1", SnapshotState::Creating));
    fake.answer(Method::GET, "/snapshots/sn1", canned(200, SNAPSHOT.replace("Creating", "Ready")));
    assert_eq!(client.snapshot("sn1").await.unwrap().state, SnapshotState::Ready);
    let page = |more: bool| format!(r#"{{"items":[{SNAPSHOT}],"pagination":{{"hasNextPage":{more}}}}}"#);
    fake.answer(Method::GET, "/snapshots", canned(200, page(true)));
    fake.answer(Method::GET, "/snapshots", canned(200, page(false)));
    assert_eq!(client.list_snapshots(Some("sb1")).await.unwrap().len(), 2);
    assert_eq!(fake.seen(Method::GET, "/snapshots")[1].query, "sandboxId=sb1&page=2&pageSize=100");
    fake.answer(Method::DELETE, "/snapshots/sn1", canned(204, ""));
    client.delete_snapshot("sn1").await.unwrap();
    fake.answer(Method::DELETE, "/snapshots/sn1", canned(404, r#"{"code":"SNAPSHOT::NOT_FOUND","message":"gone"}"#));
    client.delete_snapshot("sn1").await.unwrap();
}

#[tokio::test]
async fn says_that_a_server_has_no_snapshots_row_21() {
    let fake = Fake::start().await;
    let client = fake.client();
    for (status, body, code) in [
        (501, r#"{"code":"SNAPSHOT::NOT_IMPLEMENTED","message":"no"}"#, "not_supported"),
        (404, r#"{"detail":"Not Found"}"#, "not_supported"),
        (409, r#"{"code":"SNAPSHOT::UNSUPPORTED_RUNTIME","message":"no"}"#, "not_supported"),
        (409, r#"{"code":"SNAPSHOT::INVALID_SOURCE_STATE","message":"no"}"#, "rejected"),
        (504, r#"{"code":"BACKEND_TIMEOUT"}"#, "outcome_unknown"),
        (202, "{}", "outcome_unknown"),
    ] {
        fake.answer(Method::POST, "/snapshots", canned(status, body));
        assert_eq!(client.create_snapshot("sb1", None).await.unwrap_err().code(), code, "{body}");
    }
    assert_eq!(fake.count(Method::POST, "/snapshots"), 6, "each sent once");
    fake.answer(Method::GET, "/snapshots/sn1", canned(404, r#"{"code":"SNAPSHOT::NOT_FOUND","message":"gone"}"#));
    assert_eq!(client.snapshot("sn1").await.unwrap_err().code(), "not_found");
}
