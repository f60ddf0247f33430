//! Why the loop leaves an execution.

use crate::budget::{Limit, Refused};
use crate::event::JournalError;
use crate::execution::{StopCause, StopCode};

/// The loop's one way out.
#[derive(Debug)]
pub enum Halt {
    /// The execution ends.
    Stop {
        /// The cause.
        code: StopCode,
        /// For people.
        message: String,
        /// The final answer, or what there was of one.
        answer: Option<String>,
    },
    /// A limit was hit.
    Limit(Limit),
    /// A budget account refused a model call.
    Account(Refused),
    /// The stop signal was tripped.
    Signal(StopCause),
    /// This process shuts down: give the execution back.
    Drain,
    /// The journal could not write.
    Journal(JournalError),
}

impl Halt {
    /// Whether the execution ends with it. Otherwise somebody else goes on with the execution.
    pub const fn ends_execution(&self) -> bool {
        match self {
            Self::Stop { .. } | Self::Limit(_) | Self::Account(_) => true,
            Self::Signal(cause) => !matches!(cause, StopCause::LeaseLost),
            Self::Drain | Self::Journal(_) => false,
        }
    }

    /// Ends the execution without an answer.
    pub fn stop(code: StopCode, message: impl Into<String>) -> Self {
        Self::Stop { code, message: message.into(), answer: None }
    }
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

impl From<crate::error::StoreError> for Halt {
    fn from(error: crate::error::StoreError) -> Self {
        Self::Journal(JournalError::Store(error))
    }
}
