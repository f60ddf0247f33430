//! A reason is what a person says about a decision; the audit log keeps it as it was written.

use crate::error::InvalidInput;

const MOST_BYTES: usize = 1000;

/// What is wrong with a reason, which stands in the field `reason` of every command that is audited.
pub fn check_reason(reason: &str) -> Option<InvalidInput> {
    let fault = |code, rule: &str| Some(InvalidInput::new(["reason"], code, rule));
    if reason.len() > MOST_BYTES {
        return fault("TOO_LONG", "must be at most 1000 bytes: it is what the audit log keeps");
    }
    let is_text = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if reason.trim().is_empty() || !reason.chars().all(is_text) {
        return fault("MALFORMED", "must say why, without control characters: it is what the audit log keeps");
    }
    None
}
