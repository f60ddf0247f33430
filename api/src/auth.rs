//! Sign-in on both transports: an API key, a session token or the session cookie becomes a principal.
//!
//! Credentials are checked when a request comes, and again every other second while a WebSocket is open, so that a key
//! which was revoked or has expired ends its sockets. A store that does not answer ends nothing.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::Data;
use async_trait::async_trait;
use domain::access::{by_api_key, by_session};
use domain::ctx::Principal;
use domain::error::StoreError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::graphql::{Caller as GraphqlCaller, Services, attach};
use crate::http::{AuthError, Authenticator, Caller, Credentials};

/// The start of every API key.
const API_KEY_PREFIX: &str = "vit_";
const WATCH: Duration = Duration::from_secs(2);

/// Checks credentials against the identity store.
#[derive(Clone)]
pub struct SignIn {
    services: Services,
}

impl SignIn {
    /// Checks against the identity store of these services.
    pub const fn new(services: Services) -> Self {
        Self { services }
    }

    /// The principal behind a credential; None when it is unknown, expired or revoked.
    pub async fn principal(&self, credential: &str) -> Result<Option<Principal>, StoreError> {
        let Services { identity, clock, .. } = &self.services;
        let signed_in = if credential.starts_with(API_KEY_PREFIX) {
            by_api_key(&**identity, &**clock, credential).await?
        } else {
            by_session(&**identity, &**clock, credential).await?
        };
        Ok(signed_in.map(|signed_in| signed_in.principal))
    }
}

#[async_trait]
impl Authenticator for SignIn {
    async fn authenticate(&self, credentials: Credentials) -> Result<Arc<dyn Caller>, AuthError> {
        let credential = credentials.bearer.or(credentials.cookie);
        let principal = match &credential {
            None => None,
            Some(credential) => {
                let found = self.principal(credential).await;
                let found = found.map_err(|error| AuthError::Unavailable(Box::new(error)))?;
                Some(found.ok_or(AuthError::Refused("The credentials are unknown, expired or revoked."))?)
            }
        };
        Ok(Arc::new(RequestCaller { principal, credential, sign_in: self.clone() }))
    }
}

struct RequestCaller {
    principal: Option<Principal>,
    credential: Option<String>,
    sign_in: SignIn,
}

impl Caller for RequestCaller {
    fn is_anonymous(&self) -> bool {
        self.principal.is_none()
    }

    fn attach(&self, data: &mut Data) {
        attach(data, &self.sign_in.services, GraphqlCaller(self.principal));
    }

    fn ended(&self) -> BoxFuture<'static, &'static str> {
        match self.credential.clone() {
            None => std::future::pending().boxed(),
            Some(credential) => watch(self.sign_in.clone(), credential).boxed(),
        }
    }
}

async fn watch(sign_in: SignIn, credential: String) -> &'static str {
    loop {
        sign_in.services.clock.sleep(WATCH).await;
        if matches!(sign_in.principal(&credential).await, Ok(None)) {
            return "token expired or revoked";
        }
    }
}
