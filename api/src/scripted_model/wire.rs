//! Writes replies as OpenAI-compatible endpoints do.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::play::Refusal;
use super::reply::{Part, Reply};
use super::request::ChatRequest;

/// What every chunk of a reply says about it.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    id: String,
    model: String,
}

impl Frame {
    pub(super) fn new(request: &ChatRequest) -> Self {
        Self { id: format!("scripted-{}", request.turn()), model: request.model.clone() }
    }

    pub(super) fn first_chunk(&self) -> String {
        self.chunk(&json!({"role": "assistant", "content": ""}), None)
    }

    /// The chunk of a part; None for what is no part of a stream.
    pub(super) fn part_chunk(&self, part: &Part) -> Option<String> {
        let call = |call: Value| self.chunk(&json!({"tool_calls": [call]}), None);
        match part {
            Part::Text(text) => Some(self.chunk(&json!({"content": text}), None)),
            Part::CallStart { index, id, name } => Some(call(json!({
                "index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""},
            }))),
            Part::CallArguments { index, piece } => {
                Some(call(json!({"index": index, "function": {"arguments": piece}})))
            }
            Part::Garbage(bytes) => Some(bytes.clone()),
            Part::Error(message) => Some(event(&error_body("server_error", message))),
            Part::Stall | Part::Cut => None,
        }
    }

    pub(super) fn last_chunks(&self, reply: &Reply, request: &ChatRequest) -> String {
        let mut chunks = self.chunk(&json!({}), Some(reply.finish_reason));
        if request.wants_usage() {
            let mut body = self.body("chat.completion.chunk", json!([]));
            body["usage"] = usage(reply, request);
            chunks.push_str(&event(&body));
        }
        chunks.push_str("data: [DONE]\n\n");
        chunks
    }

    /// The reply in one body.
    pub(super) fn whole(&self, reply: &Reply, request: &ChatRequest) -> Value {
        let mut text = String::new();
        let mut calls: BTreeMap<usize, (String, String, String)> = BTreeMap::new();
        for step in &reply.steps {
            match &step.part {
                Part::Text(piece) => text.push_str(piece),
                Part::CallStart { index, id, name } => {
                    calls.insert(*index, (id.clone(), name.clone(), String::new()));
                }
                Part::CallArguments { index, piece } => {
                    if let Some((_, _, arguments)) = calls.get_mut(index) {
                        arguments.push_str(piece);
                    }
                }
                Part::Garbage(_) | Part::Error(_) | Part::Stall | Part::Cut => {}
            }
        }
        let calls: Vec<Value> = calls.into_values().map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        }).collect();
        let mut message = json!({"role": "assistant", "content": text});
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        let choices = json!([{"index": 0, "message": message, "finish_reason": reply.finish_reason}]);
        let mut body = self.body("chat.completion", choices);
        body["usage"] = usage(reply, request);
        body
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]);
        event(&self.body("chat.completion.chunk", choices))
    }

    /// The same request gets the same bytes, so there is no time in them.
    fn body(&self, object: &str, choices: Value) -> Value {
        json!({"id": self.id, "object": object, "created": 0, "model": self.model, "choices": choices})
    }
}

impl Refusal {
    pub(super) fn body(&self) -> Value {
        error_body(self.code, &self.message)
    }
}

fn error_body(code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": "scripted_model_error", "code": code}})
}

fn event(body: &Value) -> String {
    format!("data: {body}\n\n")
}

/// A token for every four bytes, rounded up.
fn usage(reply: &Reply, request: &ChatRequest) -> Value {
    let (prompt, completion) = (request.prompt_bytes().div_ceil(4), reply.output_bytes.div_ceil(4));
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
}
