//! The egress API of one sandbox: its policy, and what was tried.
//!
//! Rule: it runs in the runtime and not in the sandbox, so that code inside can neither replace it nor read its token.
//! Its errors are plain text, as those of OpenSandbox's sidecar are.

use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{DefaultBodyLimit, Extension, Path, Query, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Egress;
use super::policy::{Policy, PolicyError, PolicyView, Rule, RuleView};
use crate::local::execd::Entrance;
use crate::local::server::{Shared, is_same};

pub const TOKEN_HEADER: &str = "OPENSANDBOX-EGRESS-AUTH";
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// What clients know of how strictly a policy holds: for names and for addresses.
const ENFORCEMENT: &str = "dns+nft";

#[derive(Debug, Deserialize)]
struct After {
    after: Option<u64>,
}

/// The routes behind port 18080.
pub fn router(shared: Arc<Shared>, entrance: Entrance) -> Router<Arc<Shared>> {
    Router::new()
        .route("/policy", policy_routes())
        .route("/vitrine/attempts", get(|egress, query| ready(attempts(egress, query))))
        .layer(middleware::from_fn_with_state((shared, entrance), enter))
        .route("/healthz", get(|| ready("ok")))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .fallback(|| ready((StatusCode::NOT_FOUND, "404 page not found")))
}

/// The verbs on a policy. Whoever routes to them provides the sandbox's [`Egress`].
pub fn policy_routes() -> MethodRouter<Arc<Shared>> {
    get(|egress| ready(show(egress)))
        .put(|egress, body| ready(replace(egress, body)))
        .post(|egress, body| ready(replace(egress, body)))
        .patch(|egress, body| ready(merge(egress, body)))
        .delete(|egress, body| ready(remove(egress, body)))
        .fallback(|| ready((StatusCode::METHOD_NOT_ALLOWED, "method not allowed")))
}

type Inside = Extension<Arc<Egress>>;

fn show(Extension(egress): Inside) -> Json<Value> {
    let policy = egress.policy();
    let mut answer = standing(&policy);
    answer["policy"] = json!(policy.view());
    Json(answer)
}

fn replace(Extension(egress): Inside, body: Bytes) -> Result<Json<Value>, Refused> {
    let is_empty = body.iter().all(u8::is_ascii_whitespace);
    let view: Option<PolicyView> = if is_empty { None } else { parse(&body)? };
    let policy = Policy::parse(&view.unwrap_or_default())?;
    change(&egress, |_| Ok(policy))
}

fn merge(Extension(egress): Inside, body: Bytes) -> Result<Json<Value>, Refused> {
    let rules: Vec<RuleView> = parse(&body)?;
    if rules.is_empty() {
        return Err(Refused::bad("at least one rule is needed"));
    }
    let rules = rules.iter().map(Rule::parse).collect::<Result<_, _>>()?;
    change(&egress, |policy| policy.merged(rules))
}

fn remove(Extension(egress): Inside, body: Bytes) -> Result<Json<Value>, Refused> {
    let targets: Vec<String> = parse(&body)?;
    if targets.is_empty() {
        return Err(Refused::bad("at least one target is needed"));
    }
    let mut removed = 0;
    let mut answer = change(&egress, |policy| {
        let (policy, count) = policy.without(&targets);
        removed = count;
        Ok(policy)
    })?;
    if removed == 0 {
        answer["reason"] = json!("no rule has one of these targets");
    }
    Ok(answer)
}

fn attempts(Extension(egress): Inside, Query(query): Query<After>) -> Json<Value> {
    let after = query.after.unwrap_or(0);
    let attempts = egress.attempts.after(after);
    let next = attempts.last().map_or(after, |attempt| attempt.sequence);
    let (sent, received) = (&egress.traffic.sent, &egress.traffic.received);
    let bytes = json!({ "sent": sent.load(Ordering::Relaxed), "received": received.load(Ordering::Relaxed) });
    Json(json!({ "attempts": attempts, "next": next, "bytes": bytes }))
}

fn change(
    egress: &Egress,
    change: impl FnOnce(&Policy) -> Result<Policy, PolicyError>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(standing(&*egress.change(change)?)))
}

fn standing(policy: &Policy) -> Value {
    json!({ "status": "ok", "mode": policy.mode(), "enforcementMode": ENFORCEMENT })
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    serde_json::from_slice(body).map_err(|error| {
        Refused::bad(format!("invalid JSON or wrong type at line {} column {}", error.line(), error.column()))
    })
}

/// A refusal in plain text.
#[derive(Debug)]
struct Refused(StatusCode, String);

impl Refused {
    fn bad(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }
}

impl From<PolicyError> for Refused {
    fn from(error: PolicyError) -> Self {
        let status = match error {
            PolicyError::TooMany => StatusCode::PAYLOAD_TOO_LARGE,
            PolicyError::Action(_) | PolicyError::Target(_) => StatusCode::BAD_REQUEST,
        };
        Self(status, error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, self.1).into_response()
    }
}

/// Finds the egress of the sandbox that the path names and checks the token.
async fn enter(
    State((shared, entrance)): State<(Arc<Shared>, Entrance)>,
    Path(path): Path<HashMap<String, String>>,
    mut request: Request,
    next: Next,
) -> Response {
    let sandbox = path.get("id").and_then(|id| shared.registry.get(id));
    let egress = sandbox.and_then(|sandbox| sandbox.egress.clone());
    if entrance == Entrance::Token {
        let token = request.headers().get(TOKEN_HEADER);
        let is_allowed = |egress: &Arc<Egress>| token.is_some_and(|token| is_same(token.as_bytes(), &egress.token));
        if !egress.as_ref().is_some_and(is_allowed) {
            return (StatusCode::UNAUTHORIZED, "unauthorized").into_response();
        }
    }
    let Some(egress) = egress else { return (StatusCode::BAD_GATEWAY, "Bad Gateway").into_response() };
    request.extensions_mut().insert(egress);
    next.run(request).await
}
