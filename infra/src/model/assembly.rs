//! Puts a reply together from whole bodies or from the chunks of a stream.

use domain::model_call::{FinishReason, ModelFailureKind, ModelReply};
use domain::money::TokenUsage;
use serde_json::Value;

use super::failure::Fault;
use super::tool_slots::ToolSlots;
use super::usage::read_usage;

/// A reply that grows.
#[derive(Debug)]
pub(super) struct Assembly {
    text: String,
    tools: ToolSlots,
    usage: Option<TokenUsage>,
    finish: Option<FinishReason>,
    bytes: usize,
    max_bytes: usize,
}

impl Assembly {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { text: String::new(), tools: ToolSlots::default(), usage: None, finish: None, bytes: 0, max_bytes }
    }

    /// Takes a chunk or a whole body; gives the text that it added.
    pub(super) fn add(&mut self, body: &Value) -> Result<&str, Fault> {
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::of_envelope(error));
        }
        if !body.is_object() {
            return Err(Fault::protocol("the reply holds JSON that is no object"));
        }
        if let Some(usage) = body.get("usage").and_then(read_usage) {
            self.usage = Some(usage);
        }
        let before = self.text.len();
        let choices = body.get("choices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // One choice is asked for; a further one belongs to another reply.
        for choice in choices.iter().filter(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0) {
            self.add_choice(choice)?;
        }
        Ok(&self.text[before..])
    }

    /// Whether the provider gave a reason to stop.
    pub(super) const fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.tools.is_empty()
    }

    /// The finish reason of a reply that is whole.
    pub(super) fn conclude(&self) -> Result<FinishReason, Fault> {
        match self.finish {
            Some(FinishReason::ToolCalls) if self.is_empty() => {
                Err(Fault::protocol("the reply says that it calls tools, but calls none and has no text"))
            }
            None if self.is_empty() => Err(Fault::protocol("the reply is empty")),
            Some(reason) => Ok(reason),
            None => Ok(FinishReason::Unknown),
        }
    }

    pub(super) fn into_reply(self) -> ModelReply {
        ModelReply { text: self.text, tool_calls: self.tools.into_calls(), usage: self.usage }
    }

    fn add_choice(&mut self, choice: &Value) -> Result<(), Fault> {
        if let Some(delta) = choice.get("delta").filter(|delta| delta.is_object()) {
            self.add_text(delta)?;
            for entry in tool_calls(delta) {
                let added = self.tools.add_piece(entry)?;
                self.count(added)?;
            }
        } else if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
            self.add_text(message)?;
            for entry in tool_calls(message) {
                let added = self.tools.add_whole(entry)?;
                self.count(added)?;
            }
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            None | Some("") => Ok(()),
            Some("error") => {
                Err(Fault::new(ModelFailureKind::ProviderError, "the model's endpoint ended its reply with an error"))
            }
            Some(word) => {
                self.finish = Some(finish_reason(word));
                Ok(())
            }
        }
    }

    fn add_text(&mut self, message: &Value) -> Result<(), Fault> {
        let parts = match message.get("content") {
            Some(Value::String(text)) => vec![text.as_str()],
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
            }
            _ => Vec::new(),
        };
        let refusal = message.get("refusal").and_then(Value::as_str);
        for part in parts.into_iter().chain(refusal) {
            self.count(part.len())?;
            self.text.push_str(part);
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes += bytes;
        if self.bytes > self.max_bytes {
            return Err(Fault::protocol(format!("the reply is larger than {} bytes", self.max_bytes)));
        }
        Ok(())
    }
}

fn tool_calls(message: &Value) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn finish_reason(word: &str) -> FinishReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "stop_sequence" | "eos" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" | "safety" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    }
}
