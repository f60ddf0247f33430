//! The router of the local runtime and the checks that stand before every route.
//!
//! Rule: only requests whose Host is this listener and whose Origin, if any, is this listener get past the door; the
//! Lifecycle API needs the API key, execd the token of its sandbox. Keys are compared in constant time.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, patch, post};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use subtle::ConstantTimeEq;

use super::error::ApiError;
use super::registry::Registry;
use super::{egress, execd, ids, lifecycle};

pub const API_KEY_HEADER: &str = "open-sandbox-api-key";
const REQUEST_ID_HEADER: &str = "x-request-id";
const MAX_JSON_BYTES: usize = 4 * 1024 * 1024;

pub struct Shared {
    pub registry: Arc<Registry>,
    pub api_key: SecretString,
    pub address: SocketAddr,
}

pub fn router(shared: Arc<Shared>) -> Router {
    let keyed = lifecycle_routes(&shared);
    let open = Router::new()
        .route("/health", get(|| ready(Json(json!({ "status": "healthy" })))))
        .route("/version", get(|| ready(Json(json!({ "version": env!("CARGO_PKG_VERSION"), "runtime": "local" })))));
    let lifecycle = keyed
        .merge(open)
        .method_not_allowed_fallback(|| ready(detail(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")));
    Router::new()
        .merge(lifecycle.clone())
        .nest("/v1", lifecycle)
        .nest("/execd/{id}", execd::router(Arc::clone(&shared), execd::Entrance::Token))
        .nest("/egress/{id}", egress::router(Arc::clone(&shared), execd::Entrance::Token))
        .fallback(|| ready(detail(StatusCode::NOT_FOUND, "Not Found")))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), door))
        .layer(middleware::from_fn(request_id))
        .with_state(shared)
}

fn lifecycle_routes(shared: &Arc<Shared>) -> Router<Arc<Shared>> {
    let unsupported = |what: &'static str| {
        any(move || ready(ApiError::new(StatusCode::NOT_IMPLEMENTED, "LOCAL::NOT_SUPPORTED", what).into_response()))
    };
    let proxied = execd::router(Arc::clone(shared), execd::Entrance::ServerProxy);
    let egress = egress::router(Arc::clone(shared), execd::Entrance::ServerProxy);
    let with_egress = middleware::from_fn_with_state(Arc::clone(shared), lifecycle::with_egress);
    Router::new()
        .route("/sandboxes", post(lifecycle::create).get(|shared, query| ready(lifecycle::list(shared, query))))
        .route("/sandboxes/{id}", get(|shared, path| ready(lifecycle::get(shared, path))).delete(lifecycle::delete))
        .route(
            "/sandboxes/{id}/metadata",
            patch(|shared, path, body| ready(lifecycle::patch_metadata(shared, path, body))),
        )
        .route(
            "/sandboxes/{id}/renew-expiration",
            post(|shared, path, body| ready(lifecycle::renew(shared, path, body))),
        )
        .route(
            "/sandboxes/{id}/endpoints/{port}",
            get(|shared, path, query, uri| ready(lifecycle::endpoint(shared, path, query, uri))),
        )
        .route("/sandboxes/{id}/pause", post(lifecycle::pause))
        .route("/sandboxes/{id}/resume", post(lifecycle::resume))
        .route("/sandboxes/{id}/snapshots", unsupported("snapshots"))
        .route("/snapshots", unsupported("snapshots"))
        .route("/snapshots/{id}", unsupported("snapshots"))
        .route("/pools", unsupported("pools"))
        .route("/pools/{name}", unsupported("pools"))
        .route("/templates", unsupported("templates"))
        .route("/templates/{name}", unsupported("templates"))
        .route("/metrics/events", post(|| ready(StatusCode::NO_CONTENT)))
        .route("/sandboxes/{id}/networkpolicy", egress::policy_routes().layer(with_egress))
        .nest("/sandboxes/{id}/proxy/44772", proxied)
        .nest("/sandboxes/{id}/proxy/18080", egress)
        .route("/sandboxes/{id}/proxy/{port}", any(|| ready(no_backend())))
        .route("/sandboxes/{id}/proxy/{port}/", any(|| ready(no_backend())))
        .route("/sandboxes/{id}/proxy/{port}/{*path}", any(|| ready(no_backend())))
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .route_layer(middleware::from_fn_with_state(Arc::clone(shared), api_key))
}

fn no_backend() -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, "BACKEND_CONNECTION_FAILED", "nothing listens at that port")
}

/// The shape of answers that the schema or the router gives.
pub fn detail(status: StatusCode, text: &str) -> Response {
    (status, Json(json!({ "detail": text }))).into_response()
}

/// Whether two secrets are equal, in a time that does not depend on where they differ.
pub fn is_same(given: &[u8], secret: &SecretString) -> bool {
    let secret = secret.expose_secret().as_bytes();
    !secret.is_empty() && bool::from(given.ct_eq(secret))
}

/// The prefix under which the caller has found the Lifecycle API.
#[derive(Clone, Copy, Debug)]
pub struct Mount(pub &'static str);

async fn door(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let mount = if request.uri().path().starts_with("/v1/") { "/v1" } else { "" };
    request.extensions_mut().insert(Mount(mount));
    let refused = |code, message: &str| ApiError::new(StatusCode::FORBIDDEN, code, message).into_response();
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_own_host(host, shared.address)) {
        return refused("HOST_NOT_ALLOWED", "the Host header does not name this server");
    }
    let origin = request.headers().get(header::ORIGIN);
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|text| text.strip_prefix("http://"));
        origin.is_some_and(|host| is_own_host(host, shared.address))
    };
    if origin.is_some_and(|origin| !is_own(origin)) {
        return refused("ORIGIN_NOT_ALLOWED", "requests of other web pages are refused");
    }
    next.run(request).await
}

fn is_own_host(host: &str, address: SocketAddr) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else { return false };
    port.parse() == Ok(address.port())
        && (name == address.ip().to_string() || matches!(name, "localhost" | "127.0.0.1" | "[::1]"))
}

async fn api_key(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let given = request.headers_mut().remove(API_KEY_HEADER);
    let refused = |code, message: &str| ApiError::new(StatusCode::UNAUTHORIZED, code, message).into_response();
    match given.as_ref().map(HeaderValue::as_bytes) {
        None | Some(b"") => refused("MISSING_API_KEY", "the header OPEN-SANDBOX-API-KEY is missing"),
        Some(key) if is_same(key, &shared.api_key) => next.run(request).await,
        Some(_) => refused("INVALID_API_KEY", "the API key is not valid"),
    }
}

async fn request_id(request: Request, next: Next) -> Response {
    let id = match sent_request_id(request.headers()) {
        Some(id) => Some(id),
        None => ids::hex_id().ok().and_then(|id| HeaderValue::from_str(&id).ok()),
    };
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID_HEADER, id);
    }
    response
}

fn sent_request_id(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(REQUEST_ID_HEADER).filter(|id| !id.is_empty() && id.len() <= 128).cloned()
}
