//! The Transport joins what is served with how: one path, HTTP and WebSocket, behind the Host check.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::caller::Authenticator;
use super::engine::Engine;
use super::gate::GateLimits;
use super::gauge::Gauge;
use super::graphql_http;
use super::host::{HostPolicy, protect};
use super::websocket::SocketLimits;

/// Limits of HTTP requests, and of every query or mutation.
#[derive(Clone, Debug)]
pub struct HttpLimits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// How long a query or mutation may run, on either transport.
    pub execution_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self { body_bytes: 256 * 1024, body_time: Duration::from_secs(10), execution_time: Duration::from_secs(15) }
    }
}

/// What can be set. The defaults are those of production, except for the hosts, which have none.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path, for POST and for the upgrade.
    pub path: String,
    /// The cookie that authorises a browser.
    pub session_cookie: String,
    /// Who may call.
    pub hosts: HostPolicy,
    /// What a document may be.
    pub gate: GateLimits,
    /// What a request may be.
    pub http: HttpLimits,
    /// What a socket may be.
    pub socket: SocketLimits,
}

impl Settings {
    /// The defaults, for a server that answers to these hosts.
    pub fn new(hosts: HostPolicy) -> Self {
        Self {
            path: "/graphql".to_owned(),
            session_cookie: "vitrine_session".to_owned(),
            hosts,
            gate: GateLimits::default(),
            http: HttpLimits::default(),
            socket: SocketLimits::default(),
        }
    }
}

/// One served schema.
pub struct Transport {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) authenticator: Arc<dyn Authenticator>,
    pub(super) settings: Settings,
    pub(super) drain: CancellationToken,
    pub(super) tasks: TaskTracker,
    /// WebSockets that are open.
    pub sockets: Gauge,
    /// Operations that run on WebSockets.
    pub socket_operations: Gauge,
}

impl Transport {
    /// Joins a schema and an authenticator.
    ///
    /// Cancelling `drain` closes every socket with 1012. All work is spawned on `tasks`, so waiting for it after the
    /// HTTP server has stopped waits for the last socket and the last mutation.
    pub fn new(
        engine: impl Engine,
        authenticator: Arc<dyn Authenticator>,
        settings: Settings,
        drain: CancellationToken,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            engine: Arc::new(engine),
            authenticator,
            settings,
            drain,
            tasks,
            sockets: Gauge::default(),
            socket_operations: Gauge::default(),
        }
    }
}

/// The routes of a transport.
pub fn router(transport: Arc<Transport>) -> Router {
    let (path, hosts) = (transport.settings.path.clone(), transport.settings.hosts.clone());
    protect(Router::new().route(&path, any(graphql_http::serve)).with_state(transport), hosts)
}
