//! The one place that names concrete adapters: it builds them from the configuration and hands out ports.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::access::Authorizer;
use domain::agent::Ports;
use domain::artifact::ArtifactStore;
use domain::clock::{Clock, Entropy};
use domain::event::{LogWriter, log_writer};
use domain::execution::CallContext;
use domain::model_call::{DeltaSink, ModelEndpoint, ModelOutcome, ModelRequest, ModelRuntime};
use domain::resource::{ModelSpec, SecretStore};
use domain::sandbox::RedactingRuntime;
use infra::artifact_dir::DirArtifactStore;
use infra::clock::{OsEntropy, SystemClock};
use infra::data_dir::DataDir;
use infra::model::{CallLimits, OpenAiCompatible};
use infra::secret::KeyFileSecretStore;
use infra::sql::{SqlOptions, SqlStore};
use sandbox::manager::SandboxManager;
use secrecy::ExposeSecret;
use tokio_util::task::TaskTracker;

use crate::artifact_links::Links;
use crate::config::Config;
use crate::graphql::Services;
use crate::live::Live;
use crate::local_sandbox::LocalSandbox;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the parts of the program could not be put together.
pub type WiringError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that the roles of a process need.
pub struct Wiring {
    /// What the agent loop needs.
    pub ports: Arc<Ports>,
    /// What the resolvers need.
    pub services: Services,
    /// Wake-ups.
    pub live: Arc<Live>,
    /// Serves files by link.
    pub links: Links,
    /// The task that writes the log; run it.
    pub log_writer: LogWriter,
    /// The local sandbox runtime; watch it.
    pub local_sandbox: Arc<LocalSandbox>,
    /// The database, to be closed last.
    pub store: SqlStore,
    /// Holds the data directory against a second process.
    pub data_dir: DataDir,
}

/// Opens the store as the configuration names it, and brings its schema up to date.
pub async fn open_store(config: &Config, data_dir: &DataDir) -> Result<SqlStore, WiringError> {
    let url = match &config.database_url {
        Some(url) => url.expose_secret().to_owned(),
        None => format!("sqlite://{}", data_dir.path().join("vitrine.db").display()),
    };
    let store = SqlStore::open(SqlOptions { url }).await?;
    migrations::up(store.connection()).await?;
    if config.database_url.is_none() {
        store.end_leases_of_earlier_process().await?;
    }
    Ok(store)
}

/// The key comes before the database. A fresh one would open nothing of what an old database has sealed: better not to
/// start than to fail in every run.
fn open_secrets(data_dir: &DataDir) -> Result<Arc<dyn SecretStore>, WiringError> {
    let is_there = |name: &str| data_dir.path().join(name).exists();
    if is_there("vitrine.db") && !is_there("secret.key") {
        let path = data_dir.path().display();
        return Err(format!("{path} has a database and no secret.key; put the key back from your backup").into());
    }
    Ok(Arc::new(KeyFileSecretStore::open(&data_dir.path().join("secret.key"))?))
}

fn open_local_sandbox(
    config: &Config,
    data_dir: &DataDir,
    entropy: &dyn Entropy,
) -> Result<Arc<LocalSandbox>, WiringError> {
    Ok(Arc::new(match config.local_sandbox {
        true => LocalSandbox::new(data_dir.path(), entropy, config.local_tenants.clone())?,
        false => LocalSandbox::none(),
    }))
}

/// Puts the parts together. `scripted_url` is where the scripted model of this process listens.
pub async fn wire(config: &Config, scripted_url: String, tasks: TaskTracker) -> Result<Wiring, WiringError> {
    let data_dir = infra::data_dir::lock(&config.data_dir)?;
    let secrets = open_secrets(&data_dir)?;
    let store = open_store(config, &data_dir).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let entropy: Arc<dyn Entropy> = Arc::new(OsEntropy);
    let artifacts: Arc<dyn ArtifactStore> = Arc::new(DirArtifactStore::open(&data_dir.path().join("artifacts"))?);
    let local_sandbox = open_local_sandbox(config, &data_dir, &*entropy)?;
    let shared = Arc::new(store.clone());
    let live = Live::new(shared.clone());
    let authorizer = Arc::new(Authorizer::new(shared.clone())?);
    let (log_writer, log_handle) = log_writer(shared.clone(), clock.clone());
    let links =
        Links { secrets: secrets.clone(), reader: shared.clone(), artifacts: artifacts.clone(), clock: clock.clone() };
    let sandboxes = RedactingRuntime::new(Arc::new(SandboxManager::new(local_sandbox.clone())));
    let ports = Arc::new(Ports {
        executions: shared.clone(),
        reader: shared.clone(),
        resources: shared.clone(),
        accounts: shared.clone(),
        artifacts: artifacts.clone(),
        secrets: secrets.clone(),
        authorizer: authorizer.clone(),
        models: models(scripted_url)?,
        sandboxes: sandboxes.clone(),
        sandbox_records: shared.clone(),
        bus: live.clone(),
        commands: live.clone(),
        log_writer: log_handle,
        clock: clock.clone(),
        entropy: entropy.clone(),
        lease: config.lease,
        account_wait: config.account_wait,
        sandboxes_per_tenant: config.sandboxes_per_tenant,
    });
    let services = Services {
        resources: shared.clone(),
        accounts: shared.clone(),
        executions: shared.clone(),
        execution_store: shared.clone(),
        retention: shared.clone(),
        events: live.clone(),
        follow: live.clone(),
        access: shared.clone(),
        identity: shared.clone(),
        prices: shared.clone(),
        costs: shared.clone(),
        audit: shared,
        artifacts,
        secrets,
        authorizer,
        sandboxes,
        bus: live.clone(),
        links: Arc::new(links.clone()),
        clock,
        entropy,
        tasks,
    };
    Ok(Wiring { ports, services, live, links, log_writer, local_sandbox, store, data_dir })
}

fn models(scripted_url: String) -> Result<Arc<dyn ModelRuntime>, WiringError> {
    let client = infra::http::client(CONNECT_TIMEOUT)?;
    let provider = OpenAiCompatible::new(client, CallLimits::default());
    Ok(Arc::new(WithScripted { provider, scripted_url }))
}

/// Sends what is meant for the scripted model of this process to where it listens; everything else as it is.
struct WithScripted {
    provider: OpenAiCompatible,
    scripted_url: String,
}

#[async_trait]
impl ModelRuntime for WithScripted {
    async fn call(&self, context: &CallContext, request: &ModelRequest, deltas: &dyn DeltaSink) -> ModelOutcome {
        if request.endpoint.base_url != ModelSpec::SCRIPTED_URL {
            return self.provider.call(context, request, deltas).await;
        }
        let endpoint = ModelEndpoint { base_url: self.scripted_url.clone(), ..request.endpoint.clone() };
        let request = ModelRequest { endpoint, ..request.clone() };
        self.provider.call(context, &request, deltas).await
    }
}
