//! An Error is everything that can go wrong between this client and an OpenSandbox server.
//!
//! Rule: the code is stable and safe to show; the text of the server is bounded, redacted, and never part of the code.

use std::fmt;
use std::time::Duration;

/// What the server itself said about a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The server's own code, such as `DOCKER::SANDBOX_NOT_FOUND`; its prefix depends on the runtime.
    pub code: Option<String>,
    /// The server's text, at most 2 KiB, with every known secret replaced.
    pub message: String,
    /// The id under which the server logged the request.
    pub request_id: Option<String>,
    /// How long the server asked us to wait.
    pub retry_after: Option<Duration>,
}

impl Reply {
    /// Whether the server's code ends with `suffix`, whatever its runtime prefix.
    #[must_use]
    pub fn has_code(&self, suffix: &str) -> bool {
        self.code.as_deref().is_some_and(|code| code.ends_with(suffix))
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if let Some(code) = &self.code {
            write!(f, " {code}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

/// Which of the deadlines passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// No connection in time.
    Connect,
    /// Connected, but no byte came or went for too long.
    Idle,
    /// The whole call took too long.
    Total,
}

/// A change in a sandbox's life that a server confirms only by showing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Its end.
    Destroy,
    /// Its processes stand still.
    Pause,
    /// Its processes go on.
    Resume,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Destroy => "destruction",
            Self::Pause => "pause",
            Self::Resume => "resumption",
        })
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection's own settings are wrong. Nothing was sent.
    #[error("connection settings: {0}")]
    ConnectionInvalid(String),
    /// The connection or an endpoint is plain HTTP to a host that is not loopback. Nothing was sent.
    #[error("plain HTTP to {host} is refused")]
    PlaintextRefused {
        /// The host that would have been spoken to.
        host: String,
    },
    /// The caller's request cannot be right. Nothing was sent.
    #[error("request: {0}")]
    RequestInvalid(String),
    /// The command line or its environment is longer than a process can be given. Nothing was sent.
    #[error("command has {bytes} bytes where {limit} are possible; put the rest into a file")]
    CommandTooLong {
        /// How long it is.
        bytes: usize,
        /// How long that part may be.
        limit: usize,
    },
    /// The server named an address or header that this connection does not allow, or answered with a redirect.
    #[error("endpoint: {0}")]
    EndpointRefused(String),
    /// The server shares its sandboxes' addresses with others and named no token that keeps them out.
    #[error("endpoint has no token for secure access")]
    SecureAccessMissing,
    /// No connection could be made, so the server has not seen the request.
    #[error("server is unreachable")]
    Unreachable(#[source] reqwest::Error),
    /// The connection broke during a call that is safe to repeat.
    #[error("connection broke")]
    Disconnected(#[source] reqwest::Error),
    /// A deadline passed during a call that is safe to repeat.
    #[error("{0:?} deadline passed")]
    DeadlineExceeded(Deadline),
    /// The server does not accept our key or token, or forbids the call.
    #[error("access denied: {0}")]
    AccessDenied(Reply),
    /// The sandbox, command or file does not exist (any more).
    #[error("not found: {0}")]
    NotFound(Reply),
    /// A file's content broke off, and the server that sent it is there: the file was cut short while it was read.
    #[error("file changed while it was read, or its transfer broke off; read it again")]
    FileChanged,
    /// The server understood and said no; the same request will fail again.
    #[error("rejected: {0}")]
    Rejected(Reply),
    /// The server does not have this optional capability.
    #[error("{capability} is not supported: {reply}")]
    NotSupported {
        /// `pause`, `snapshot` and so on.
        capability: &'static str,
        /// What the server said.
        reply: Reply,
    },
    /// The server failed or is overloaded; the same request may succeed later.
    #[error("server failed: {0}")]
    ServerFailed(Reply),
    /// The request may or may not have taken effect: look, never send it again.
    #[error("outcome of {operation} is unknown")]
    OutcomeUnknown {
        /// `create`, `command`, `upload` and so on.
        operation: &'static str,
        /// What was seen.
        #[source]
        cause: Box<Error>,
    },
    /// The server does not speak the protocol that this client knows.
    #[error("protocol: {0}")]
    ProtocolUnsupported(String),
    /// A change was asked for, and the sandbox could not be seen to have made it.
    #[error("{change} of sandbox {id} is unconfirmed")]
    Unconfirmed {
        /// What was asked for.
        change: Change,
        /// The sandbox that may be as it was.
        id: String,
        /// The last failure, when there was one.
        #[source]
        cause: Option<Box<Error>>,
    },
    /// Reading the caller's source or writing to the caller's destination failed.
    #[error("local input or output")]
    LocalIo(#[source] std::io::Error),
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// Mend the configuration or the request.
    Caller,
    /// Tell the operator: the server asked for something that is not allowed.
    Security,
    /// Mend the key or the rights.
    Access,
    /// The thing is not there.
    Missing,
    /// Try again later.
    Transient,
    /// Look at what is there before anything else.
    Unknown,
    /// Use another version of the server or of this program.
    Protocol,
}

impl Error {
    /// A name that does not change between versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ConnectionInvalid(_) => "connection_invalid",
            Self::PlaintextRefused { .. } => "plaintext_refused",
            Self::RequestInvalid(_) => "request_invalid",
            Self::CommandTooLong { .. } => "command_too_long",
            Self::EndpointRefused(_) => "endpoint_refused",
            Self::SecureAccessMissing => "secure_access_missing",
            Self::Unreachable(_) => "unreachable",
            Self::Disconnected(_) => "disconnected",
            Self::DeadlineExceeded(_) => "deadline_exceeded",
            Self::AccessDenied(_) => "access_denied",
            Self::NotFound(_) => "not_found",
            Self::FileChanged => "file_changed",
            Self::Rejected(_) => "rejected",
            Self::NotSupported { .. } => "not_supported",
            Self::ServerFailed(_) => "server_failed",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::ProtocolUnsupported(_) => "protocol_unsupported",
            Self::Unconfirmed { change: Change::Destroy, .. } => "destroy_unconfirmed",
            Self::Unconfirmed { change: Change::Pause, .. } => "pause_unconfirmed",
            Self::Unconfirmed { change: Change::Resume, .. } => "resume_unconfirmed",
            Self::LocalIo(_) => "local_io",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::ConnectionInvalid(_)
            | Self::RequestInvalid(_)
            | Self::CommandTooLong { .. }
            | Self::Rejected(_)
            | Self::NotSupported { .. }
            | Self::LocalIo(_) => ErrorClass::Caller,
            Self::PlaintextRefused { .. } | Self::EndpointRefused(_) | Self::SecureAccessMissing => {
                ErrorClass::Security
            }
            Self::AccessDenied(_) => ErrorClass::Access,
            Self::NotFound(_) => ErrorClass::Missing,
            Self::Unreachable(_)
            | Self::Disconnected(_)
            | Self::DeadlineExceeded(_)
            | Self::FileChanged
            | Self::ServerFailed(_) => ErrorClass::Transient,
            Self::OutcomeUnknown { .. } | Self::Unconfirmed { .. } => ErrorClass::Unknown,
            Self::ProtocolUnsupported(_) => ErrorClass::Protocol,
        }
    }

    /// What the server said, when it said anything.
    #[must_use]
    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Self::AccessDenied(reply) | Self::NotFound(reply) | Self::Rejected(reply) | Self::ServerFailed(reply) => {
                Some(reply)
            }
            Self::NotSupported { reply, .. } => Some(reply),
            Self::OutcomeUnknown { cause, .. } => cause.reply(),
            Self::Unconfirmed { cause, .. } => cause.as_ref().and_then(|cause| cause.reply()),
            Self::ConnectionInvalid(_)
            | Self::PlaintextRefused { .. }
            | Self::RequestInvalid(_)
            | Self::CommandTooLong { .. }
            | Self::EndpointRefused(_)
            | Self::SecureAccessMissing
            | Self::Unreachable(_)
            | Self::Disconnected(_)
            | Self::DeadlineExceeded(_)
            | Self::FileChanged
            | Self::ProtocolUnsupported(_)
            | Self::LocalIo(_) => None,
        }
    }

    pub(super) fn protocol(what: impl Into<String>) -> Self {
        Self::ProtocolUnsupported(what.into())
    }

    pub(super) fn invalid(what: impl Into<String>) -> Self {
        Self::RequestInvalid(what.into())
    }

    /// The same failure, for a call that must not be repeated: what may have taken effect is unknown.
    pub(super) fn after_sending(self, operation: &'static str) -> Self {
        let is_unknown = match &self {
            Self::Disconnected(_) | Self::DeadlineExceeded(Deadline::Idle | Deadline::Total) => true,
            // A success was announced, but what it says cannot be read.
            Self::ProtocolUnsupported(_) => true,
            // A gateway speaks for itself here; the server behind it may have done the work.
            Self::ServerFailed(reply) => matches!(reply.status, 502 | 504),
            _ => false,
        };
        if is_unknown { Self::OutcomeUnknown { operation, cause: Box::new(self) } } else { self }
    }

    /// The same failure, where a server without `capability` fails in this way: the route is missing, it says that
    /// it has not got it, or that its kind of runtime cannot do it.
    pub(super) fn unless_supported(self, capability: &'static str) -> Self {
        match self {
            Self::ServerFailed(reply) if reply.status == 501 => Self::NotSupported { capability, reply },
            // An unknown route has no code; an unknown sandbox has.
            Self::NotFound(reply) if reply.code.is_none() => Self::NotSupported { capability, reply },
            Self::Rejected(reply) if reply.status == 405 || is_incapable(&reply) => {
                Self::NotSupported { capability, reply }
            }
            error => error,
        }
    }

    /// The failure itself, for a call whose effect does not matter.
    pub(super) fn without_effect(self) -> Self {
        match self {
            Self::OutcomeUnknown { cause, .. } => *cause,
            error => error,
        }
    }
}

fn is_incapable(reply: &Reply) -> bool {
    ["NOT_SUPPORTED", "NOT_IMPLEMENTED", "UNSUPPORTED_RUNTIME"].iter().any(|code| reply.has_code(code))
}
