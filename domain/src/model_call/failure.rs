//! A ModelFailure is what went wrong at a provider, as one of a few stable classes.
//!
//! The class decides everything that follows: whether the same request is sent again, whether another model may do
//! better, and what is charged. `docs/model-errors.md` says the same to users.

use std::time::Duration;

use crate::clock::Timestamp;

/// Stable classes of what can go wrong at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFailureKind {
    /// 401, 403.
    Credentials,
    /// 402, 429 or a quota word; may pass.
    RateLimited,
    /// The conversation does not fit into the model's context window.
    ContextTooLong,
    /// 404, 410: the endpoint knows no such model, or there is no such endpoint.
    NotFound,
    /// 400, 422: the request will not get better.
    Rejected,
    /// 5xx, or the endpoint said it is overloaded.
    ProviderError,
    /// No connection, DNS, TLS.
    Unreachable,
    /// A time limit of ours ran out.
    Timeout,
    /// The stream ended before it was whole.
    StreamTruncated,
    /// The answer was not what the protocol says.
    Protocol,
}

impl ModelFailureKind {
    /// All classes, in the order of the page that explains them.
    pub const ALL: [Self; 10] = [
        Self::Credentials,
        Self::RateLimited,
        Self::ContextTooLong,
        Self::NotFound,
        Self::Rejected,
        Self::ProviderError,
        Self::Unreachable,
        Self::Timeout,
        Self::StreamTruncated,
        Self::Protocol,
    ];

    /// The stable code on the API and in the log.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Credentials => "MODEL_CREDENTIALS",
            Self::RateLimited => "MODEL_RATE_LIMITED",
            Self::ContextTooLong => "MODEL_CONTEXT_TOO_LONG",
            Self::NotFound => "MODEL_NOT_FOUND",
            Self::Rejected => "MODEL_REJECTED",
            Self::ProviderError => "MODEL_PROVIDER_ERROR",
            Self::Unreachable => "MODEL_UNREACHABLE",
            Self::Timeout => "MODEL_TIMEOUT",
            Self::StreamTruncated => "STREAM_TRUNCATED",
            Self::Protocol => "MODEL_PROTOCOL",
        }
    }

    /// The class of a code that a row recorded.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether the same request may be answered a moment later.
    pub const fn is_passing(self) -> bool {
        match self {
            Self::RateLimited | Self::ProviderError | Self::Unreachable => true,
            Self::Credentials
            | Self::ContextTooLong
            | Self::NotFound
            | Self::Rejected
            | Self::Timeout
            | Self::StreamTruncated
            | Self::Protocol => false,
        }
    }

    /// Whether another model may answer the same conversation. A request that a provider calls wrong is to be mended,
    /// not to be carried on to the next one.
    pub const fn is_other_models_chance(self) -> bool {
        match self {
            Self::Credentials
            | Self::RateLimited
            | Self::ContextTooLong
            | Self::NotFound
            | Self::ProviderError
            | Self::Unreachable
            | Self::Timeout
            | Self::StreamTruncated
            | Self::Protocol => true,
            Self::Rejected => false,
        }
    }
}

/// What the provider said about asking again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryAdvice {
    /// Nothing.
    #[default]
    Unsaid,
    /// Not before so much time.
    After(Duration),
    /// Not before this moment.
    At(Timestamp),
    /// The adapter has learned how this endpoint wants it: the next request is another one, and may go out at once.
    AtOnce,
    /// Waiting does not help.
    Pointless,
}

/// A failed call: its class and a bounded, redacted message for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", kind.code())]
pub struct ModelFailure {
    /// The class.
    pub kind: ModelFailureKind,
    /// For people; at most 500 characters, no secret.
    pub message: String,
    /// Whether the provider answered with an error in place of a reply: nothing was generated, nothing is charged.
    pub is_refusal: bool,
    /// What the provider said about asking again.
    pub advice: RetryAdvice,
}

impl ModelFailure {
    /// A failure in the middle of things: the provider may have worked for the call.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_refusal: false, advice: RetryAdvice::Unsaid }
    }

    /// An answer in place of a reply.
    pub fn refusal(kind: ModelFailureKind, message: impl Into<String>, advice: RetryAdvice) -> Self {
        Self { kind, message: message.into(), is_refusal: true, advice }
    }
}
