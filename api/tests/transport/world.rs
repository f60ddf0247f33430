//! A World is one running server with what a test needs to call it and to look inside.

use std::future::IntoFuture;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use api::http::{HostPolicy, Settings, Transport, router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::auth::Tokens;
use super::schema::{Counters, schema};

pub struct World {
    pub address: SocketAddr,
    pub transport: Arc<Transport>,
    pub counters: Counters,
    pub drain: CancellationToken,
    pub revoked: CancellationToken,
    pub tasks: TaskTracker,
    pub client: reqwest::Client,
}

/// What came back over HTTP.
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The code of the first error.
    pub fn code(&self) -> String {
        self.json()["errors"][0]["extensions"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut settings = Settings::new(HostPolicy::loopback(address.port()).with_origin("https://studio.example"));
        change(&mut settings);
        let (drain, revoked, tasks) = (CancellationToken::new(), CancellationToken::new(), TaskTracker::new());
        let counters = Counters::default();
        let authenticator = Arc::new(Tokens { revoked: revoked.clone() });
        let transport = Transport::new(schema(counters.clone()), authenticator, settings, drain.clone(), tasks.clone());
        let transport = Arc::new(transport);
        TaskTracker::new().spawn(axum::serve(listener, router(Arc::clone(&transport))).into_future());
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, transport, counters, drain, revoked, tasks, client }
    }

    pub fn url(&self) -> String {
        format!("http://{}/graphql", self.address)
    }

    /// A POST as a client of today sends it.
    pub fn post(&self) -> reqwest::RequestBuilder {
        self.client
            .post(self.url())
            .header("content-type", "application/json")
            .header("accept", "application/graphql-response+json")
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = timeout(Duration::from_secs(10), request.send()).await.expect("an answer in time").unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Reply { status, headers, text: response.text().await.unwrap() }
    }

    /// Runs a document as a signed-in caller.
    pub async fn query(&self, query: &str) -> Reply {
        self.send(self.post().bearer_auth("valid").body(json!({ "query": query }).to_string())).await
    }

    /// Runs a document as nobody.
    pub async fn anonymous(&self, query: &str) -> Reply {
        self.send(self.post().body(json!({ "query": query }).to_string())).await
    }

    pub fn resolved(&self) -> usize {
        self.counters.resolved.load(Ordering::SeqCst)
    }

    pub fn mutated(&self) -> usize {
        self.counters.mutated.load(Ordering::SeqCst)
    }

    /// Waits until nothing of any socket is left.
    pub async fn settled(&self) {
        until("no socket and no operation is left", || {
            self.transport.sockets.count() == 0 && self.transport.socket_operations.count() == 0
        })
        .await;
    }
}

/// Waits for a condition, and fails when it does not come.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    let mut looks = interval(Duration::from_millis(5));
    let waiting = async {
        while !condition() {
            looks.tick().await;
        }
    };
    timeout(Duration::from_secs(10), waiting).await.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}
