//! The server of a process: starts its parts in order, says that it is ready, and stops them in order.
//!
//! Stopping: no more claims, runs settle and are given back, sockets are closed with a hint to come back, then the
//! sandbox runtime, then the database. A second signal does not wait.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use domain::ctx::Principal;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::SignIn;
use crate::config::Config;
use crate::http::{HostPolicy, Settings, Transport, protect};
use crate::scripted_model::{Script, ScriptedModel, ScriptedModelOptions};
use crate::studio::Studio;
use crate::wiring::{Wiring, WiringError, wire};
use crate::worker::{Worker, reap};
use crate::{artifact_links, graphql, listener, private_file, seed, studio};

/// GraphQL requests may carry input files; see the limits of the start call.
const BODY_BYTES: usize = 1024 * 1024;
/// The scripted model serves only this process.
const SCRIPTED_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);
/// Below the data directory: where the server is, and a token for the command line of this machine.
pub const LOCAL_ACCESS: &str = "local.json";

/// What the ready file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    /// Base URL.
    pub url: String,
    /// The GraphQL endpoint, for HTTP and WebSocket.
    pub graphql: String,
    /// The first API key; only on the first start of an embedded data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// A link that signs a browser in once.
    pub studio: String,
}

/// What the command line of this machine needs to speak to the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalAccess {
    /// Base URL.
    pub url: String,
    /// Bearer token of the owner's session.
    pub token: String,
    /// Slug of the agent that the demo runs.
    pub demo_agent: String,
}

/// Serves until `stop`; returns when everything has ended.
pub async fn serve(config: Config, ready_file: Option<PathBuf>, stop: CancellationToken) -> Result<(), WiringError> {
    infra::http::install_crypto_provider();
    let tasks = TaskTracker::new();
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        format!("cannot listen on {}: {error}; choose another address with --listen", config.listen)
    })?;
    let address = listener.local_addr()?;
    let scripted =
        ScriptedModel::bind(ScriptedModelOptions { listen: SCRIPTED_LISTEN, script: Script::demo()? }).await?;
    let wiring = wire(&config, scripted.url(), tasks.clone()).await?;
    let seeded = seed::seed(&wiring.services, config.demo_model.as_ref()).await?;
    let background = Background::start(&config, &wiring.ports, &wiring, scripted, &stop);
    let Wiring { services, links, store, data_dir, log_writer, .. } = wiring;
    let log = TaskTracker::new();
    log.spawn(log_writer.run());
    let studio = Studio {
        identity: services.identity.clone(),
        clock: services.clock.clone(),
        entropy: services.entropy.clone(),
        sign_in: SignIn::new(services.clone()),
    };
    let transport = transport(&config, address, services, &stop, &tasks);
    let router = routes(transport.clone(), links, studio.clone(), host_policy(&config, address));
    announce(&config, address, &studio, seeded.owner, seeded.api_key, ready_file, &data_dir).await?;
    listener::serve(listener, router, &stop).await;
    background.end(tasks).await;
    store.close().await;
    drop(data_dir);
    Ok(())
}

fn transport(
    config: &Config,
    address: SocketAddr,
    services: graphql::Services,
    stop: &CancellationToken,
    tasks: &TaskTracker,
) -> Arc<Transport> {
    let mut settings = Settings::new(host_policy(config, address));
    settings.http.body_bytes = BODY_BYTES;
    let sign_in = Arc::new(SignIn::new(services.clone()));
    Arc::new(Transport::new(graphql::build_schema(services), sign_in, settings, stop.clone(), tasks.clone()))
}

fn host_policy(config: &Config, address: SocketAddr) -> HostPolicy {
    let policy = HostPolicy::loopback(address.port()).with_host(&address.to_string());
    let policy = config.hosts.iter().fold(policy, |policy, host| policy.with_host(host));
    config.origins.iter().fold(policy, |policy, origin| policy.with_origin(origin))
}

fn routes(transport: Arc<Transport>, links: artifact_links::Links, studio: Studio, hosts: HostPolicy) -> Router {
    let pages = Router::new()
        .route("/graphql/schema.graphql", get(async || graphql::sdl()))
        .merge(artifact_links::router(links))
        .merge(studio::router(studio));
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/readyz", get(async || (StatusCode::OK, "ready")))
        .merge(crate::http::router(transport))
        .merge(protect(pages, hosts))
}

/// Says where the server is: in the ready file, for the command line, and on the standard output.
async fn announce(
    config: &Config,
    address: SocketAddr,
    studio: &Studio,
    owner: Principal,
    api_key: Option<String>,
    ready_file: Option<PathBuf>,
    data_dir: &infra::data_dir::DataDir,
) -> Result<(), WiringError> {
    let url = format!("http://{}", reachable(address));
    let access = LocalAccess {
        url: url.clone(),
        token: studio.local_token(owner).await?,
        demo_agent: seed::demo_agent_slug(config.demo_model.as_ref()),
    };
    private_file::write(&data_dir.path().join(LOCAL_ACCESS), &serde_json::to_vec(&access)?)?;
    let ready = Ready {
        graphql: format!("{url}/graphql"),
        studio: format!("{url}{}", studio.sign_in_path(owner).await?),
        url,
        api_key,
    };
    if let Some(file) = ready_file {
        private_file::write(&file, &serde_json::to_vec(&ready)?)
            .map_err(|error| format!("--ready-file {}: {error}", file.display()))?;
    }
    tracing::info!(url = ready.url, "ready");
    Ok(())
}

/// The address for a client on this machine: one that stands for all interfaces is none to call.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    tracing::warn!(
        listen = %address,
        advice = "clients elsewhere are refused unless server.hosts holds the name they use; put TLS in front",
        "listening on all interfaces"
    );
    SocketAddr::from(([127, 0, 0, 1], address.port()))
}

/// What runs beside the HTTP server.
struct Background {
    worker: TaskTracker,
    rest: TaskTracker,
    stop_rest: CancellationToken,
}

impl Background {
    fn start(
        config: &Config,
        ports: &Arc<domain::agent::Ports>,
        wiring: &Wiring,
        scripted: ScriptedModel,
        stop: &CancellationToken,
    ) -> Self {
        let (worker_tasks, rest, stop_rest) = (TaskTracker::new(), TaskTracker::new(), CancellationToken::new());
        let owner = format!("{}-{}", std::process::id(), domain::ids::uuid_v7(&*ports.clock, &*ports.entropy));
        let worker = Worker::new(ports.clone(), wiring.live.clone(), owner, config.concurrency);
        let stop = stop.clone();
        worker_tasks.spawn(async move { worker.work(stop).await });
        rest.spawn(scripted.serve(stop_rest.clone()));
        rest.spawn(reap(ports.clone(), stop_rest.clone()));
        if config.local_sandbox {
            let (runtime, stop) = (wiring.local_sandbox.clone(), stop_rest.clone());
            rest.spawn(async move { runtime.watch(stop).await });
        }
        worker_tasks.close();
        rest.close();
        Self { worker: worker_tasks, rest, stop_rest }
    }

    /// Runs need models and sandboxes until they have settled: they end first.
    async fn end(self, tasks: TaskTracker) {
        tasks.close();
        let orderly = async {
            self.worker.wait().await;
            tasks.wait().await;
            self.stop_rest.cancel();
            self.rest.wait().await;
        };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, orderly).await.is_err() {
            tracing::warn!("some tasks did not end in time");
            self.stop_rest.cancel();
        }
    }
}
