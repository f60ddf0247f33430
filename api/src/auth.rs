//! Sign-in: an API key or a session token becomes a principal, the same way on HTTP and on WebSocket.
//!
//! Secrets are looked up by their SHA-256 and never stored or logged. An API key that was revoked or has expired ends
//! its open sockets within a second.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::Data;
use async_trait::async_trait;
use domain::access::IdentityStore;
use domain::artifact::sha256_hex;
use domain::clock::{Clock, Timestamp};
use domain::ctx::{Principal, Scope};
use domain::error::StoreError;
use domain::ids::ApiKeyId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::graphql::{Caller as GraphqlCaller, Services, attach};
use crate::http::{AuthError, Authenticator, Caller, Credentials};

/// The start of every API key.
const API_KEY_PREFIX: &str = "vit_";
/// How often an open socket's API key is looked at again.
const WATCH: Duration = Duration::from_secs(1);
const REFUSED: AuthError = AuthError::Refused("The credentials are unknown, expired or revoked.");

/// Checks credentials against the identity store.
#[derive(Clone)]
pub struct SignIn {
    services: Services,
}

/// Who a request comes from, and until when.
#[derive(Debug, Clone, Copy)]
pub struct SignedIn {
    /// The principal.
    pub principal: Principal,
    /// When its right ends by itself.
    expires_at: Option<Timestamp>,
    /// The key that it came with.
    api_key: Option<ApiKeyId>,
}

impl SignIn {
    /// Checks against this store.
    pub const fn new(services: Services) -> Self {
        Self { services }
    }

    /// The principal behind a token or a cookie; None without either.
    pub async fn check(&self, credentials: &Credentials) -> Result<Option<SignedIn>, AuthError> {
        let (Some(token), _) | (None, Some(token)) = (&credentials.bearer, &credentials.cookie) else {
            return Ok(None);
        };
        let found = if token.starts_with(API_KEY_PREFIX) { self.api_key(token).await } else { self.session(token).await };
        let signed_in = found.map_err(|error| AuthError::Unavailable(Box::new(error)))?.ok_or(REFUSED)?;
        let now = self.services.clock.now();
        if signed_in.expires_at.is_some_and(|end| end <= now) { Err(REFUSED) } else { Ok(Some(signed_in)) }
    }

    async fn api_key(&self, token: &str) -> Result<Option<SignedIn>, StoreError> {
        let key = self.services.identity.api_key_by_hash(&sha256_hex(token.as_bytes())).await?;
        Ok(key.filter(|key| key.revoked_at.is_none()).map(|key| SignedIn {
            principal: Principal { id: key.principal_id, tenant_id: key.tenant_id, project_id: Some(key.project_id) },
            expires_at: key.expires_at,
            api_key: Some(key.id),
        }))
    }

    async fn session(&self, token: &str) -> Result<Option<SignedIn>, StoreError> {
        let session = self.services.identity.session_by_hash(&sha256_hex(token.as_bytes())).await?;
        Ok(session.map(|session| SignedIn {
            principal: Principal { id: session.principal_id, tenant_id: session.tenant_id, project_id: None },
            expires_at: Some(session.expires_at),
            api_key: None,
        }))
    }
}

#[async_trait]
impl Authenticator for SignIn {
    async fn authenticate(&self, credentials: Credentials) -> Result<Arc<dyn Caller>, AuthError> {
        let signed_in = self.check(&credentials).await?;
        Ok(Arc::new(RequestCaller { signed_in, services: self.services.clone() }))
    }
}

struct RequestCaller {
    signed_in: Option<SignedIn>,
    services: Services,
}

impl Caller for RequestCaller {
    fn is_anonymous(&self) -> bool {
        self.signed_in.is_none()
    }

    fn attach(&self, data: &mut Data) {
        attach(data, &self.services, GraphqlCaller(self.signed_in.map(|signed_in| signed_in.principal)));
    }

    fn ended(&self) -> BoxFuture<'static, &'static str> {
        match self.signed_in {
            None => std::future::pending().boxed(),
            Some(signed_in) => {
                watch(signed_in, Arc::clone(&self.services.identity), Arc::clone(&self.services.clock)).boxed()
            }
        }
    }
}

/// Resolves when the right of a caller ends. A store that does not answer ends nothing.
async fn watch(signed_in: SignedIn, identity: Arc<dyn IdentityStore>, clock: Arc<dyn Clock>) -> &'static str {
    let scope = Scope { tenant_id: signed_in.principal.tenant_id };
    loop {
        clock.sleep(WATCH).await;
        if signed_in.expires_at.is_some_and(|end| end <= clock.now()) {
            return "token expired";
        }
        let Some(key) = signed_in.api_key else { continue };
        match identity.api_key(scope, key).await {
            Ok(Some(key)) if key.revoked_at.is_none() => {}
            Ok(Some(_) | None) => return "token revoked",
            Err(_) => {}
        }
    }
}
