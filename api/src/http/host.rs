//! The Host and Origin check: a server on loopback answers only to its own names, and to pages that it may serve.
//!
//! The rule: a request whose Host the server does not listen on is 421 (a name that was made to point here must not
//! read what is served here); one from a foreign Origin is 403, WebSocket upgrades included, since a browser sends
//! those without asking first.

use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode, header};

use super::envelope::Envelope;
use super::fault::{Code, Fault};
use super::request_id::{self, RequestId};

/// The names that the server answers to, and the foreign origins that may call it.
#[derive(Clone, Debug, Default)]
pub struct HostPolicy {
    hosts: HashSet<String>,
    origins: HashSet<String>,
}

impl HostPolicy {
    /// The three names of loopback, with the port.
    pub fn loopback(port: u16) -> Self {
        ["127.0.0.1", "localhost", "[::1]"]
            .into_iter()
            .fold(Self::default(), |policy, name| policy.with_host(&format!("{name}:{port}")))
    }

    /// Adds a name, with its port unless it is the default one.
    #[must_use]
    pub fn with_host(mut self, authority: &str) -> Self {
        self.hosts.insert(authority.to_ascii_lowercase());
        self
    }

    /// Adds a foreign origin whose pages may call the server, like `https://studio.example`.
    #[must_use]
    pub fn with_origin(mut self, origin: &str) -> Self {
        self.origins.insert(origin.trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// Whether a request with these headers may be served.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().unwrap_or_default().to_ascii_lowercase(),
            _ => return Err(StatusCode::MISDIRECTED_REQUEST),
        };
        if !self.hosts.contains(&host) {
            return Err(StatusCode::MISDIRECTED_REQUEST);
        }
        let is_allowed = |origin: &str| {
            let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            authority == Some(host.as_str()) || self.origins.contains(origin)
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let all_allowed =
            origins.all(|origin| origin.to_str().is_ok_and(|text| is_allowed(&text.to_ascii_lowercase())));
        if all_allowed { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
    }
}

/// Puts the check in front of every route.
pub fn protect(router: Router, policy: HostPolicy) -> Router {
    router.layer(from_fn_with_state(Arc::new(policy), refuse_strangers))
}

async fn refuse_strangers(State(policy): State<Arc<HostPolicy>>, request: Request, next: Next) -> Response {
    match policy.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(status) => {
            let message = match status {
                StatusCode::FORBIDDEN => "Requests from this origin are not served.",
                _ => "This server does not answer to that host name.",
            };
            let request_id = RequestId::from_headers(request.headers());
            let envelope = Envelope::refused(Fault::new(Code::Forbidden, message), &request_id);
            (status, [(request_id::HEADER, request_id.to_string())], Json(envelope)).into_response()
        }
    }
}
