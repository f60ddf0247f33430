//! Determinism, counting and shutting down.

use std::time::Duration;

use api::scripted_model::Script;
use domain::model_call::{ModelCallEnd, ModelFailureKind, ReplyMode};
use serde_json::{Value, json};

use super::stage::{Stage, user};

async fn post(stage: &Stage, body: &Value, key: &str) -> String {
    let client = infra::http::client(Duration::from_secs(2)).unwrap();
    let request = client.post(format!("{}/chat/completions", stage.url)).header("x-vitrine-model-call", key).json(body);
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes_and_every_request_counts() {
    let stage = Stage::open(Script::demo().unwrap()).await;
    let body = json!({"model": "scripted-auditor", "stream": true, "messages": [{"role": "user", "content": "go"}]});
    let (first, second) = (post(&stage, &body, "a").await, post(&stage, &body, "a").await);
    assert_eq!(first, second);
    assert!(first.starts_with("data: {") && first.ends_with("data: [DONE]\n\n"), "{first}");
    assert!(!first.contains("usage"), "nobody asked for usage");
    post(&stage, &json!({"model": "echo", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}), "b").await;
    let stats = stage.stats().await;
    assert_eq!(stats["requests"], 3);
    assert_eq!(stats["byScenario"], json!({"dependency-auditor": 2, "echo": 1}));
    assert_eq!(stats["byKey"], json!({"a": 2, "b": 1}));
    assert_eq!(stats["log"][0], stats["log"][1]);
    assert_eq!(stats["log"][2]["turn"], 0);
    assert_ne!(stats["log"][0]["digest"], stats["log"][2]["digest"]);
}

#[tokio::test]
async fn shutting_down_cuts_replies_under_way() {
    let stage = Stage::open(Script::default()).await;
    let request = stage.request("fail", user("stall"), ReplyMode::Stream);
    let stop = async {
        while stage.stats().await["requests"] == 0 {
            tokio::task::yield_now().await;
        }
        stage.shutdown.cancel();
    };
    let ((outcome, _), ()) = tokio::join!(stage.ask(&request), stop);
    match outcome.end {
        ModelCallEnd::Failed(failure) => assert_eq!(failure.kind, ModelFailureKind::StreamTruncated, "{failure}"),
        other => panic!("{other:?}"),
    }
    tokio::time::timeout(Duration::from_secs(5), stage.tasks.wait()).await.expect("the server ends");
}

#[tokio::test]
async fn a_script_from_a_file_finds_its_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"{"scenarios": [
        {"name": "any", "model": "m", "turns": [{"text": "anything"}]},
        {"name": "words", "model": "m", "task_contains": "look", "turns": [
            {"tool_calls": [{"tool": "run_python", "files": {"code": "look.py"}, "arguments": {"n": 1}}]},
            {"text": "{{n}} lines", "captures": [{"line": "R ", "rest": "n"}]}
        ]}
    ]}"#;
    std::fs::write(folder.path().join("s.json"), script).unwrap();
    assert!(Script::load(&folder.path().join("s.json")).unwrap_err().to_string().contains("look.py"));
    std::fs::write(folder.path().join("look.py"), "print('{{n}}')").unwrap();
    let stage = Stage::open(Script::load(&folder.path().join("s.json")).unwrap()).await;
    let (outcome, _) = stage.ask(&stage.request("m", user("please look"), ReplyMode::Stream)).await;
    let arguments: Value = serde_json::from_str(&outcome.reply.tool_calls[0].1).unwrap();
    assert_eq!(arguments, json!({"code": "print('{{n}}')", "n": 1}));
    let (outcome, _) = stage.ask(&stage.request("m", user("please"), ReplyMode::Stream)).await;
    assert_eq!(outcome.reply.text, "anything");
}
