//! Rows on what a create may ask for.

use serde_json::{Value, json};

use crate::target::Target;

pub async fn row_04_a_create_answers_with_the_sandbox(target: &Target) {
    let created = target.created(json!({ "metadata": { "a": "b" } })).await;
    for (name, is_there) in [
        ("id", created["id"].is_string()),
        ("status.state", created["status"]["state"].is_string()),
        ("createdAt", created["createdAt"].is_string()),
        ("expiresAt", created["expiresAt"].is_string()),
        ("entrypoint", created["entrypoint"].is_array()),
        ("metadata", created["metadata"]["a"] == "b"),
    ] {
        assert!(is_there, "{name}: {created}");
    }
    assert!(created.as_object().unwrap().values().all(|member| !member.is_null()), "{created}");
}

pub async fn row_05_a_time_to_live_is_a_minute_or_none(target: &Target) {
    let short = target.post("/v1/sandboxes", target.order(json!({ "timeout": 59 }))).await;
    assert_eq!(short.status, 422);
    let forever = target.created(json!({ "timeout": null })).await;
    assert!(forever.get("expiresAt").is_none(), "{forever}");
    let mut order = target.order(json!({}));
    order.as_object_mut().unwrap().remove("timeout");
    let without = target.post("/v1/sandboxes", order).await;
    assert_eq!(without.status, 202);
    assert!(without.body.get("expiresAt").is_none());
    target.delete(&format!("/v1/sandboxes/{}", without.body["id"].as_str().unwrap())).await;
}

pub async fn row_06_incomplete_requests_are_refused(target: &Target) {
    for (gone, more) in [
        ("image", json!({})),
        ("entrypoint", json!({})),
        ("resourceLimits", json!({})),
        ("", json!({ "snapshotId": "some" })),
        ("", json!({ "entrypoint": [] })),
        ("", json!({ "image": { "uri": " " } })),
        ("", json!({ "env": { "A": 1 } })),
    ] {
        let mut order = target.order(more.clone());
        order.as_object_mut().unwrap().remove(gone);
        let refusal = target.post("/v1/sandboxes", order).await;
        assert!((400..500).contains(&refusal.status), "without {gone:?}, with {more}: {}", refusal.status);
    }
}

pub async fn row_07_metadata_are_labels(target: &Target) {
    let long = "x".repeat(64);
    for metadata in [
        json!({ "a": "two words" }),
        json!({ "a": "-a" }),
        json!({ "a": long }),
        json!({ "-a": "b" }),
        json!({ "a/b/c": "d" }),
        json!({ "opensandbox.io/a": "b" }),
    ] {
        let refusal = target.post("/v1/sandboxes", target.order(json!({ "metadata": metadata }))).await;
        let expected = (400, "SANDBOX::INVALID_METADATA_LABEL");
        assert_eq!((refusal.status, refusal.code()), expected, "{metadata}");
    }
    let metadata = json!({ "example.com/Name_1.x": "V-a_l.u-e", "empty": "" });
    assert_eq!(target.created(json!({ "metadata": metadata })).await["metadata"], metadata);
}

pub async fn row_08_unknown_members_are_ignored(target: &Target) {
    let created = target.created(json!({ "bogus": { "deep": [1] } })).await;
    assert_eq!(created.get("bogus"), None::<&Value>);
}
