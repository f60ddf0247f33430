//! The Lifecycle API: what the routes below `/sandboxes` do.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, RawQuery, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::create;
use super::error::{ApiError, Refusal};
use super::sandbox::Sandbox;
use super::server::{Mount, Shared};
use super::wire::{Endpoint, ListView, Pagination, RenewRequest, SandboxView};
use super::{clock, egress, execd, labels, pause};

const MAX_PAGE_SIZE: usize = 200;
const DEFAULT_PAGE_SIZE: usize = 20;
/// The ports behind which something answers.
const EXECD_PORT: u16 = 44772;
const EGRESS_PORT: u16 = 18080;

pub async fn create(State(shared): State<Arc<Shared>>, body: Bytes) -> Result<Response, Refusal> {
    let order = create::check(&shared.registry, parse(&body)?)?;
    let sandbox = shared.registry.create(order).await?;
    let view = SandboxView { image: None, ..sandbox.view() };
    Ok((StatusCode::ACCEPTED, Json(view)).into_response())
}

pub fn get(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<Json<SandboxView>, ApiError> {
    Ok(Json(shared.registry.find(&id)?.view()))
}

pub async fn delete(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    shared.registry.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn pause(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let sandbox = shared.registry.find(&id)?;
    to_its_end(&shared, async move { pause::pause(&sandbox).await }).await
}

pub async fn resume(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let sandbox = shared.registry.find(&id)?;
    to_its_end(&shared, async move { pause::resume(&sandbox).await }).await
}

/// A caller that goes away meanwhile leaves no sandbox half stopped.
async fn to_its_end(
    shared: &Shared,
    change: impl Future<Output = Result<(), ApiError>> + Send + 'static,
) -> Result<StatusCode, ApiError> {
    let task = shared.registry.tasks.spawn(change);
    task.await.map_err(|error| ApiError::runtime(error.to_string()))??;
    Ok(StatusCode::ACCEPTED)
}

pub fn list(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Result<Json<ListView>, Refusal> {
    let query: Vec<(String, String)> = pairs(query.as_deref().unwrap_or_default());
    let number = |name: &str, default: usize| {
        let given = query.iter().find(|(key, _)| key == name);
        given.map_or(Some(default), |(_, text)| text.parse().ok())
    };
    let Some(page) = number("page", 1).filter(|page| *page >= 1) else {
        return Err(Refusal::schema("page", "at least 1"));
    };
    let Some(page_size) = number("pageSize", DEFAULT_PAGE_SIZE).filter(|size| (1..=MAX_PAGE_SIZE).contains(size))
    else {
        return Err(Refusal::schema("pageSize", "1 to 200"));
    };
    let wanted = metadata_filter(&query)?;
    let states: Vec<_> = query.iter().filter(|(key, _)| key == "state").map(|(_, state)| state).collect();
    let is_wanted = |sandbox: &Arc<Sandbox>| {
        let metadata = sandbox.metadata();
        (states.is_empty() || states.iter().any(|state| state.eq_ignore_ascii_case(sandbox.state())))
            && wanted.iter().all(|(key, value)| metadata.get(key) == Some(value))
    };
    let found: Vec<_> = shared.registry.all().into_iter().filter(is_wanted).collect();
    let total_pages = found.len().div_ceil(page_size);
    let items = found.iter().skip((page - 1).saturating_mul(page_size)).take(page_size);
    let pagination =
        Pagination { page, page_size, total_items: found.len(), total_pages, has_next_page: page < total_pages };
    Ok(Json(ListView { items: items.map(|sandbox| sandbox.view()).collect(), pagination }))
}

/// One parameter holds an encoded query string of its own.
fn metadata_filter(query: &[(String, String)]) -> Result<Vec<(String, String)>, ApiError> {
    let Some((_, text)) = query.iter().find(|(key, text)| key == "metadata" && !text.is_empty()) else {
        return Ok(Vec::new());
    };
    if text.split('&').any(|pair| pair.split_once('=').is_none_or(|(key, _)| key.is_empty())) {
        let message = "metadata must be an encoded list of key=value";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "INVALID_METADATA_FORMAT", message));
    }
    Ok(pairs(text))
}

pub fn patch_metadata(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<SandboxView>, Refusal> {
    let sandbox = shared.registry.find(&id)?;
    let patch: BTreeMap<String, Option<String>> = parse(&body)?;
    let mut changed = sandbox.metadata().clone();
    let invalid = |message| ApiError::new(StatusCode::BAD_REQUEST, "INVALID_METADATA_LABEL", message);
    for (key, value) in patch {
        labels::check_key(&key).map_err(invalid)?;
        match value {
            Some(value) => changed.insert(key, value),
            None => changed.remove(&key),
        };
    }
    labels::check(&changed).map_err(invalid)?;
    *sandbox.metadata() = changed;
    Ok(Json(sandbox.view()))
}

pub fn renew(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Result<Json<Value>, Refusal> {
    let sandbox = shared.registry.find(&id)?;
    let request: RenewRequest = parse(&body)?;
    let expires_at =
        clock::parse(&request.expires_at).ok_or_else(|| Refusal::schema("expiresAt", "an RFC 3339 time"))?;
    let invalid = |status, message| ApiError::new(status, "LOCAL::INVALID_EXPIRATION", message);
    if sandbox.expires_at().is_none() {
        return Err(invalid(StatusCode::CONFLICT, "the sandbox has no time to live that could be renewed").into());
    }
    if expires_at <= clock::now() {
        return Err(invalid(StatusCode::BAD_REQUEST, "expiresAt is in the past").into());
    }
    sandbox.renew(expires_at);
    Ok(Json(json!({ "expiresAt": clock::text(expires_at) })))
}

pub fn endpoint(
    State(shared): State<Arc<Shared>>,
    Path((id, port)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    Extension(mount): Extension<Mount>,
) -> Result<Json<Endpoint>, Refusal> {
    let number: i64 = port.parse().map_err(|_| Refusal::schema("port", "a number"))?;
    let invalid = || ApiError::new(StatusCode::BAD_REQUEST, "LOCAL::INVALID_PORT", "the port is not 1 to 65535");
    let port = u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(invalid)?;
    let sandbox = shared.registry.find(&id)?;
    let query = pairs(query.as_deref().unwrap_or_default());
    let value = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let is_proxy = value("use_server_proxy").is_some_and(|text| text == "1" || text.eq_ignore_ascii_case("true"));
    if value("expires").is_some() {
        let code = if is_proxy { "SANDBOX::INVALID_PARAMETER" } else { "SANDBOX::API_NOT_SUPPORTED" };
        let message = "signed routes are not supported";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, code, message).into());
    }
    let address = shared.address;
    let endpoint = if is_proxy {
        format!("{address}{}/sandboxes/{id}/proxy/{port}", mount.0)
    } else {
        match (port, &sandbox.egress) {
            (EXECD_PORT, _) => format!("{address}/execd/{id}"),
            (EGRESS_PORT, Some(_)) => format!("{address}/egress/{id}"),
            _ => format!("{address}/execd/{id}/proxy/{port}"),
        }
    };
    let (name, token) = match (port, &sandbox.egress) {
        (EGRESS_PORT, Some(egress)) => (egress::TOKEN_HEADER, &egress.token),
        _ => (execd::TOKEN_HEADER, &sandbox.token),
    };
    Ok(Json(Endpoint { endpoint, headers: [(name, token.expose_secret().to_owned())].into() }))
}

/// Puts the egress of the sandbox into the request for the verbs on its policy.
pub async fn with_egress(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    mut request: Request,
    next: Next,
) -> Response {
    match shared.registry.find(&id).map(|sandbox| sandbox.egress.clone()) {
        Ok(Some(egress)) => {
            request.extensions_mut().insert(egress);
            next.run(request).await
        }
        Ok(None) => {
            let message = "the sandbox was made without a networkPolicy, so it has no network that one could rule";
            ApiError::new(StatusCode::CONFLICT, "LOCAL::NO_NETWORK_POLICY", message).into_response()
        }
        Err(error) => error.into_response(),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    // The text of serde's error may hold the input, which may hold secrets: only the place is told.
    serde_json::from_slice(body).map_err(|error| {
        let place = format!("invalid JSON or wrong type at line {} column {}", error.line(), error.column());
        Refusal::schema("body", place)
    })
}

fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
