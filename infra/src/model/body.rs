//! Writes a request as the provider reads it.

use domain::model_call::{Message, ModelRequest, ReplyMode, RequestedToolCall, ToolDefinition};
use serde::de::IgnoredAny;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};

/// The body of a chat completion. What the request says itself wins over its parameters.
///
/// The messages are written as they stand: a long conversation goes out with every call.
pub(super) struct RequestBody<'a> {
    members: Map<String, Value>,
    messages: &'a [Message],
}

impl<'a> RequestBody<'a> {
    pub(super) fn new(request: &'a ModelRequest) -> Self {
        Self { members: members(request), messages: &request.messages }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and maps of strings: nothing in it can fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(Some(self.members.len() + 1))?;
        for (name, value) in &self.members {
            body.serialize_entry(name, value)?;
        }
        body.serialize_entry("messages", &self.messages.iter().map(WireMessage::from).collect::<Vec<_>>())?;
        body.end()
    }
}

/// All members but the messages.
fn members(request: &ModelRequest) -> Map<String, Value> {
    let mut body = request.parameters.clone();
    // A reply has one choice.
    body.remove("n");
    body.remove("messages");
    cap_output(&mut body, request.max_output_tokens);
    body.insert("model".to_owned(), json!(request.endpoint.deployment));
    if request.tools.is_empty() {
        for member in ["tools", "tool_choice", "parallel_tool_calls"] {
            body.remove(member);
        }
    } else {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    match request.mode {
        ReplyMode::Stream => {
            body.insert("stream".to_owned(), json!(true));
            let options = body.entry("stream_options").or_insert_with(|| json!({}));
            if !options.is_object() {
                *options = json!({});
            }
            options["include_usage"] = json!(true);
        }
        ReplyMode::Complete => {
            body.remove("stream_options");
            body.insert("stream".to_owned(), json!(false));
        }
    }
    body
}

/// Newer endpoints want `max_completion_tokens`: a parameter of that name, whatever its value, chooses it.
fn cap_output(body: &mut Map<String, Value>, cap: u64) {
    let newer = body.remove("max_completion_tokens");
    let older = body.remove("max_tokens");
    let name = if newer.is_some() { "max_completion_tokens" } else { "max_tokens" };
    let wanted = newer.iter().chain(&older).filter_map(Value::as_u64).filter(|wanted| *wanted > 0).min();
    body.insert(name.to_owned(), json!(wanted.map_or(cap, |wanted| wanted.min(cap))));
}

#[derive(serde::Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
}

#[derive(serde::Serialize)]
struct WireCall<'a> {
    id: domain::ids::ToolCallId,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(serde::Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: std::borrow::Cow<'a, str>,
}

impl<'a> From<&'a Message> for WireMessage<'a> {
    fn from(message: &'a Message) -> Self {
        match message {
            Message::System { content } => Self::System { content },
            Message::User { content } => Self::User { content },
            Message::Tool { tool_call_id, content } => Self::Tool { tool_call_id, content },
            Message::Assistant { content, tool_calls } => Self::Assistant {
                // Several endpoints refuse an empty text beside tool calls.
                content: Some(content.as_str()).filter(|text| tool_calls.is_empty() || !text.is_empty()),
                tool_calls: tool_calls.iter().map(tool_call).collect(),
            },
        }
    }
}

fn tool_call(call: &RequestedToolCall) -> WireCall<'_> {
    WireCall {
        id: call.id,
        kind: "function",
        function: WireFunction { name: &call.name, arguments: arguments(&call.arguments) },
    }
}

/// Several endpoints parse the arguments of earlier calls and refuse the request when they are no object, so broken ones
/// go back inside an object that shows them as they came.
fn arguments(raw: &str) -> std::borrow::Cow<'_, str> {
    let is_object = raw.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(raw).is_ok();
    if is_object { raw.into() } else { json!({"invalid_arguments": raw}).to_string().into() }
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    })
}
