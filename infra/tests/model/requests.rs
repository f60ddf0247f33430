//! What the provider gets to read.

use std::sync::Arc;

use domain::ids::ToolCallId;
use domain::model_call::{Message, ModelRuntime, ReplyMode, RequestedToolCall, ToolDefinition};
use infra::model::CallLimits;
use serde_json::json;

use super::provider::{KEY, Pieces, Provider, adapter, answer, context, request};

const WHOLE: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

#[tokio::test]
async fn a_conversation_goes_out_under_our_ids() {
    let provider = Provider::playing(answer("200 OK", "application/json", WHOLE)).await;
    let mut request = request(&provider.url(), ReplyMode::Stream);
    let (one, two) = (ToolCallId::from_bits(1), ToolCallId::from_bits(2));
    let call = |id, arguments: &str| RequestedToolCall { id, name: "put".to_owned(), arguments: arguments.to_owned() };
    request.messages = Arc::new(vec![
        Message::System { content: "be brief".to_owned() },
        Message::User { content: "go".to_owned() },
        Message::Assistant { content: String::new(), tool_calls: vec![call(one, r#"{"k":1}"#), call(two, r#"{"k":"#)] },
        Message::Tool { tool_call_id: one.to_string(), content: "done".to_owned() },
        Message::Tool { tool_call_id: two.to_string(), content: "INVALID_TOOL_ARGUMENTS".to_owned() },
        Message::Assistant { content: "well".to_owned(), tool_calls: Vec::new() },
    ]);
    request.tools = vec![ToolDefinition {
        name: "put".to_owned(),
        description: "Puts.".to_owned(),
        parameters: json!({"type": "object"}),
    }];
    request.parameters = json!({"temperature": 0.2, "model": "other", "n": 3}).as_object().unwrap().clone();
    adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await;
    let sent = provider.requests().remove(0);
    assert!(sent.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", sent.head);
    assert!(sent.head.contains(&format!("authorization: Bearer {KEY}\r\n")));
    assert!(!sent.head.contains("transfer-encoding"));
    assert_eq!(
        sent.body,
        json!({
            "model": "test-model", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
            "temperature": 0.2,
            "tools": [{"type": "function", "function": {
                "name": "put", "description": "Puts.", "parameters": {"type": "object"},
            }}],
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": one, "type": "function", "function": {"name": "put", "arguments": "{\"k\":1}"}},
                    {"id": two, "type": "function", "function": {
                        "name": "put", "arguments": "{\"invalid_arguments\":\"{\\\"k\\\":\"}",
                    }},
                ]},
                {"role": "tool", "tool_call_id": one, "content": "done"},
                {"role": "tool", "tool_call_id": two, "content": "INVALID_TOOL_ARGUMENTS"},
                {"role": "assistant", "content": "well"},
            ],
        })
    );
}

#[tokio::test]
async fn the_output_cap_is_the_lower_one_under_the_name_that_the_parameters_use() {
    let provider = Provider::playing(answer("200 OK", "application/json", WHOLE)).await;
    for (parameters, name, cap) in [
        (json!({}), "max_tokens", 100),
        (json!({"max_tokens": 7}), "max_tokens", 7),
        (json!({"max_tokens": 700}), "max_tokens", 100),
        (json!({"max_completion_tokens": true}), "max_completion_tokens", 100),
        (json!({"max_completion_tokens": 50, "tool_choice": "auto"}), "max_completion_tokens", 50),
    ] {
        let mut request = request(&provider.url(), ReplyMode::Complete);
        request.parameters = parameters.as_object().unwrap().clone();
        adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await;
        let body = provider.requests().pop().unwrap().body;
        let wanted = json!({
            "model": "test-model", "stream": false, name: cap, "messages": [{"role": "user", "content": "hello"}],
        });
        assert_eq!(body, wanted);
    }
}

#[tokio::test]
async fn the_path_follows_the_base_url_and_its_query_stays() {
    let provider = Provider::playing(answer("200 OK", "application/json", WHOLE)).await;
    for (base, path) in [
        ("", "/chat/completions "),
        ("/", "/chat/completions "),
        ("/v1/", "/v1/chat/completions "),
        ("/a/b?api-version=1", "/a/b/chat/completions?api-version=1 "),
    ] {
        let mut request = request(&format!("http://{}{base}", provider.address), ReplyMode::Complete);
        request.endpoint.api_key = None;
        adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await;
        let head = provider.requests().pop().unwrap().head;
        assert!(head.starts_with(&format!("POST {path}")), "{head}");
        assert!(!head.contains("authorization"));
    }
}
