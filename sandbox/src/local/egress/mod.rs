//! Egress is a sandbox's only way out: a filtering proxy in the runtime, and the policy that it keeps to.
//!
//! Rule: a sandbox has a network namespace of its own without a route. With a network policy its init binds one
//! listening socket on that namespace's loopback and hands it over the Unix control socket before any code runs; the
//! runtime accepts from it. Without that socket there is nothing to connect to. The proxy resolves names itself and
//! connects to the very address that it has checked. It does not look into TLS: it reads the name in the first
//! ClientHello and passes the rest through.
//!
//! Reading order: [`serve`] takes a connection, [`request`] says what it wants, [`policy`] whether it may,
//! [`destination`] where that is, [`tunnel`] and [`forward`] move the bytes; [`api`] shows and changes the policy.

mod api;
mod attempts;
mod chunked;
mod client_hello;
mod destination;
mod forward;
mod head;
mod host;
mod meter;
mod policy;
mod request;
mod serve;
#[cfg(feature = "testing")]
mod test_hosts;
#[cfg(test)]
mod tests;
mod tunnel;

use std::sync::Arc;

use secrecy::SecretString;
use tokio::sync::{Semaphore, watch};

use attempts::Attempts;
use meter::Traffic;

pub use api::{TOKEN_HEADER, policy_routes, router};
pub use destination::Names;
pub use policy::{Policy, PolicyError, PolicyView};
pub use serve::serve;

/// Where the proxy is, seen from inside a sandbox.
pub const PROXY_PORT: u16 = 3128;
/// The same as a URL.
pub const PROXY_URL: &str = "http://127.0.0.1:3128";
/// Where a sandbox's own servers are; what goes there needs no proxy.
const DIRECT: &str = "localhost,127.0.0.1,::1";

/// Variables by which programs find the proxy.
pub const PROXY_ENVIRONMENT: [(&str, &str); 6] = [
    ("HTTP_PROXY", PROXY_URL),
    ("HTTPS_PROXY", PROXY_URL),
    ("http_proxy", PROXY_URL),
    ("https_proxy", PROXY_URL),
    ("NO_PROXY", DIRECT),
    ("no_proxy", DIRECT),
];

/// Connections that one sandbox may have at a time; further ones wait to be taken.
const MAX_CONNECTIONS: usize = 64;

/// The egress of one sandbox.
pub struct Egress {
    /// Proves that a caller may see and change the policy.
    pub token: SecretString,
    policy: watch::Sender<Arc<Policy>>,
    attempts: Attempts,
    traffic: Traffic,
    connections: Arc<Semaphore>,
    names: Names,
}

impl Egress {
    pub fn new(policy: Policy, token: SecretString, names: Names) -> Self {
        Self {
            token,
            policy: watch::Sender::new(Arc::new(policy)),
            attempts: Attempts::default(),
            traffic: Traffic::default(),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            names,
        }
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.borrow())
    }

    /// Replaces the policy by what `change` makes of it. Connections that it no longer allows are cut.
    fn change(&self, change: impl FnOnce(&Policy) -> Result<Policy, PolicyError>) -> Result<Arc<Policy>, PolicyError> {
        let mut outcome = Ok(());
        self.policy.send_if_modified(|current| {
            outcome = change(current).map(|policy| *current = Arc::new(policy));
            outcome.is_ok()
        });
        outcome.map(|()| self.policy())
    }
}
