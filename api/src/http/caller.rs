//! A Caller is whoever sends a request, after their credentials were checked.
//!
//! The rule: HTTP and WebSocket read credentials into the same [`Credentials`], ask the same [`Authenticator`], and put
//! the answer into the request with the same [`Caller::attach`]. Nothing here decides what a caller may do.

use std::sync::Arc;

use async_graphql::Data;
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use http::{HeaderMap, header};

use super::fault::{Code, Fault};

/// What a request brought to prove who sends it. Both may be absent: then the caller is anonymous, or refused.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The token of `Authorization: Bearer`, or of `authorization` in the connection params. It goes before the cookie.
    pub bearer: Option<String>,
    /// The value of the session cookie.
    pub cookie: Option<String>,
}

/// Why credentials were not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Unknown, expired or revoked credentials: 401, or close code 4403. The caller reads the reason.
    #[error("{0}")]
    Refused(&'static str),
    /// The check itself failed: 503, or close code 1013. The caller reads only that it should try again.
    #[error("credentials could not be checked")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Turns credentials into a [`Caller`].
#[async_trait]
pub trait Authenticator: Send + Sync + 'static {
    /// Checks the credentials. Without any, it returns the anonymous caller or refuses.
    async fn authenticate(&self, credentials: Credentials) -> Result<Arc<dyn Caller>, AuthError>;
}

/// Who sends the request. One value serves one HTTP request, or one WebSocket for its whole life.
pub trait Caller: Send + Sync + 'static {
    /// An anonymous caller gets neither introspection nor suggestions; everything else is for the resolvers to decide.
    fn is_anonymous(&self) -> bool;

    /// Puts what resolvers need into the request. It runs once per operation, so loaders made here are not shared.
    fn attach(&self, data: &mut Data);

    /// Resolves with a reason when the caller's right ends (expiry or revocation); the socket is then closed with 4403.
    fn ended(&self) -> BoxFuture<'static, &'static str> {
        pending().boxed()
    }
}

/// Whether a request may be authorised by a cookie, which a browser adds without being asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CookieUse {
    Accept,
    Ignore,
}

impl Credentials {
    /// Reads the headers of a request. A scheme other than Bearer is refused, so that a typing error is not anonymity.
    pub(super) fn from_headers(headers: &HeaderMap, cookie_name: &str, cookies: CookieUse) -> Result<Self, Fault> {
        let bearer = match headers.get(header::AUTHORIZATION) {
            None => None,
            Some(value) => Some(value.to_str().ok().and_then(bearer_token).ok_or_else(unusable_header)?),
        };
        let cookie = if cookies == CookieUse::Accept { cookie_value(headers, cookie_name) } else { None };
        Ok(Self { bearer, cookie })
    }

    /// Reads `authorization` of the connection params: `Bearer <token>` or the bare token.
    pub(super) fn with_authorization(mut self, authorization: Option<&str>) -> Self {
        let token = authorization.map(str::trim).filter(|text| !text.is_empty());
        self.bearer = token.map(|text| bearer_token(text).unwrap_or_else(|| text.to_owned()));
        self
    }
}

/// The value of the session cookie, if the request has one.
pub(super) fn cookie_value(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim_matches('"').to_owned())
}

fn bearer_token(text: &str) -> Option<String> {
    let (scheme, token) = text.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

fn unusable_header() -> Fault {
    Fault::new(Code::Unauthenticated, "The Authorization header must be \"Bearer\" and a token.")
}

impl From<AuthError> for Fault {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Refused(reason) => Fault::new(Code::Unauthenticated, reason),
            AuthError::Unavailable(cause) => {
                tracing::error!(error = %cause, "credentials could not be checked");
                Fault::new(Code::Unavailable, "Credentials cannot be checked at the moment; try again.")
            }
        }
    }
}
