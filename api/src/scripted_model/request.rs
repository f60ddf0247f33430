//! What the scripted model reads of a request.

use serde::Deserialize;
use serde_json::Value;

/// A chat completion request; members that play no part are ignored, as a provider would.
#[derive(Debug, Deserialize)]
pub(super) struct ChatRequest {
    pub(super) model: String,
    messages: Vec<ChatMessage>,
    #[serde(default)]
    pub(super) stream: bool,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Value,
}

impl ChatRequest {
    /// The first word of the user.
    pub(super) fn task(&self) -> String {
        self.messages.iter().find(|message| message.role == "user").map(ChatMessage::text).unwrap_or_default()
    }

    pub(super) fn last_user_text(&self) -> String {
        self.messages.iter().rev().find(|message| message.role == "user").map(ChatMessage::text).unwrap_or_default()
    }

    /// The turn that is due, from 0: one for each assistant message before it.
    pub(super) fn turn(&self) -> usize {
        self.messages.iter().filter(|message| message.role == "assistant").count()
    }

    /// The tool results that came right before the turn with this number.
    pub(super) fn results_before(&self, turn: usize) -> Vec<String> {
        let mut segments = self.messages.split(|message| message.role == "assistant");
        let segment = segments.nth(turn).unwrap_or(&[]);
        segment.iter().filter(|message| message.role == "tool").map(ChatMessage::text).collect()
    }

    pub(super) fn wants_usage(&self) -> bool {
        !self.stream || self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    pub(super) fn max_output_tokens(&self) -> u64 {
        self.max_completion_tokens.or(self.max_tokens).unwrap_or(u64::MAX)
    }

    pub(super) fn prompt_bytes(&self) -> usize {
        self.messages.iter().map(ChatMessage::bytes).sum()
    }
}

impl ChatMessage {
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
            _ => String::new(),
        }
    }

    fn bytes(&self) -> usize {
        let calls = if self.tool_calls.is_null() { 0 } else { self.tool_calls.to_string().len() };
        self.text().len() + calls
    }
}
