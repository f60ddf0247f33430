//! What goes wrong at a provider, mapped to stable classes.

use domain::model_call::ModelFailureKind;
use reqwest::StatusCode;
use serde_json::Value;

/// A failure whose message is not redacted yet.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ModelFailureKind,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::Protocol, message)
    }

    pub(super) fn truncated(message: impl Into<String>) -> Self {
        Self::new(ModelFailureKind::StreamTruncated, message)
    }

    /// An answer with a status that is not 2xx.
    pub(super) fn of_status(status: StatusCode, body: &[u8]) -> Self {
        if status.is_redirection() {
            return Self::protocol(format!("the model's endpoint answered {status}; redirects are not followed"));
        }
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(value) => error_text(value.get("error").unwrap_or(&value)),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        let message = format!("the model's endpoint answered {status}: {text}");
        Self::new(kind_of_status(status.as_u16()), message.trim_end_matches([':', ' ']))
    }

    /// An error that came in a body of status 200: an object or a bare string.
    pub(super) fn of_envelope(error: &Value) -> Self {
        let words = ["code", "type", "status"].map(|member| error.get(member));
        let kind = words.iter().flatten().find_map(|word| kind_of_word(word));
        let message = format!("the model's endpoint reported an error: {}", error_text(error));
        Self::new(kind.unwrap_or(ModelFailureKind::ProviderError), message)
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
        408 | 500.. => ModelFailureKind::ProviderError,
        400..500 => ModelFailureKind::Rejected,
        0..400 => ModelFailureKind::Protocol,
    }
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
    } else if says(&["invalid_request", "context_length", "not_found", "bad_request", "unsupported"]) {
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
