//! An Outcome is what a call came to, as far as two of them are compared. Only what the tool itself said counts: what
//! the guard adds for the model is taken off again before anything is compared.

use super::error_text::comparable;
use crate::artifact::sha256_hex;
use crate::tool_call::ToolCallState;

/// How a word of the guard to the model begins, at the end of a result.
const WARNING_MARK: &str = "\n[loop guard] ";

/// What a call came to: a hash that is equal for two calls that came to the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It gave a result.
    Result(String),
    /// It failed.
    Error(String),
}

impl Outcome {
    /// A result. It is compared to the last byte.
    pub fn result(text: &str) -> Self {
        Self::Result(sha256_hex(without_warning(text).as_bytes()))
    }

    /// An error of a call with these arguments. Times and ids that the call did not ask about do not count.
    pub fn error(text: &str, arguments: &str) -> Self {
        Self::Error(sha256_hex(comparable(without_warning(text), arguments).as_bytes()))
    }

    /// What a recorded call came to; None while it runs and for one that never ran because of a limit or the guard.
    pub fn of(state: ToolCallState, error_code: Option<&str>, text: &str, arguments: &str) -> Option<Self> {
        match state {
            ToolCallState::Succeeded => Some(Self::result(text)),
            // A program that finds nothing says so with its exit code alone; that is an answer.
            ToolCallState::Failed if error_code == Some("EXIT_CODE") && text.starts_with("\n[") => {
                Some(Self::result(text))
            }
            ToolCallState::Failed | ToolCallState::Interrupted => Some(Self::error(text, arguments)),
            ToolCallState::Refused if !is_ours(error_code) => Some(Self::error(text, arguments)),
            ToolCallState::Refused | ToolCallState::Started | ToolCallState::Cancelled | ToolCallState::Lost => None,
        }
    }

    pub(super) const fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// Whether a call was refused for what came before it, and not for what it asked.
fn is_ours(error_code: Option<&str>) -> bool {
    matches!(error_code, Some("LOOP_DETECTED" | "BUDGET_EXCEEDED" | "NOT_RUN"))
}

/// A result with a word of the guard behind it, on one line.
pub fn with_warning(text: &str, warning: &str) -> String {
    format!("{text}{WARNING_MARK}{}", warning.replace('\n', " "))
}

/// A result without the guard's word.
pub fn without_warning(text: &str) -> &str {
    match text.rsplit_once(WARNING_MARK) {
        Some((result, warning)) if !warning.contains('\n') => result,
        Some(_) | None => text,
    }
}
