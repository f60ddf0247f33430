//! The conversation: what the model is sent next. It is the AgentState that every iteration leaves behind.

use bytes::Bytes;

use crate::ids::ToolCallId;
use crate::model_call::{Message, RequestedToolCall, run::Replied};

/// The messages so far, and how many of them a provider has counted already.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<Message>,
    /// Tokens that the provider counted for the first `counted` messages.
    counted_tokens: u64,
    counted: usize,
}

impl Conversation {
    /// Starts with the agent's instructions and the task.
    pub fn begin(instructions: &str, task: &str) -> Self {
        let mut messages = Vec::new();
        if !instructions.is_empty() {
            messages.push(Message::System { content: instructions.to_owned() });
        }
        messages.push(Message::User { content: task.to_owned() });
        Self { messages, counted_tokens: 0, counted: 0 }
    }

    /// The messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Takes note of how many tokens the provider counted for all messages up to now.
    pub fn note_counted(&mut self, input_tokens: u64) {
        self.counted_tokens = input_tokens;
        self.counted = self.messages.len();
    }

    /// Tokens counted, and bytes and number of the messages added since.
    pub fn uncounted(&self) -> (u64, u64, u64) {
        let added = &self.messages[self.counted..];
        (self.counted_tokens, added.iter().map(Message::bytes).sum(), added.len() as u64)
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.messages.iter().map(Message::bytes).sum()
    }

    /// Adds what the model said and asked for.
    pub fn add_reply(&mut self, reply: &Replied) {
        if let Some(tokens) = reply.counted_input {
            self.note_counted(tokens);
        }
        self.add_assistant(reply.text.clone(), reply.requested.clone());
    }

    /// Adds a message of the model.
    pub fn add_assistant(&mut self, content: String, tool_calls: Vec<RequestedToolCall>) {
        self.messages.push(Message::Assistant { content, tool_calls });
    }

    /// Adds the results of the tool calls, in the order in which the model asked for them.
    pub fn add_results(&mut self, results: Vec<(ToolCallId, String)>) {
        self.messages
            .extend(results.into_iter().map(|(id, content)| Message::Tool { tool_call_id: id.to_string(), content }));
    }

    /// The messages as JSON, for the artifact store.
    pub fn to_agent_state(&self) -> Bytes {
        serde_json::to_vec(&serde_json::json!({ "messages": self.messages })).unwrap_or_default().into()
    }
}
