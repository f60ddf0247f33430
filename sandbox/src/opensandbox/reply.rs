//! A reply that is not a success, read in any of the five shapes that the servers use.
//!
//! `{code,message}` from Lifecycle and execd, `{detail:[…]}` and `{detail:"…"}` from the web framework,
//! `{error:"…"}` from execd's token check, and plain text from routers and proxies.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::error::{Error, Reply};
use super::redact::Redactor;

const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The error that a non-success answer means.
pub(super) fn to_error(status: StatusCode, headers: &HeaderMap, body: &[u8], redactor: &Redactor) -> Error {
    if status.is_redirection() {
        return Error::EndpointRefused(format!("redirect ({}) is not followed", status.as_u16()));
    }
    let (code, message) = parse(body);
    let reply = redactor.reply(Reply {
        status: status.as_u16(),
        code,
        message,
        request_id: text_header(headers, "x-request-id"),
        retry_after: text_header(headers, "retry-after")
            .and_then(|text| text.parse().ok())
            .map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER)),
    });
    match status.as_u16() {
        401 | 403 => Error::AccessDenied(reply),
        404 | 410 => Error::NotFound(reply),
        429 | 500..=599 => Error::ServerFailed(reply),
        400..=499 => Error::Rejected(reply),
        other => Error::protocol(format!("unexpected status {other}")),
    }
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn parse(body: &[u8]) -> (Option<String>, String) {
    let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(body) else {
        return (None, String::from_utf8_lossy(body).trim().to_owned());
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let message = text("message").or_else(|| text("error")).or_else(|| object.get("detail").map(detail));
    (text("code"), message.unwrap_or_default())
}

/// The readable part of a `detail`. The rejected input, which it echoes, may hold secrets and is left out.
fn detail(detail: &Value) -> String {
    match detail {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(detail_item).collect::<Vec<_>>().join("; "),
        other => other.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

fn detail_item(item: &Value) -> String {
    let place = item.get("loc").and_then(Value::as_array).map(|parts| {
        let parts: Vec<String> =
            parts.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect();
        parts.join(".")
    });
    let message = item.get("msg").and_then(Value::as_str).unwrap_or("invalid");
    // Some messages quote the input, too: then the kind of the fault must do.
    let message = match item.get("input") {
        Some(input) if quotes(message, input) => "invalid",
        _ => message,
    };
    place.map_or_else(|| message.to_owned(), |place| format!("{place}: {message}"))
}

fn quotes(message: &str, input: &Value) -> bool {
    match input {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => message.contains(&number.to_string()),
        Value::String(text) => !text.is_empty() && message.contains(text.as_str()),
        Value::Array(items) => items.iter().any(|item| quotes(message, item)),
        Value::Object(members) => members.values().any(|member| quotes(message, member)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> Error {
        let mut redactor = Redactor::default();
        redactor.add("top-secret-key");
        to_error(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes(), &redactor)
    }

    fn said(status: u16, body: &str) -> (Option<String>, String) {
        let reply = error(status, body).reply().cloned().unwrap();
        assert_eq!(reply.status, status);
        (reply.code, reply.message)
    }

    #[test]
    fn reads_all_five_shapes_row_23() {
        assert_eq!(
            said(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}"#),
            (Some("DOCKER::SANDBOX_NOT_FOUND".into()), "gone".into())
        );
        assert_eq!(
            said(422, r#"{"detail":[{"type":"ge","loc":["body","timeout"],"msg":"too small","input":"hunter2"}]}"#),
            (None, "body.timeout: too small".into())
        );
        assert_eq!(
            said(422, r#"{"detail":[{"loc":["body","env"],"msg":"not a dict: hunter2","input":{"A":["hunter2"]}}]}"#),
            (None, "body.env: invalid".into()),
            "S10"
        );
        assert_eq!(said(405, r#"{"detail":"Method Not Allowed"}"#), (None, "Method Not Allowed".into()));
        assert_eq!(said(401, r#"{"error":"Unauthorized"}"#), (None, "Unauthorized".into()));
        assert_eq!(said(404, "404 page not found\n"), (None, "404 page not found".into()));
    }

    #[test]
    fn maps_status_to_class() {
        assert_eq!(error(302, "").code(), "endpoint_refused");
        assert_eq!(error(403, "").code(), "access_denied");
        assert_eq!(error(409, "").code(), "rejected");
        for (status, body) in [
            (501, r#"{"code":"SNAPSHOT::NOT_IMPLEMENTED"}"#),
            (404, r#"{"detail":"Not Found"}"#),
            (405, r#"{"detail":"Method Not Allowed"}"#),
            (400, r#"{"code":"SANDBOX::API_NOT_SUPPORTED"}"#),
        ] {
            assert_eq!(error(status, body).unless_supported("snapshot").code(), "not_supported", "{status}");
        }
        let unknown = error(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND"}"#).unless_supported("snapshot");
        assert_eq!(unknown.code(), "not_found");
        assert_eq!(error(429, "").code(), "server_failed");
        assert_eq!(error(503, "").code(), "server_failed");
    }

    #[test]
    fn redacts_before_it_cuts() {
        let at_the_cut = format!("{}top-secret-key", "x".repeat(2048 - 5));
        let (_, message) = said(500, &at_the_cut);
        assert!(message.len() <= 2048);
        assert!(!message.contains("top-"), "{}", &message[2000..]);
        let (code, message) = said(500, r#"{"code":"top-secret-key","message":"a top\u002dsecret-key b"}"#);
        assert_eq!((code.as_deref(), message.as_str()), (Some("[redacted]"), "a [redacted] b"));
    }
}
