//! A RequestId names one operation in responses, errors and logs, so that a report can be found again.

use std::fmt;

use data_encoding::HEXLOWER;
use http::{HeaderMap, HeaderName};

/// The header that carries the id, in both directions.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The name of one operation. Resolvers find it in the request's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// A new random id.
    pub(super) fn random() -> Self {
        let mut bytes = [0_u8; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "no random bytes for a request id");
        }
        Self(HEXLOWER.encode(&bytes))
    }

    /// The id that a proxy or client chose, when it is short and harmless in a log line; else a new one.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let given = headers.get(HEADER).and_then(|value| value.to_str().ok());
        match given {
            Some(text) if is_acceptable(text) => Self(text.to_owned()),
            _ => Self::random(),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_acceptable(text: &str) -> bool {
    (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
