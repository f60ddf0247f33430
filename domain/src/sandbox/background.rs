//! A BackgroundCommand is a program that goes on in its sandbox when nobody reads its output.
//!
//! The server keeps its output, its exit code and its time limit. Its id is stored before a byte of the output is read,
//! and the cursor in the commit that tells the text before it: whoever holds the execution next goes on there. It does not
//! outlive its sandbox.

use std::time::Duration;

use super::model::ProgramEnd;
use crate::clock::Timestamp;
use crate::ids::{SandboxId, ToolCallId};

/// A program with a longer time limit runs in the background.
pub const LONGEST_STREAMED: Duration = Duration::from_mins(1);

/// A background command, as it is stored with its tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundCommand {
    /// The server's id of it.
    pub id: String,
    /// How many bytes of its output the log has told, counted as they are told: as text, and without what is taken out of
    /// it. The same output always gives the same text, however it arrives.
    pub cursor: u64,
    /// The time limit that the server was given.
    pub limit_ms: u32,
}

impl BackgroundCommand {
    /// Its time limit.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(self.limit_ms.into())
    }

    /// When it is over for certain, if it began at this time and the server keeps its limit.
    pub fn ends_by(&self, began_at: Timestamp) -> Timestamp {
        began_at.plus(self.limit())
    }
}

/// Which tool call a background command belongs to, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlace {
    /// The tool call.
    pub call: ToolCallId,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The command, with the cursor as it is to be stored.
    pub command: BackgroundCommand,
}

/// What became of the start of a program in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It runs, or has ended already; the text is the server's id of it.
    Started(String),
    /// It never started; the text says why.
    NotStarted(String),
}

/// How the following of a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// The command ended, or nothing more will be known of it.
    Ended(ProgramEnd),
    /// We let go of it; it may be running.
    LetGo,
}
