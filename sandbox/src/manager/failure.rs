//! From the client's errors to the domain's, without the server's own shapes.

use domain::sandbox::{NotCreated, SandboxError};

use crate::opensandbox::{Error, ErrorClass};

const MAX_MESSAGE_CHARS: usize = 500;
/// The answer 404 to a create.
const NOT_THERE: &str = "the server answered 404: the connection's baseUrl leads to no OpenSandbox server, or the \
                                    sandbox went away while it started";
const FULL: &str = "the storage of the sandbox is full; remove files, or give the sandbox profile more diskBytes";

/// What went wrong, in the domain's words. The text is bounded and was redacted by the client.
pub(super) fn failure(error: &Error) -> SandboxError {
    let text = match error {
        _ if is_full(error) => FULL.to_owned(),
        Error::CommandTooLong { bytes, limit } => format!(
            "the command has {bytes} bytes where {limit} are possible; write it into a file with write_file and run that"
        ),
        // What a server says of its own failure is for its operator.
        Error::ServerFailed(reply) => format!("the server of the sandbox failed with status {}", reply.status),
        error => error.to_string(),
    };
    let text = text.chars().take(MAX_MESSAGE_CHARS).collect();
    let (code, sandbox_lost) = match error.class() {
        ErrorClass::Caller | ErrorClass::Access | ErrorClass::Transient if let Some(code) = named(error) => {
            (code, false)
        }
        ErrorClass::Caller if matches!(error, Error::CommandTooLong { .. }) => ("COMMAND_TOO_LONG", false),
        ErrorClass::Caller => ("SANDBOX_REJECTED", false),
        ErrorClass::Security if matches!(error, Error::PlaintextRefused { .. }) => ("plaintext_refused", false),
        ErrorClass::Security => ("SANDBOX_ENDPOINT_REFUSED", false),
        ErrorClass::Access => ("SANDBOX_CREDENTIALS", false),
        ErrorClass::Missing => ("SANDBOX_LOST", true),
        ErrorClass::Transient if matches!(error, Error::FileChanged) => ("FILE_CHANGED", false),
        ErrorClass::Transient if is_full(error) => ("SANDBOX_DISK_FULL", false),
        ErrorClass::Transient if is_own_failure(error) => ("SANDBOX_FAILED", false),
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

/// A create that failed so.
pub(super) fn not_created(error: &Error) -> NotCreated {
    let why = match error {
        Error::NotFound(_) => unavailable(NOT_THERE.to_owned()),
        error => failure(error),
    };
    NotCreated { error: why, may_exist: may_exist(error) }
}

/// Whether a create that failed so may have left a sandbox. One that was made and did not become ready was killed, and what
/// the server said to that is an error of its own.
const fn may_exist(error: &Error) -> bool {
    match error {
        Error::ConnectionInvalid(_)
        | Error::PlaintextRefused { .. }
        | Error::RequestInvalid(_)
        | Error::CommandTooLong { .. }
        | Error::Unreachable(_)
        | Error::AccessDenied(_)
        | Error::Rejected(_)
        | Error::NotFound(_)
        | Error::NotSupported { .. } => false,
        Error::EndpointRefused(_)
        | Error::SecureAccessMissing
        | Error::Disconnected(_)
        | Error::DeadlineExceeded(_)
        | Error::FileChanged
        | Error::ServerFailed(_)
        | Error::OutcomeUnknown { .. }
        | Error::ProtocolUnsupported(_)
        | Error::Unconfirmed { .. }
        | Error::LocalIo(_) => true,
    }
}

/// What servers name in codes of their own, each behind the name of its runtime and with another status.
fn named(error: &Error) -> Option<&'static str> {
    const NAMES: [(&str, &str); 5] = [
        ("LIMIT_NOT_ENFORCEABLE", "LIMIT_NOT_ENFORCEABLE"),
        ("IMAGE_NOT_AVAILABLE", "IMAGE_NOT_AVAILABLE"),
        ("SANDBOX_IMAGE_PULL_FAILED", "IMAGE_NOT_AVAILABLE"),
        ("QUOTA_EXCEEDED", "SANDBOX_SERVER_FULL"),
        ("POOL_CAPACITY_EXHAUSTED", "SANDBOX_SERVER_FULL"),
    ];
    let reply = error.reply()?;
    NAMES.iter().find(|(theirs, _)| reply.has_code(theirs)).map(|(_, ours)| *ours)
}

/// The protocol has no code for a full disk; every server passes on what the system calls it.
fn is_full(error: &Error) -> bool {
    error.reply().is_some_and(|reply| reply.message.to_ascii_lowercase().contains("no space left on device"))
}

/// A server that says what went wrong, such as a file that is a directory, still has the sandbox with all that is in it.
fn is_own_failure(error: &Error) -> bool {
    error.reply().is_some_and(|reply| reply.status == 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opensandbox::Reply;

    #[test]
    fn a_sandbox_is_given_up_only_when_it_is_silent() {
        let server_failed = |status, message: &str| {
            let reply = Reply { status, message: message.to_owned(), ..Reply::default() };
            let failure = failure(&Error::ServerFailed(reply));
            (failure.code, failure.sandbox_lost)
        };
        assert_eq!(server_failed(500, "write a: No space left on device"), ("SANDBOX_DISK_FULL", false));
        assert_eq!(server_failed(500, "a is a directory"), ("SANDBOX_FAILED", false));
        assert_eq!(server_failed(503, "the sandbox did not answer"), ("SANDBOX_UNAVAILABLE", true));
    }

    /// A full server is no key that it does not take, and an image that cannot be pulled no fault of the server.
    #[test]
    fn what_servers_name_keeps_its_name_whatever_its_status() {
        let reply = |status, code: &str| Reply { status, code: Some(code.to_owned()), ..Reply::default() };
        for (error, code) in [
            (Error::ServerFailed(reply(500, "DOCKER::SANDBOX_IMAGE_PULL_FAILED")), "IMAGE_NOT_AVAILABLE"),
            (Error::Rejected(reply(400, "LOCAL::IMAGE_NOT_AVAILABLE")), "IMAGE_NOT_AVAILABLE"),
            (Error::Rejected(reply(400, "LOCAL::LIMIT_NOT_ENFORCEABLE")), "LIMIT_NOT_ENFORCEABLE"),
            (Error::AccessDenied(reply(403, "KUBERNETES::QUOTA_EXCEEDED")), "SANDBOX_SERVER_FULL"),
            (Error::ServerFailed(reply(429, "KUBERNETES::POOL_CAPACITY_EXHAUSTED")), "SANDBOX_SERVER_FULL"),
            (Error::AccessDenied(reply(403, "FORBIDDEN")), "SANDBOX_CREDENTIALS"),
        ] {
            let failure = failure(&error);
            assert_eq!((failure.code, failure.sandbox_lost), (code, false), "{error}");
        }
    }

    #[test]
    fn nothing_is_left_where_nothing_was_sent_or_the_server_said_no() {
        let reply = || Reply { status: 400, ..Reply::default() };
        let unknown = Error::OutcomeUnknown { operation: "create", cause: Box::new(Error::ServerFailed(reply())) };
        for (error, may) in [
            (Error::PlaintextRefused { host: "example.com".to_owned() }, false),
            (Error::ConnectionInvalid("base_url has no host".to_owned()), false),
            (Error::Rejected(reply()), false),
            (Error::NotFound(reply()), false),
            (Error::ServerFailed(reply()), true),
            (unknown, true),
        ] {
            assert_eq!(not_created(&error).may_exist, may, "{error}");
        }
        let nowhere = not_created(&Error::NotFound(reply())).error;
        assert_eq!(nowhere.code, "SANDBOX_UNAVAILABLE");
        assert!(nowhere.message.contains("baseUrl"), "{nowhere:?}");
    }

    #[test]
    fn a_server_of_another_protocol_and_a_command_without_end_have_names_of_their_own() {
        let unknown = Error::ProtocolUnsupported("server version 9.0.0 is not from 1.1.1 to below 1.2.0".to_owned());
        let shown = failure(&unknown);
        assert_eq!((shown.code, shown.sandbox_lost), ("SANDBOX_PROTOCOL_UNSUPPORTED", false));
        assert!(shown.message.contains("9.0.0"));
        let plain = failure(&Error::PlaintextRefused { host: "example.com".to_owned() });
        assert_eq!((plain.code, plain.sandbox_lost), ("plaintext_refused", false));
        let long = failure(&Error::CommandTooLong { bytes: 200_000, limit: 131_071 });
        assert_eq!((long.code, long.sandbox_lost), ("COMMAND_TOO_LONG", false));
    }
}
