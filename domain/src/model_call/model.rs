//! What a model is asked, what it answers, and what is recorded of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::failure::ModelFailure;
use super::sent::SentMessages;
use crate::artifact::StoredText;
use crate::clock::Timestamp;
use crate::ids::{ModelCallId, PriceVersionId, ToolCallId};
use crate::money::{NanoUsd, Price, TokenUsage};

/// One message of the conversation, as every provider understands it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The agent's instructions.
    System {
        /// Text.
        content: String,
    },
    /// The task, or a word of ours to the model.
    User {
        /// Text.
        content: String,
    },
    /// What the model said and asked for.
    Assistant {
        /// Text; may be empty beside tool calls.
        content: String,
        /// The tool calls, under our own ids.
        tool_calls: Vec<RequestedToolCall>,
    },
    /// The result of one tool call.
    Tool {
        /// Our id of the call.
        tool_call_id: String,
        /// The result, or the error, as text.
        content: String,
    },
}

impl Message {
    /// Bytes that count for the input estimate.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::System { content } | Self::User { content } | Self::Tool { content, .. } => content.len(),
            Self::Assistant { content, tool_calls } => {
                let calls: usize = tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + 64).sum();
                content.len() + calls
            }
        };
        bytes as u64
    }
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestedToolCall {
    /// Our own id, unique in the run; the provider's own may repeat.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments, exactly as they came; they may not be JSON.
    pub arguments: String,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: serde_json::Value,
}

/// Where a request goes. `Debug` does not show the key.
#[derive(Clone)]
pub struct ModelEndpoint {
    /// Base URL of the API.
    pub base_url: String,
    /// The provider's name of the model.
    pub deployment: String,
    /// Bearer token.
    pub api_key: Option<String>,
}

impl std::fmt::Debug for ModelEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelEndpoint")
            .field("base_url", &self.base_url)
            .field("deployment", &self.deployment)
            .finish_non_exhaustive()
    }
}

/// Whether deltas are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyMode {
    /// Text comes piece by piece.
    Stream,
    /// The reply comes at once.
    Complete,
}

/// One request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Where it goes.
    pub endpoint: ModelEndpoint,
    /// The conversation.
    pub messages: Arc<Vec<Message>>,
    /// Tools that the model may call.
    pub tools: Vec<ToolDefinition>,
    /// Further members of the body.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Output cap in tokens.
    pub max_output_tokens: u64,
    /// Stream or complete.
    pub mode: ReplyMode,
}

/// Why the model stopped, in our words; the provider's own word is mapped at the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants tools.
    ToolCalls,
    /// It reached the output cap.
    Length,
    /// A filter cut it.
    ContentFilter,
    /// A word that we do not know.
    Unknown,
}

/// What came back, whole or in part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelReply {
    /// The text.
    pub text: String,
    /// Name and raw arguments of each tool call, in the order of the reply.
    pub tool_calls: Vec<(String, String)>,
    /// Tokens as the provider counted them; None when it did not say.
    pub usage: Option<TokenUsage>,
}

/// How a call ended. Whatever was received is in `reply`, also when it failed or was cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelOutcome {
    /// What came back.
    pub reply: ModelReply,
    /// The end.
    pub end: ModelCallEnd,
    /// Milliseconds from sending to the first delta.
    pub first_delta_ms: Option<u32>,
    /// Whether the request may have reached the provider; when not, nothing is charged.
    pub was_sent: bool,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelCallEnd {
    /// The reply is whole.
    Finished(FinishReason),
    /// It failed; the reply is partial.
    Failed(ModelFailure),
    /// We stopped it; the reply is partial.
    Cancelled,
}

/// Where a model call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallState {
    /// Reserved; it may be under way.
    Started,
    /// Its reply is whole and paid.
    Settled,
    /// It failed; what was received is paid.
    Failed,
    /// It was stopped; what was received is paid.
    Cancelled,
    /// Its worker was lost: settled at the worst case, marked estimated.
    Lost,
}

/// A ModelCall, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCall {
    /// Its id.
    pub id: ModelCallId,
    /// The iteration that made it.
    pub iteration: u32,
    /// The lease's number under which it started.
    pub epoch: u64,
    /// Where it stands.
    pub state: CallState,
    /// Who runs the model.
    pub provider: String,
    /// The provider's name of the model.
    pub deployment: String,
    /// The short name.
    pub alias: String,
    /// Its model's place in the pinned list; 0 is the agent's own model.
    pub fallback_index: u32,
    /// Code and message of the failure that led to a fallback model.
    pub fallback_because: Option<(String, String)>,
    /// How often the request was sent, or was to be sent.
    pub tries: u32,
    /// Parameters that were sent.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The price version by which it was costed.
    pub price_version: Option<PriceVersionId>,
    /// The prices of that version.
    pub price: Option<Price>,
    /// Tokens reserved.
    pub reserved_tokens: u64,
    /// Money reserved.
    pub reserved: NanoUsd,
    /// Tokens used.
    pub usage: TokenUsage,
    /// Cost.
    pub cost: NanoUsd,
    /// Whether usage was estimated.
    pub estimated: bool,
    /// Why the model stopped.
    pub finish_reason: Option<FinishReason>,
    /// Code and message of the failure.
    pub error: Option<(String, String)>,
    /// The messages that were sent.
    pub request: SentMessages,
    /// The reply's text.
    pub reply_text: StoredText,
    /// The tool calls that the reply asked for.
    pub reply_tool_calls: Vec<RequestedToolCall>,
    /// Whether the reply was cut off.
    pub reply_partial: bool,
    /// Sequence of its `ModelCallStarted` event.
    pub started_sequence: u64,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Milliseconds to the first delta.
    pub first_delta_ms: Option<u32>,
}

impl ModelCall {
    /// What it has used: nothing while it is under way, when its row stands with its worst case.
    pub fn used(&self) -> TokenUsage {
        if self.state == CallState::Started { TokenUsage::default() } else { self.usage }
    }
}
