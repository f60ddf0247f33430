//! The row on bash sessions.

use reqwest::Method;
use serde_json::json;

use crate::raw::answer;
use crate::target::Target;

pub async fn row_60_keep_directory_and_variables(target: &Target) {
    let execd = target.execd().await;
    let created = answer(execd.request(Method::POST, "/session")).await;
    let id = created.body["session_id"].as_str().unwrap();
    let run = async |command: &str| execd.stream(&format!("/session/{id}/run"), json!({ "command": command })).await;
    let first = run("mkdir -p /tmp/row-60 && cd /tmp/row-60; export KEPT='x y'; lost=z; echo begun").await;
    assert_eq!((first.id().as_str(), first.texts("stdout").concat().trim()), (id, "begun"));
    let second = run("pwd; echo \"$KEPT|$lost\"").await;
    assert_eq!(second.texts("stdout").concat().replace('\n', ""), "/tmp/row-60x y|");
    assert_eq!(execd.delete(&format!("/session/{id}")).await.status, 200);
    assert_eq!(execd.delete(&format!("/session/{id}")).await.status, 404);
}
