//! The Envelope is a response as it leaves: its errors have codes and a request id, and say nothing internal.
//!
//! The rule: an error without `extensions.code` is a fault of ours; its text is logged and a general one is sent. The
//! exceptions are what the schema's validation and its argument parsing say, which is about the caller's own text.

use std::collections::BTreeMap;

use async_graphql::{Response, ServerError, Value};
use http::HeaderMap;
use serde::Serialize;

use super::fault::{Code, Fault, excerpt, stamp};
use super::gate::Audience;
use super::request_id::RequestId;
use crate::graphql::scalar;

const MAX_ERRORS: usize = 20;
const MAX_MESSAGE_BYTES: usize = 500;

/// A response ready to be sent.
#[derive(Debug, Serialize)]
pub(super) struct Envelope {
    /// Absent when nothing was executed; null when the execution came to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ServerError>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: BTreeMap<String, Value>,
    /// Headers that resolvers set.
    #[serde(skip)]
    pub headers: HeaderMap,
    #[serde(skip)]
    refusal: Option<Code>,
}

impl Envelope {
    /// A refusal before execution.
    pub(super) fn refused(fault: Fault, request_id: &RequestId) -> Self {
        Self {
            data: None,
            refusal: Some(fault.code),
            errors: vec![fault.into_error(request_id)],
            extensions: BTreeMap::new(),
            headers: HeaderMap::new(),
        }
    }

    /// An execution that began and gave nothing.
    pub(super) fn failed(fault: Fault, request_id: &RequestId) -> Self {
        Self { data: Some(Value::Null), refusal: None, ..Self::refused(fault, request_id) }
    }

    /// What the schema answered.
    pub(super) fn answered(response: Response, request_id: &RequestId, audience: Audience) -> Self {
        let Response { data, extensions, mut errors, http_headers, .. } = response;
        // The schema gives no other sign of where it failed: an error of a field has a path, one of validation none.
        let is_refused = data == Value::Null && !errors.is_empty() && errors.iter().all(|error| error.path.is_empty());
        errors.truncate(MAX_ERRORS);
        for error in &mut errors {
            if is_refused && code_of(error).is_none() && error.source.is_none() {
                explain_refusal(error, audience, request_id);
            } else {
                mask(error, request_id);
            }
        }
        let refusal = is_refused.then_some(Code::ValidationFailed);
        Self { data: (!is_refused).then_some(data), errors, extensions, headers: http_headers, refusal }
    }

    /// The code of the refusal, when nothing was executed.
    pub(super) fn refusal(&self) -> Option<Code> {
        self.refusal
    }
}

fn code_of(error: &ServerError) -> Option<&Value> {
    error.extensions.as_ref()?.get("code")
}

fn explain_refusal(error: &mut ServerError, audience: Audience, request_id: &RequestId) {
    if audience == Audience::Anonymous
        && let Some((statement, _suggestion)) = error.message.split_once(" Did you mean ")
    {
        error.message = statement.to_owned();
    }
    error.message = excerpt(&error.message, MAX_MESSAGE_BYTES);
    if let Some(rule) = rule_of_expected_type(&error.message) {
        error.message = format!("{}: {rule}", error.message);
    }
    stamp(error, Code::ValidationFailed, request_id);
}

/// The schema's validation names the argument and the type of a value that does not fit, and not what would.
fn rule_of_expected_type(message: &str) -> Option<&'static str> {
    let (_, type_name) = message.strip_suffix('"')?.rsplit_once(", expected type \"")?;
    scalar::rule_of(type_name)
}

fn mask(error: &mut ServerError, request_id: &RequestId) {
    if code_of(error).is_some() {
        if let Some(extensions) = &mut error.extensions {
            extensions.set("requestId", request_id.as_str());
            if extensions.get("retryable").is_none() {
                extensions.set("retryable", false);
            }
        }
        return;
    }
    if is_about_an_argument(error) {
        error.message = excerpt(&error.message, MAX_MESSAGE_BYTES);
        stamp(error, Code::BadUserInput, request_id);
        return;
    }
    tracing::error!(request.id = %request_id, error = %error.message, path = ?error.path, "resolver failed without a code");
    error.message = INTERNAL_MESSAGE.to_owned();
    error.extensions = None;
    stamp(error, Code::Internal, request_id);
}

/// What a caller reads of a fault of ours.
pub(super) const INTERNAL_MESSAGE: &str = "Something went wrong on our side; the request id names it in our logs.";

/// Argument parsing words its errors so; a resolver's error that was converted from another type has a source.
fn is_about_an_argument(error: &ServerError) -> bool {
    error.source.is_none() && error.message.starts_with("Failed to parse \"")
}
