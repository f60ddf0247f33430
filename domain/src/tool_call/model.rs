//! What is recorded of a tool call.

use serde::{Deserialize, Serialize};

use crate::artifact::StoredText;
use crate::clock::Timestamp;
use crate::ids::{SandboxId, ToolCallId};
use crate::sandbox::{BackgroundCommand, Redactor};

/// What repeating a call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SideEffect {
    /// It changes nothing: repeated after a loss.
    ReadOnly,
    /// The same key has the same effect once: repeated after a loss.
    Idempotent,
    /// It acts on the world: after a loss a person decides.
    SideEffect,
    /// It acts inside the execution's own sandbox, which is lost with its worker: the model is told.
    SandboxOnly,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ToolCallState {
    /// It may be under way.
    Started,
    /// It did what was asked.
    Succeeded,
    /// It ran and failed.
    Failed,
    /// We stopped it.
    Cancelled,
    /// It may have run in part; it is not repeated.
    Interrupted,
    /// Its worker was lost; it is repeated or waits for a person.
    Lost,
    /// It was never run.
    Refused,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The state it ended in.
    pub state: ToolCallState,
    /// What the model gets to read.
    pub text: String,
    /// Exit code of a program.
    pub exit_code: Option<i32>,
    /// Code and message of the failure.
    pub error: Option<(String, String)>,
    /// Whether output was left out of `text`.
    pub truncated: bool,
    /// Whether output held bytes that are no UTF-8.
    pub lossy: bool,
}

impl ToolResult {
    /// It did what was asked.
    pub fn succeeded(text: impl Into<String>) -> Self {
        Self {
            state: ToolCallState::Succeeded,
            text: text.into(),
            exit_code: None,
            error: None,
            truncated: false,
            lossy: false,
        }
    }

    /// It ran in a sandbox that is lost; `loss` says how, and what the next one holds.
    pub fn interrupted(loss: &str) -> Self {
        let message = format!("{loss}; processes and files outside /workspace are gone");
        Self::ended(ToolCallState::Interrupted, "INTERRUPTED", message)
    }

    /// It ended otherwise; the model reads the code and the message.
    pub fn ended(state: ToolCallState, code: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            state,
            text: format!("{code}: {message}"),
            error: Some((code.to_owned(), message)),
            ..Self::succeeded("")
        }
    }

    /// Says something of ours to the model, on a line of its own behind the text.
    pub(super) fn note(&mut self, note: &str) {
        let break_before = if self.text.ends_with('\n') { "" } else { "\n" };
        self.text = format!("{}{break_before}[{note}]", self.text);
    }

    /// Puts the replacement character in the place of each NUL: not every store keeps one in a text.
    pub(super) fn take_nul_out(&mut self) {
        if self.text.contains('\0') {
            self.text = without_nul(&self.text);
            self.lossy = true;
        }
    }

    /// Takes out of every text of it what must not be told.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.text = redactor.text(&self.text).into_owned();
        if let Some((_, message)) = &mut self.error {
            *message = redactor.text(message).into_owned();
        }
    }
}

/// A text with the replacement character in the place of each NUL.
pub(super) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A ToolCall, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its id; the model sees it as the call's id.
    pub id: ToolCallId,
    /// The iteration whose reply asked for it.
    pub iteration: u32,
    /// Its place among the calls of that reply, from 0.
    pub ordinal: u32,
    /// Lease epoch under which it started.
    pub epoch: u64,
    /// Tool name, as the model wrote it.
    pub tool: String,
    /// Version of the tool's contract.
    pub tool_version: String,
    /// Where it stands.
    pub state: ToolCallState,
    /// What repeating it would do.
    pub side_effect: SideEffect,
    /// Stays the same when the call is repeated after a loss.
    pub idempotency_key: String,
    /// Hexadecimal SHA-256 over name and canonical arguments; of the raw text when they are no JSON.
    pub fingerprint: String,
    /// The arguments as the model wrote them.
    pub arguments: StoredText,
    /// What the model got to read.
    pub result: StoredText,
    /// Exit code of a program.
    pub exit_code: Option<i32>,
    /// Code and message of the failure.
    pub error: Option<(String, String)>,
    /// Whether output was left out.
    pub truncated: bool,
    /// Whether output held bytes that are no UTF-8.
    pub lossy: bool,
    /// The sandbox that it used.
    pub sandbox_id: Option<SandboxId>,
    /// The program that it runs in the background. Written by [`crate::execution::Change::SaveCommand`] alone, so that
    /// no other write of the row takes a cursor back.
    pub command: Option<BackgroundCommand>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}
