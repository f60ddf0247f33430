//! Rows on the life of a sandbox: who may ask, lists, ends, expiry, metadata, and what is not offered.

use reqwest::Method;
use sandbox::opensandbox::SnapshotState;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::raw::{Answer, answer, until};
use crate::target::{Capability, Target};

pub async fn row_01_asks_for_the_key(target: &Target) {
    let missing = answer(target.bare(Method::GET, "/v1/sandboxes")).await;
    assert_eq!((missing.status, missing.code()), (401, "MISSING_API_KEY"));
    let wrong = target.bare(Method::GET, "/v1/sandboxes").header("OPEN-SANDBOX-API-KEY", "wrong");
    let wrong = answer(wrong).await;
    assert_eq!((wrong.status, wrong.code()), (401, "INVALID_API_KEY"));
    for refusal in [missing, wrong] {
        let mut members: Vec<_> = refusal.body.as_object().unwrap().keys().cloned().collect();
        members.sort();
        assert_eq!(members, ["code", "message"]);
    }
}

pub async fn row_02_health_and_version_need_no_key(target: &Target) {
    for path in ["/health", "/version"] {
        assert_eq!(answer(target.bare(Method::GET, path)).await.status, 200, "{path}");
    }
}

pub async fn row_03_answers_have_request_ids(target: &Target) {
    assert!(!target.get("/v1/sandboxes").await.header("x-request-id").is_empty());
    let echoed = target.request(Method::GET, "/v1/sandboxes").header("X-Request-ID", "mine-1");
    assert_eq!(answer(echoed).await.header("x-request-id"), "mine-1");
    let refused = answer(target.bare(Method::GET, "/v1/sandboxes")).await;
    assert!(!refused.header("x-request-id").is_empty(), "a refusal has one, too");
}

