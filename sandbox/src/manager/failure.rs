//! From the client's errors to the domain's, without the server's own shapes.

use domain::sandbox::SandboxError;

use crate::opensandbox::{Error, ErrorClass};

const MAX_MESSAGE_CHARS: usize = 500;

/// What went wrong, in the domain's words. The text is bounded and was redacted by the client.
pub(super) fn failure(error: &Error) -> SandboxError {
    let text: String = error.to_string().chars().take(MAX_MESSAGE_CHARS).collect();
    let (code, sandbox_lost) = match error.class() {
        ErrorClass::Caller if is_unenforceable(error) => ("LIMIT_NOT_ENFORCEABLE", false),
        ErrorClass::Caller if is_unknown_image(error) => ("IMAGE_NOT_AVAILABLE", false),
        ErrorClass::Caller => ("SANDBOX_REJECTED", false),
        ErrorClass::Security => ("SANDBOX_ENDPOINT_REFUSED", false),
        ErrorClass::Access => ("SANDBOX_CREDENTIALS", false),
        ErrorClass::Missing => ("SANDBOX_LOST", true),
        ErrorClass::Transient => ("SANDBOX_UNAVAILABLE", true),
        ErrorClass::Unknown => ("SANDBOX_OUTCOME_UNKNOWN", true),
        ErrorClass::Protocol => ("SANDBOX_PROTOCOL_UNSUPPORTED", false),
    };
    SandboxError { code, message: text, sandbox_lost }
}

/// There is no server to speak to.
pub(super) fn unavailable(why: String) -> SandboxError {
    SandboxError { code: "SANDBOX_UNAVAILABLE", message: why, sandbox_lost: true }
}

fn is_unenforceable(error: &Error) -> bool {
    error.reply().is_some_and(|reply| reply.has_code("LIMIT_NOT_ENFORCEABLE"))
}

fn is_unknown_image(error: &Error) -> bool {
    error.reply().is_some_and(|reply| reply.has_code("IMAGE_NOT_AVAILABLE"))
}
