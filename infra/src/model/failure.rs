//! What goes wrong at a provider, mapped to stable classes.

use domain::model_call::{ModelFailure, ModelFailureKind, RetryAdvice};
use reqwest::StatusCode;
use serde_json::Value;

/// A failure whose message is not redacted yet.
#[derive(Debug)]
pub(super) struct Fault(pub(super) ModelFailure);

impl Fault {
    pub(super) fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self(ModelFailure::new(kind, message))
    }

    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::Protocol, message)
    }

    pub(super) fn truncated(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::StreamTruncated, message)
    }

    /// An answer with a status that is not 2xx.
    pub(super) fn of_status(status: StatusCode, advice: RetryAdvice, body: &[u8]) -> Self {
        if status.is_redirection() {
            let message = format!("the model's endpoint answered {status}; redirects are not followed");
            return Self(ModelFailure::refusal(ModelFailureKind::Protocol, message, RetryAdvice::Pointless));
        }
        let error = serde_json::from_slice::<Value>(body).ok();
        let error = error.as_ref().map(|value| value.get("error").unwrap_or(value));
        let text = error.map_or_else(|| String::from_utf8_lossy(body).into_owned(), error_text);
        let kind = match kind_of_status(status.as_u16()) {
            ModelFailureKind::Rejected if is_too_long(error, &text) => ModelFailureKind::ContextTooLong,
            kind => kind,
        };
        let is_spent = status == StatusCode::PAYMENT_REQUIRED || error.is_some_and(is_quota_spent);
        let advice = if is_spent { RetryAdvice::Pointless } else { advice };
        let message = format!("the model's endpoint answered {status}: {text}");
        Self(ModelFailure::refusal(kind, message.trim_end_matches([':', ' ']), advice))
    }

    /// An error that came in a body of status 200: an object or a bare string.
    pub(super) fn of_envelope(error: &Value) -> Self {
        use ModelFailureKind::{ContextTooLong, Credentials, NotFound, ProviderError, RateLimited, Rejected};
        let text = error_text(error);
        let kind = words(error).find_map(kind_of_word).unwrap_or(ProviderError);
        let kind = if kind == Rejected && is_too_long(Some(error), &text) { ContextTooLong } else { kind };
        let message = format!("the model's endpoint reported an error: {text}");
        Self(ModelFailure {
            // An engine that broke down may have worked before.
            is_refusal: matches!(kind, ContextTooLong | Credentials | NotFound | RateLimited | Rejected),
            advice: if is_quota_spent(error) { RetryAdvice::Pointless } else { RetryAdvice::Unsaid },
            ..ModelFailure::new(kind, message)
        })
    }

    /// The request found no answer.
    pub(super) fn of_transport(error: reqwest::Error) -> Self {
        let (is_connect, is_timeout) = (error.is_connect(), error.is_timeout());
        let cause = root_cause(&error.without_url());
        match (is_connect, is_timeout) {
            (true, true) => Self::new(ModelFailureKind::Unreachable, "no connection to the model's endpoint in time"),
            (true, false) => {
                Self::new(ModelFailureKind::Unreachable, format!("no connection to the model's endpoint: {cause}"))
            }
            (false, _) => Self::truncated(format!("the connection to the model's endpoint broke: {cause}")),
        }
    }
}

/// The classes of HTTP statuses: the table that everything else refers to.
fn kind_of_status(status: u16) -> ModelFailureKind {
    match status {
        401 | 403 => ModelFailureKind::Credentials,
        402 | 429 => ModelFailureKind::RateLimited,
        404 | 410 => ModelFailureKind::NotFound,
        413 => ModelFailureKind::ContextTooLong,
        408 | 500.. => ModelFailureKind::ProviderError,
        400..500 => ModelFailureKind::Rejected,
        0..400 => ModelFailureKind::Protocol,
    }
}

fn words(error: &Value) -> impl Iterator<Item = &Value> {
    ["code", "type", "status"].into_iter().filter_map(|member| error.get(member))
}

/// Endpoints say it in a code or only in words.
fn is_too_long(error: Option<&Value>, text: &str) -> bool {
    let code = error.into_iter().flat_map(words).filter_map(Value::as_str).any(|word| word.contains("context_length"));
    let text = text.to_ascii_lowercase();
    let phrases = ["context length", "context window", "context size", "prompt is too long"];
    code || phrases.iter().any(|phrase| text.contains(phrase))
}

/// Too much at once passes; an account without money does not.
fn is_quota_spent(error: &Value) -> bool {
    let says = |word: &str| ["insufficient_quota", "billing", "credit"].iter().any(|spent| word.contains(spent));
    words(error).filter_map(Value::as_str).any(says)
}

fn kind_of_word(word: &Value) -> Option<ModelFailureKind> {
    let text = match word {
        Value::String(text) => text.to_ascii_lowercase(),
        other => other.to_string(),
    };
    if let Ok(status) = text.parse::<u16>() {
        return (400..600).contains(&status).then(|| kind_of_status(status));
    }
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["rate_limit", "rate limit", "quota", "billing", "credit", "too_many", "exhausted"]) {
        Some(ModelFailureKind::RateLimited)
    } else if says(&["auth", "api_key", "permission", "forbidden"]) {
        Some(ModelFailureKind::Credentials)
    } else if says(&["not_found"]) {
        Some(ModelFailureKind::NotFound)
    } else if says(&["invalid_request", "context_length", "bad_request", "unsupported"]) {
        Some(ModelFailureKind::Rejected)
    } else if says(&["server_error", "overloaded", "unavailable", "internal"]) {
        Some(ModelFailureKind::ProviderError)
    } else {
        None
    }
}

fn error_text(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        Value::Object(members) => match members.get("message").or_else(|| members.get("detail")) {
            Some(Value::String(text)) => text.clone(),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
