//! A Fault is a refusal that the transport itself gives: a stable code, and a message that its reader can act on.
//!
//! The rule: a message never holds internals, nor more of the caller's text than a name.

use async_graphql::{ErrorExtensionValues, Pos, ServerError};
use http::StatusCode;

use super::request_id::RequestId;

/// The codes that the transport uses, out of the closed list of `extensions.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The document is not GraphQL.
    ParseFailed,
    /// The document does not fit the schema or the rules of the language.
    ValidationFailed,
    /// The request around the document, or a value in it, is wrong.
    BadUserInput,
    /// No valid credentials, where they are needed.
    Unauthenticated,
    /// The sender is known and may not.
    Forbidden,
    /// Too much at once.
    RateLimited,
    /// The document is larger, deeper or dearer than allowed.
    CostLimitExceeded,
    /// The execution took too long and was stopped.
    Timeout,
    /// Something that the server needs is away.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Code {
    /// The value of `extensions.code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::RateLimited => "RATE_LIMITED",
            Self::CostLimitExceeded => "COST_LIMIT_EXCEEDED",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    /// The HTTP status of a refusal before execution.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::ParseFailed | Self::ValidationFailed | Self::BadUserInput | Self::CostLimitExceeded => {
                StatusCode::BAD_REQUEST
            }
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the same request can succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::Unavailable)
    }
}

/// A refusal before execution.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stable code.
    pub code: Code,
    /// The message for the caller.
    pub message: String,
    /// The places in the document that it speaks of.
    pub locations: Vec<Pos>,
}

impl Fault {
    /// A refusal without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), locations: Vec::new() }
    }

    /// Adds the place in the document.
    pub fn at(mut self, position: Pos) -> Self {
        self.locations.push(position);
        self
    }

    /// The refusal as an entry of `errors`.
    pub(super) fn into_error(self, request_id: &RequestId) -> ServerError {
        let mut error = ServerError::new(self.message, None);
        error.locations = self.locations;
        stamp(&mut error, self.code, request_id);
        error
    }
}

/// Sets the extensions that every error carries.
pub(super) fn stamp(error: &mut ServerError, code: Code, request_id: &RequestId) {
    let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
    extensions.set("code", code.as_str());
    extensions.set("requestId", request_id.as_str());
    extensions.set("retryable", code.is_retryable());
}

/// The start of a text, cut between characters, with a mark when something was cut.
pub(super) fn excerpt(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max_bytes)])
}
