//! Errors of the local runtime: one for starting it, one for answers over HTTP.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::json;

use super::protocol::{Failure, FailureKind};

/// Why the runtime did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is reachable from other machines.
    #[error("the sandbox runtime listens on loopback only, not on {0}")]
    NotLoopback(SocketAddr),
    /// An empty key would let everybody in.
    #[error("the sandbox runtime needs an API key that is not empty")]
    EmptyKey,
    /// Another runtime uses the same state directory.
    #[error("the state directory {} is in use by another runtime", .0.display())]
    InUse(PathBuf),
    /// The process that the runtime should not outlive has ended already.
    #[error("the parent process {0} is gone")]
    ParentGone(u32),
    /// bubblewrap, which makes the sandboxes, is not installed.
    #[error("bubblewrap (bwrap) is not installed: install the package `bubblewrap`")]
    NoBubblewrap,
    /// Neither a control group nor this kernel counts the processes of a sandbox.
    #[error(
        "the number of processes in a sandbox cannot be bounded here: give the runtime a writable cgroup, start it as \
         root, or use Linux 5.14 or later"
    )]
    NoProcessLimit,
    /// A sandbox was tried out and did not start.
    #[error("no sandbox can be started: {0}")]
    NoSandbox(String),
    /// The seccomp filter could not be built for this processor.
    #[error("cannot build the system call filter: {0}")]
    Filter(String),
    /// A file, socket or directory could not be used.
    #[error("{what}")]
    Io {
        what: &'static str,
        #[source]
        source: io::Error,
    },
}

impl Error {
    pub(super) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// A refusal in the shape `{"code","message"}` that both APIs use.
#[derive(Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub fn bad_parameter(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "SANDBOX::INVALID_PARAMETER", message)
    }

    pub fn bad_body(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST_BODY", message)
    }

    pub fn missing_query(name: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "MISSING_QUERY", format!("the query parameter {name} is missing"))
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "RUNTIME_ERROR", message)
    }

    pub fn unknown_sandbox(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "LOCAL::SANDBOX_NOT_FOUND", format!("sandbox {id} not found"))
    }

    /// The answer to a failure that was reported from inside a sandbox.
    pub fn from_failure(failure: Failure) -> Self {
        let Failure { kind, message } = failure;
        match kind {
            FailureKind::NotFound => Self::new(StatusCode::NOT_FOUND, "FILE_NOT_FOUND", message),
            FailureKind::Invalid | FailureKind::WorkingDirectory => Self::bad_body(message),
            FailureKind::Spawn | FailureKind::Other => Self::runtime(message),
        }
    }
}

impl From<io::Error> for ApiError {
    /// The socket to a helper failed: it was killed, or its sandbox has ended.
    fn from(error: io::Error) -> Self {
        let message = format!("the sandbox did not answer: {error}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "RUNTIME_ERROR", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "code": self.code, "message": self.message }))).into_response()
    }
}

/// A refusal of the Lifecycle API, which answers a breach of its schema in another shape.
#[derive(Debug)]
pub enum Refusal {
    Schema { member: &'static str, message: String },
    Rule(ApiError),
}

impl Refusal {
    pub fn schema(member: &'static str, message: impl Into<String>) -> Self {
        Self::Schema { member, message: message.into() }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Rule(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Rule(error) => error.into_response(),
            Self::Schema { member, message } => {
                let body = json!({ "detail": [{ "type": "value_error", "loc": ["body", member], "msg": message }] });
                (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response()
            }
        }
    }
}
