//! A toy authenticator with one token for each thing that can happen.

use std::sync::Arc;
use std::time::Duration;

use api::http::{AuthError, Authenticator, Caller, Credentials};
use async_graphql::Data;
use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// What the callers attach.
pub struct Who(pub String);

/// The life of the token `short`.
pub const SHORT_LIFE: Duration = Duration::from_millis(300);

pub struct Tokens {
    /// Cancelled to revoke `revocable`.
    pub revoked: CancellationToken,
}

struct Named {
    name: &'static str,
    revoked: CancellationToken,
}

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, credentials: Credentials) -> Result<Arc<dyn Caller>, AuthError> {
        let name = match (credentials.bearer.as_deref(), credentials.cookie.as_deref()) {
            (Some("valid"), _) => "ada",
            (Some("short"), _) => "short",
            (Some("revocable"), _) => "revocable",
            (Some("down"), _) => return Err(AuthError::Unavailable("database password is hunter2".into())),
            (Some("stuck"), _) => pending().await,
            (None, Some("session")) => "cookie",
            (None, None) => "nobody",
            _ => return Err(AuthError::Refused("The token is not valid.")),
        };
        Ok(Arc::new(Named { name, revoked: self.revoked.clone() }))
    }
}

impl Caller for Named {
    fn is_anonymous(&self) -> bool {
        self.name == "nobody"
    }

    fn attach(&self, data: &mut Data) {
        data.insert(Who(self.name.to_owned()));
    }

    fn ended(&self) -> BoxFuture<'static, &'static str> {
        let revoked = self.revoked.clone();
        match self.name {
            "short" => sleep(SHORT_LIFE).map(|()| "Token expired").boxed(),
            "revocable" => async move { revoked.cancelled().await }.map(|()| "Token revoked").boxed(),
            _ => pending().boxed(),
        }
    }
}