fn ids(list: &Answer) -> Vec<&str> {
    list.body["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

/// The query of a list of what one row has made.
fn made_by(row: &str) -> String {
    format!("/v1/sandboxes?metadata=row%3D{row}")
}

pub async fn row_09_lists_pages_newest_first(target: &Target) {
    let mut made = Vec::new();
    for _ in 0..3 {
        let created = target.created(json!({ "metadata": { "row": "nine" } })).await;
        made.push(created["id"].as_str().unwrap().to_owned());
    }
    made.reverse();
    let all = target.get(&made_by("nine")).await;
    assert_eq!(ids(&all), made);
    let expected = json!({ "page": 1, "pageSize": 20, "totalItems": 3, "totalPages": 1, "hasNextPage": false });
    assert_eq!(all.body["pagination"], expected);
    let first = target.get(&format!("{}&page=1&pageSize=2", made_by("nine"))).await;
    assert_eq!((ids(&first).len(), &first.body["pagination"]["hasNextPage"]), (2, &json!(true)));
    let second = target.get(&format!("{}&page=2&pageSize=2", made_by("nine"))).await;
    assert_eq!(ids(&second), made[2..]);
    for query in ["pageSize=0", "pageSize=201", "page=0"] {
        assert_eq!(target.get(&format!("/v1/sandboxes?{query}")).await.status, 422, "{query}");
    }
}

pub async fn row_10_filters_by_metadata(target: &Target) {
    let created = target.created(json!({ "metadata": { "row": "ten", "other": "x" } })).await;
    let id = created["id"].as_str().unwrap();
    for (filter, is_found) in
        [("row%3Dten", true), ("row%3Dten%26other%3Dx", true), ("row%3Dten%26other%3Dy", false), ("row%3Dte", false)]
    {
        let list = target.get(&format!("/v1/sandboxes?metadata={filter}")).await;
        assert_eq!(ids(&list).contains(&id), is_found, "{filter}");
    }
    for broken in ["broken", "a%3Db%26c"] {
        let refusal = target.get(&format!("/v1/sandboxes?metadata={broken}")).await;
        assert_eq!((refusal.status, refusal.code()), (400, "INVALID_METADATA_FORMAT"), "{broken}");
    }
}

pub async fn row_11_filters_by_state(target: &Target) {
    target.created(json!({ "metadata": { "row": "eleven" } })).await;
    for (filter, count) in
        [("state=Running", 1), ("state=RUNNING&state=failed", 1), ("state=Paused", 0), ("state=nonsense", 0)]
    {
        let list = target.get(&format!("{}&{filter}", made_by("eleven"))).await;
        assert_eq!((list.status, ids(&list).len()), (200, count), "{filter}");
    }
}

pub async fn row_12_an_unknown_sandbox_is_not_found(target: &Target) {
    let path = "/v1/sandboxes/00000000-0000-4000-8000-000000000000";
    for refusal in [target.get(path).await, target.delete(path).await] {
        assert_eq!(refusal.status, 404);
        assert!(refusal.code().ends_with("SANDBOX_NOT_FOUND"), "{}", refusal.body);
    }
}

pub async fn row_13_a_killed_sandbox_is_gone(target: &Target) {
    let created = target.created(json!({})).await;
    let path = format!("/v1/sandboxes/{}", created["id"].as_str().unwrap());
    let killed = target.delete(&path).await;
    assert_eq!((killed.status, &killed.body), (204, &json!("")));
    assert_eq!(target.get(&path).await.status, 404);
    assert_eq!(target.delete(&path).await.status, 404);
}

pub async fn row_14_pauses_and_resumes(target: &Target) {
    let created = target.created(json!({})).await;
    let path = format!("/v1/sandboxes/{}", created["id"].as_str().unwrap());
    let state = async || target.get(&path).await.body["status"]["state"].clone();
    let call = async |what: &str| {
        let answer = answer(target.request(Method::POST, &format!("{path}/{what}"))).await;
        (answer.status, answer.body)
    };
    assert_eq!(call("resume").await.0, 409, "it is not paused");
    assert_eq!(call("pause").await, (202, json!("")));
    until("it is paused", async || state().await == "Paused").await;
    assert_eq!(call("pause").await.0, 409, "it is paused already");
    assert_eq!(call("resume").await, (202, json!("")));
    until("it runs again", async || state().await == "Running").await;
}

pub async fn row_15_renews(target: &Target) {
    let created = target.created(json!({})).await;
    let renew = format!("/v1/sandboxes/{}/renew-expiration", created["id"].as_str().unwrap());
    let past = target.post(&renew, json!({ "expiresAt": "2020-01-01T00:00:00Z" })).await;
    assert_eq!(past.status, 400);
    assert!(past.code().ends_with("INVALID_EXPIRATION"), "{}", past.body);
    assert_eq!(target.post(&renew, json!({ "expiresAt": "soon" })).await.status, 422);
    let later = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() + time::Duration::hours(1);
    let renewed = target.post(&renew, json!({ "expiresAt": later.format(&Rfc3339).unwrap() })).await;
    assert_eq!((renewed.status, renewed.body.as_object().unwrap().len()), (200, 1));
    let given = OffsetDateTime::parse(renewed.body["expiresAt"].as_str().unwrap(), &Rfc3339).unwrap();
    assert_eq!(given, later);
    let forever = target.created(json!({ "timeout": null })).await;
    let renew = format!("/v1/sandboxes/{}/renew-expiration", forever["id"].as_str().unwrap());
    assert_eq!(target.post(&renew, json!({ "expiresAt": later.format(&Rfc3339).unwrap() })).await.status, 409);
}

pub async fn row_16_patches_metadata(target: &Target) {
    let created = target.created(json!({ "metadata": { "a": "b", "c": "d" } })).await;
    let path = format!("/v1/sandboxes/{}/metadata", created["id"].as_str().unwrap());
    let patch = async |patch: Value| answer(target.request(Method::PATCH, &path).json(&patch)).await;
    let same = patch(json!({})).await;
    assert_eq!((same.status, &same.body["metadata"]), (200, &json!({ "a": "b", "c": "d" })));
    let changed = patch(json!({ "a": null, "e": "f" })).await;
    assert_eq!(changed.body["metadata"], json!({ "c": "d", "e": "f" }));
    assert_eq!(changed.body["id"], created["id"], "the whole sandbox is the answer");
    let reserved = patch(json!({ "opensandbox.io/x": "y" })).await;
    assert_eq!(reserved.status, 400);
    assert!(reserved.code().ends_with("INVALID_METADATA_LABEL"), "{}", reserved.body);
}

pub async fn row_20_takes_or_refuses_metrics_events(target: &Target) {
    let event = json!({ "eventType": "sandbox.create", "createDurationMs": 1, "success": true });
    let status = target.post("/v1/metrics/events", event).await.status;
    assert!([204, 404].contains(&status), "{status}");
}

pub async fn row_21_makes_or_refuses_snapshots(target: &Target) {
    let created = target.created(json!({})).await;
    let path = format!("/v1/sandboxes/{}/snapshots", created["id"].as_str().unwrap());
    let made = target.post(&path, json!({})).await;
    if !target.has(Capability::Snapshots) {
        assert!([501, 409].contains(&made.status) && !made.code().is_empty(), "{made:?}");
        return;
    }
    assert_eq!(made.status, 202, "{made:?}");
    let snapshot = format!("/v1/snapshots/{}", made.body["id"].as_str().unwrap());
    assert_eq!(made.header("location"), snapshot);
    until("the snapshot is ready", async || target.get(&snapshot).await.body["status"]["state"] == "Ready").await;
    assert_eq!(target.delete(&snapshot).await.status, 204);
    let id = created["id"].as_str().unwrap();
    let made = target.client.create_snapshot(id, Some("row-21")).await.unwrap();
    let is_ready = async || target.client.snapshot(&made.id).await.unwrap().state == SnapshotState::Ready;
    until("the client's snapshot is ready", is_ready).await;
    let listed = target.client.list_snapshots(Some(id)).await.unwrap();
    assert!(listed.iter().any(|one| one.id == made.id && one.sandbox_id == id), "{listed:?}");
    target.client.delete_snapshot(&made.id).await.unwrap();
}

pub async fn row_22_refuses_pools(target: &Target) {
    let refusal = target.get("/v1/pools").await;
    assert_eq!(refusal.status, 501);
    assert!(!refusal.code().is_empty());
}
