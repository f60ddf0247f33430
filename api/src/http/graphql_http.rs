//! GraphQL over HTTP: one operation per POST with a JSON body, queries also by GET.
//!
//! The rule for statuses: 4xx and 5xx mean that nothing was executed; once execution began it is 200, whatever came of
//! it. A GET never looks at cookies and never runs a mutation, so a link on a foreign page can do nothing with a
//! signed-in browser.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::time::timeout;

use super::caller::{Caller, CookieUse, Credentials};
use super::envelope::Envelope;
use super::fault::{Code, Fault};
use super::negotiation::{Media, require_json};
use super::operation::Operation;
use super::params::Params;
use super::request_id::{self, RequestId};
use super::transport::{HttpLimits, Transport};
use super::websocket;

/// A body above the limit is read and dropped up to this many times the limit: a sender that is still writing when the
/// connection is closed never gets to read why.
const DRAINED_BODIES: usize = 8;

/// Answers whatever arrives at the path.
pub(super) async fn serve(State(transport): State<Arc<Transport>>, request: Request) -> Response {
    if websocket::is_upgrade(&request) {
        return websocket::upgrade(transport, request).await;
    }
    let request_id = RequestId::from_headers(request.headers());
    let media = Media::accepted(request.headers());
    let outcome = match media {
        Some(_) => answer(&transport, request, &request_id).await,
        None => {
            let message = "Only application/graphql-response+json and application/json can be answered.";
            Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, Fault::new(Code::BadUserInput, message)))
        }
    };
    let media = media.unwrap_or(Media::Json);
    match outcome {
        Ok(envelope) => {
            let status = envelope.refusal().map_or(StatusCode::OK, |code| media.status_of_refusal(code));
            respond(status, envelope, media, &request_id)
        }
        Err(refusal) => {
            let mut response =
                respond(refusal.status, Envelope::refused(refusal.fault, &request_id), media, &request_id);
            if let Some(methods) = refusal.allow {
                response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
            }
            response
        }
    }
}

/// A request that is refused for its form, whatever media type answers it.
struct Refusal {
    status: StatusCode,
    fault: Fault,
    /// The methods to name in `Allow`.
    allow: Option<&'static str>,
}

impl Refusal {
    fn new(status: StatusCode, fault: Fault) -> Self {
        Self { status, fault, allow: None }
    }

    fn method(allow: &'static str) -> Self {
        let fault = Fault::new(Code::BadUserInput, format!("This is served for {allow} only."));
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, fault) }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code.status(), fault)
    }
}

async fn answer(transport: &Transport, request: Request, request_id: &RequestId) -> Result<Envelope, Refusal> {
    let method = request.method().clone();
    let cookies = match method {
        Method::POST => CookieUse::Accept,
        Method::GET => CookieUse::Ignore,
        _ => return Err(Refusal::method("GET, POST")),
    };
    if method == Method::POST {
        require_json(request.headers()).map_err(|fault| Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, fault))?;
    }
    let credentials = Credentials::from_headers(request.headers(), &transport.settings.session_cookie, cookies)?;
    let caller = transport.authenticator.authenticate(credentials).await.map_err(Fault::from)?;
    let params = match method {
        Method::GET => Params::from_query_string(request.uri().query().unwrap_or_default())?,
        _ => Params::from_json(&read_body(request, &transport.settings.http).await?)?,
    };
    run(transport, params, caller.as_ref(), &method, request_id).await
}

async fn run(
    transport: &Transport,
    params: Params,
    caller: &dyn Caller,
    method: &Method,
    request_id: &RequestId,
) -> Result<Envelope, Refusal> {
    let operation = match Operation::prepare(params, caller, request_id, &transport.settings.gate) {
        Ok(operation) => operation,
        Err(fault) => return Ok(Envelope::refused(fault, request_id)),
    };
    match operation.kind {
        OperationType::Query => {}
        OperationType::Mutation if method == Method::POST => {}
        OperationType::Mutation => return Err(Refusal::method("POST")),
        OperationType::Subscription => {
            let message = "Subscriptions are served over WebSocket (graphql-transport-ws) at the same path.";
            return Ok(Envelope::refused(Fault::new(Code::BadUserInput, message), request_id));
        }
    }
    let limit = transport.settings.http.execution_time;
    Ok(operation.execute(transport.engine.as_ref(), limit, &transport.tasks).await)
}

/// Reads the body up to the limits of size and time.
async fn read_body(request: Request, limits: &HttpLimits) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("The body must have at most {} bytes.", limits.body_bytes);
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Fault::new(Code::BadUserInput, message))
    };
    let announced = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let drained = limits.body_bytes.saturating_mul(DRAINED_BODIES);
    if announced.is_some_and(|length: u64| length > drained as u64) {
        return Err(too_large());
    }
    let mut chunks = request.into_body().into_data_stream();
    let read = async {
        let (mut body, mut length) = (Vec::new(), 0_usize);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Fault::new(Code::BadUserInput, "The body was not sent to its end."))?;
            length = length.saturating_add(chunk.len());
            if length > drained {
                break;
            }
            if length <= limits.body_bytes {
                body.extend_from_slice(&chunk);
            }
        }
        if length > limits.body_bytes { Err(too_large()) } else { Ok(Bytes::from(body)) }
    };
    timeout(limits.body_time, read).await.unwrap_or_else(|_| {
        let fault = Fault::new(Code::BadUserInput, "The body took too long to arrive.");
        Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, fault))
    })
}

fn respond(status: StatusCode, envelope: Envelope, media: Media, request_id: &RequestId) -> Response {
    let (status, body) = match serde_json::to_vec(&envelope) {
        Ok(body) => (status, body),
        Err(error) => {
            tracing::error!(request.id = %request_id, %error, "response could not be encoded");
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                br#"{"errors":[{"message":"Internal error.","extensions":{"code":"INTERNAL"}}]}"#.to_vec(),
            )
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.extend(envelope.headers);
    headers.insert(header::CONTENT_TYPE, media.content_type());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Ok(value) = HeaderValue::from_str(request_id.as_str()) {
        headers.insert(request_id::HEADER, value);
    }
    response
}
