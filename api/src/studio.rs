//! Studio: the web app's files, and the one-time link that signs a browser in.
//!
//! The link's code works once and for a short time; it is exchanged for a cookie that scripts cannot read and other
//! sites cannot send. Unknown paths without a dot are pages of the app.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use domain::access::IdentityStore;
use domain::access::{SESSION_LIFETIME, issue_code, redeem_code};
use domain::clock::{Clock, Entropy};
use domain::ctx::Principal;
use domain::error::StoreError;
use rust_embed::RustEmbed;
use serde::Deserialize;

use crate::auth::SignIn;

const SESSION_COOKIE: &str = "vitrine_session";
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data: blob:; connect-src 'self' ws: wss:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

#[derive(RustEmbed)]
#[folder = "../frontend/dist"]
#[allow_missing = true]
struct Files;

/// What signing in needs.
#[derive(Clone)]
pub struct Studio {
    /// Codes and sessions.
    pub identity: Arc<dyn IdentityStore>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Codes and tokens that nobody can guess.
    pub entropy: Arc<dyn Entropy>,
    /// Says who asks for a link.
    pub sign_in: SignIn,
}

impl Studio {
    /// A path that signs this principal in once.
    pub async fn sign_in_path(&self, principal: Principal) -> Result<String, StoreError> {
        let code = issue_code(&*self.identity, &*self.clock, &*self.entropy, principal).await?;
        Ok(format!("/studio/sign-in?code={code}"))
    }

    /// A session for the command line of this machine, as a bearer token.
    pub async fn local_token(&self, principal: Principal) -> Result<String, StoreError> {
        let code = issue_code(&*self.identity, &*self.clock, &*self.entropy, principal).await?;
        let opened = redeem_code(&*self.identity, &*self.clock, &*self.entropy, &code).await?;
        opened.map(|session| session.token).ok_or(StoreError::Conflict { what: "the sign-in code was used" })
    }
}

/// Studio's routes; everything that no other route serves.
pub fn router(studio: Studio) -> Router {
    Router::new()
        .route("/studio/sign-in", get(sign_in))
        .route("/studio/link", post(link))
        .fallback(file)
        .with_state(studio)
}

#[derive(Deserialize)]
struct SignInQuery {
    #[serde(default)]
    code: String,
    #[serde(default)]
    next: Option<String>,
}

async fn sign_in(method: Method, State(studio): State<Studio>, Query(query): Query<SignInQuery>) -> Response {
    // A preview of the link must not use it up.
    if method == Method::HEAD {
        return StatusCode::OK.into_response();
    }
    let redeemed = redeem_code(&*studio.identity, &*studio.clock, &*studio.entropy, &query.code).await;
    match redeemed {
        Ok(Some(session)) => {
            let age = SESSION_LIFETIME.as_secs();
            let cookie =
                format!("{SESSION_COOKIE}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}", session.token);
            let next = query.next.filter(|next| is_own_page(next)).unwrap_or_else(|| "/".to_owned());
            ([(header::SET_COOKIE, cookie), (header::REFERRER_POLICY, "no-referrer".to_owned())], Redirect::to(&next))
                .into_response()
        }
        // The link was used or is old. A browser that is signed in already goes on; another one is told what to do.
        Ok(None) => Redirect::to("/").into_response(),
        Err(_) => {
            (StatusCode::SERVICE_UNAVAILABLE, "Signing in does not work at this moment. Try again.").into_response()
        }
    }
}

/// A fresh link for whoever has a token. A cookie does not count: only programs ask for links.
async fn link(State(studio): State<Studio>, headers: HeaderMap) -> Response {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let Some(token) = authorization.strip_prefix("Bearer ") else { return StatusCode::UNAUTHORIZED.into_response() };
    match studio.sign_in.principal(token).await {
        Ok(None) => StatusCode::UNAUTHORIZED.into_response(),
        Ok(Some(principal)) => match studio.sign_in_path(principal).await {
            Ok(path) => path.into_response(),
            Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Only a path of this server, so that a link cannot lead elsewhere.
fn is_own_page(next: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte);
    next.starts_with('/') && !next.starts_with("//") && next.bytes().all(is_plain)
}

async fn file(method: Method, uri: Uri) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::NOT_FOUND.into_response();
    }
    let path = uri.path().trim_start_matches('/');
    let is_page = !path.contains('.');
    let name = if is_page { "index.html" } else { path };
    match Files::get(name) {
        Some(file) => {
            let kind = mime_guess::from_path(name).first_or_octet_stream();
            let age = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
            let headers = [
                (header::CONTENT_TYPE, kind.to_string()),
                (header::CACHE_CONTROL, age.to_owned()),
                (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.to_owned()),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
                (header::REFERRER_POLICY, "no-referrer".to_owned()),
            ];
            (headers, file.data.into_owned()).into_response()
        }
        None if is_page => {
            let hint = "Studio is not part of this build. Build it with `make studio`, then build the server again.";
            (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"))], hint)
                .into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_own_page;

    #[test]
    fn a_link_leads_only_to_pages_of_this_server() {
        assert!(is_own_page("/runs/exe_01k9x4t"));
        for foreign in ["//evil.example", "https://evil.example", "/\\evil", "runs", "/a?b=c", "/a\r\nSet-Cookie: x"] {
            assert!(!is_own_page(foreign), "{foreign}");
        }
    }
}
