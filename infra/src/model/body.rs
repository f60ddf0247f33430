//! Writes a request as the provider reads it.

use domain::model_call::{Message, ModelRequest, ReplyMode, RequestedToolCall, ToolDefinition};
use serde_json::{Map, Value, json};

/// Whether a stream is asked to end with its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UsageInStream {
    /// By `stream_options`.
    AskedFor,
    /// The endpoint refuses to be asked.
    Unasked,
}

/// The body of a chat completion. What the request says itself wins over its parameters.
pub(super) fn request_body(request: &ModelRequest, usage: UsageInStream) -> Value {
    let mut body = request.parameters.clone();
    // A reply has one choice.
    body.remove("n");
    cap_output(&mut body, request.max_output_tokens);
    body.insert("model".to_owned(), json!(request.endpoint.deployment));
    body.insert("messages".to_owned(), request.messages.iter().map(message).collect());
    if request.tools.is_empty() {
        for member in ["tools", "tool_choice", "parallel_tool_calls"] {
            body.remove(member);
        }
    } else {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    match (request.mode, usage) {
        (ReplyMode::Stream, UsageInStream::AskedFor) => {
            body.insert("stream".to_owned(), json!(true));
            let options = body.entry("stream_options").or_insert_with(|| json!({}));
            if !options.is_object() {
                *options = json!({});
            }
            options["include_usage"] = json!(true);
        }
        (mode, _) => {
            body.remove("stream_options");
            body.insert("stream".to_owned(), json!(mode == ReplyMode::Stream));
        }
    }
    Value::Object(body)
}

/// Newer endpoints want `max_completion_tokens`: a parameter of that name, whatever its value, chooses it.
fn cap_output(body: &mut Map<String, Value>, cap: u64) {
    let newer = body.remove("max_completion_tokens");
    let older = body.remove("max_tokens");
    let name = if newer.is_some() { "max_completion_tokens" } else { "max_tokens" };
    let wanted = newer.iter().chain(&older).filter_map(Value::as_u64).filter(|wanted| *wanted > 0).min();
    body.insert(name.to_owned(), json!(wanted.map_or(cap, |wanted| wanted.min(cap))));
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { content } => json!({"role": "system", "content": content}),
        Message::User { content } => json!({"role": "user", "content": content}),
        Message::Tool { tool_call_id, content } => {
            json!({"role": "tool", "tool_call_id": tool_call_id, "content": content})
        }
        Message::Assistant { content, tool_calls } if tool_calls.is_empty() => {
            json!({"role": "assistant", "content": content})
        }
        Message::Assistant { content, tool_calls } => {
            // Several endpoints refuse an empty text beside tool calls.
            let content = (!content.is_empty()).then_some(content);
            let calls: Value = tool_calls.iter().map(tool_call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
    }
}

fn tool_call(call: &RequestedToolCall) -> Value {
    json!({
        "id": call.id, "type": "function",
        "function": {"name": call.name, "arguments": arguments(&call.arguments)},
    })
}

/// Several endpoints parse the arguments of earlier calls and refuse the request when they are no object, so broken ones
/// go back inside an object that shows them as they came.
fn arguments(raw: &str) -> String {
    match serde_json::from_str::<Map<String, Value>>(raw) {
        Ok(_) => raw.to_owned(),
        Err(_) => json!({"invalid_arguments": raw}).to_string(),
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}
