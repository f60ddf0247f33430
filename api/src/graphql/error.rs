//! Errors of the API: the one place that knows `extensions.code` and decides which text leaves the server.
//!
//! What a caller can mend inside a mutation is a `userError` of its payload and not an error of this kind. An error of
//! this kind never carries the text of a store, a provider or a library.

use std::borrow::Cow;
use std::error::Error as _;

use async_graphql::{Error, ErrorExtensions};
use domain::access::{AccessError, Refusal};
use domain::error::{ErrorClass, InvalidInput, StoreError};
use domain::event::CursorError;
use domain::ids::MalformedId;

/// The codes that resolvers use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// An argument is wrong; the message says how to mend it.
    BadUserInput,
    /// Nobody is signed in.
    Unauthenticated,
    /// There is no such thing for this caller.
    NotFound,
    /// The events were removed after their time.
    EventsExpired,
    /// The thing changed meanwhile; try again.
    Conflict,
    /// Something that the server needs is away; try again.
    Unavailable,
    /// A fault of ours.
    Internal,
}

impl Code {
    /// The value of `extensions.code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::NotFound => "NOT_FOUND",
            Self::EventsExpired => "EVENTS_EXPIRED",
            Self::Conflict => "CONFLICT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    const fn is_retryable(self) -> bool {
        matches!(self, Self::Conflict | Self::Unavailable)
    }
}

/// What a resolver answers in place of a value. It is not `Display`, so that no other error turns into an answer by
/// itself.
#[derive(Debug, Clone)]
pub struct ApiError {
    code: Code,
    message: Cow<'static, str>,
}

impl ApiError {
    const fn fixed(code: Code, message: &'static str) -> Self {
        Self { code, message: Cow::Borrowed(message) }
    }

    /// An argument is wrong.
    pub fn bad_input(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Code::BadUserInput, message: message.into() }
    }

    /// Nobody is signed in.
    pub const fn unauthenticated() -> Self {
        Self::fixed(Code::Unauthenticated, "Sign in, or send an API key as bearer token.")
    }

    /// The same for what is missing and for what the caller may not see.
    pub const fn not_found() -> Self {
        Self::fixed(Code::NotFound, "There is nothing with this id that you may see.")
    }

    /// The execution ended so long ago that it was removed.
    pub const fn events_expired() -> Self {
        Self::fixed(Code::EventsExpired, "The execution ended long ago; it was removed with its events.")
    }

    /// A fault of ours; the cause goes to the log.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %cause, "request failed");
        Self::fixed(Code::Internal, "The server failed to answer; the fault was recorded.")
    }
}

impl From<ApiError> for Error {
    fn from(error: ApiError) -> Self {
        Self::new(error.message).extend_with(|_, extensions| {
            extensions.set("code", error.code.as_str());
            extensions.set("retryable", error.code.is_retryable());
        })
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let cause = error.source().map(ToString::to_string);
        tracing::error!(error = %error, error.cause = cause, "store failed");
        match error.class() {
            ErrorClass::Conflict => Self::fixed(Code::Conflict, "It was changed meanwhile; look and try again."),
            ErrorClass::Upstream => Self::fixed(Code::Unavailable, "The store does not answer; try again."),
            ErrorClass::Caller
            | ErrorClass::Denied
            | ErrorClass::NotFound
            | ErrorClass::Limit
            | ErrorClass::Internal => Self::internal(&error),
        }
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Denied => Self::not_found(),
            AccessError::Store(error) => error.into(),
        }
    }
}

impl From<CursorError> for ApiError {
    fn from(error: CursorError) -> Self {
        Self::bad_input(format!("after {error}"))
    }
}

impl From<MalformedId> for ApiError {
    fn from(error: MalformedId) -> Self {
        Self::bad_input(format!("The id {error}."))
    }
}

impl ApiError {
    /// Splits a refusal: what the caller can mend, or an error.
    pub fn split(refusal: Refusal) -> Result<Vec<InvalidInput>, Self> {
        match refusal {
            Refusal::Faults(faults) => Ok(faults),
            Refusal::Store(error) => Err(error.into()),
            Refusal::Seal(error) => Err(Self::internal(&error)),
        }
    }
}
