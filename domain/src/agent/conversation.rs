//! A Conversation is what the model is shown: the messages so far.
//!
//! It only grows, so what is stored of it is what was added since the call before; its digest names the AgentState that
//! an iteration leaves behind.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::ids::ToolCallId;
use crate::model_call::{Message, RequestedToolCall, run::Replied};

/// The messages so far, how many of them a provider has counted already, and how many are stored.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Arc<Vec<Message>>,
    digest: Sha256,
    /// Tokens that the provider counted for the first `counted` messages.
    counted_tokens: u64,
    counted: usize,
    stored: usize,
}

impl Conversation {
    /// Starts with the agent's instructions and the task.
    pub fn begin(instructions: &str, task: &str) -> Self {
        let mut conversation = Self::default();
        if !instructions.is_empty() {
            conversation.add(Message::System { content: instructions.to_owned() });
        }
        conversation.add(Message::User { content: task.to_owned() });
        conversation
    }

    /// The messages. Holding on to them makes the next message copy them all.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.messages)
    }

    /// How many messages are stored, and the others as JSON.
    pub fn unstored(&self) -> (u32, String) {
        let added = serde_json::to_string(&self.messages[self.stored..]).unwrap_or_default();
        (u32::try_from(self.stored).unwrap_or(u32::MAX), added)
    }

    /// Takes note that all messages up to now are stored.
    pub fn note_stored(&mut self) {
        self.stored = self.messages.len();
    }

    /// Hexadecimal SHA-256 over the messages, each as one line of JSON.
    pub fn state_ref(&self) -> String {
        data_encoding::HEXLOWER.encode(&self.digest.clone().finalize())
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
        self.add(Message::Assistant { content, tool_calls });
    }

    /// Adds the results of the tool calls, in the order in which the model asked for them.
    pub fn add_results(&mut self, results: Vec<(ToolCallId, String)>) {
        for (id, content) in results {
            self.add(Message::Tool { tool_call_id: id.to_string(), content });
        }
    }

    fn add(&mut self, message: Message) {
        self.digest.update(serde_json::to_vec(&message).unwrap_or_default());
        self.digest.update(b"\n");
        Arc::make_mut(&mut self.messages).push(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_is_to_be_stored() {
        let mut conversation = Conversation::begin("be brief", "count");
        assert_eq!(
            conversation.unstored(),
            (0, r#"[{"role":"system","content":"be brief"},{"role":"user","content":"count"}]"#.to_owned())
        );
        conversation.note_stored();
        conversation.add_assistant("3".to_owned(), Vec::new());
        assert_eq!(conversation.unstored(), (2, r#"[{"role":"assistant","content":"3","tool_calls":[]}]"#.to_owned()));
    }

    #[test]
    fn the_state_is_named_by_its_messages() {
        let mut conversation = Conversation::begin("", "count");
        let lines = "{\"role\":\"user\",\"content\":\"count\"}\n";
        assert_eq!(conversation.state_ref(), crate::artifact::sha256_hex(lines.as_bytes()));
        let before = conversation.state_ref();
        conversation.note_stored();
        assert_eq!(conversation.state_ref(), before);
        conversation.add_assistant("3".to_owned(), Vec::new());
        assert_ne!(conversation.state_ref(), before);
    }
}
