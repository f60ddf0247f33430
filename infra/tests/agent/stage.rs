//! A Stage is a project with an agent in a real SQLite store, and the played world around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::access::{Action, Authorizer, Grant, ServiceIdentity};
use domain::agent::{Ended, run};
use domain::budget::Limits;
use domain::clock::{Clock, Timestamp};
use domain::error::StoreError;
use domain::event::{Event, EventBus as _, encode_segment, log_writer};
use domain::execution::{Claimed, Execution, ExecutionRef, NewExecution, Pins, Progress, StopSignal};
use domain::ids::{PrincipalId, ResourceId, VersionId};
use domain::money::{NanoUsd, Price};
use domain::resource::{
    AgentSpec, LoopPolicy, ModelProtocol, ModelSpec, NewVersion, PriceVersion, Resource, SandboxConnectionSpec,
    SandboxNetwork, SandboxProfileSpec, SandboxTier, Spec, VersionState,
};
use domain::testing::{Home, Ports as Stores, Samples};
use infra::clock::{OsEntropy, SystemClock};
use infra::sql::{SqlOptions, SqlStore};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use crate::failing_store::FailingStore;
use crate::played_model::{PlayedModel, Turn};
use crate::played_sandbox::PlayedSandbox;
use crate::small_ports::{Bell, HastyClock, InMemoryArtifacts, NoSecrets};

/// Long enough for a beat of the heartbeat, short enough to wait for.
pub const LEASE: Duration = Duration::from_millis(500);

/// One dollar a million tokens in, two out.
pub const PRICE: Price = Price {
    input_per_million: NanoUsd(1_000_000_000),
    cached_input_per_million: NanoUsd(1_000_000_000),
    output_per_million: NanoUsd(2_000_000_000),
    reasoning_per_million: None,
};

pub struct Stage {
    pub stores: Stores,
    pub store: Arc<FailingStore>,
    pub model: Arc<PlayedModel>,
    pub sandbox: Arc<PlayedSandbox>,
    pub ports: Arc<domain::agent::Ports>,
    pub samples: Samples,
    pub home: Home,
    bell: Arc<Bell>,
    agent: ResourceId,
    identity: PrincipalId,
    pins: Pins,
    count: AtomicU64,
    tasks: TaskTracker,
    sql: SqlStore,
    _dir: TempDir,
}

impl Stage {
    pub async fn new() -> Self {
        Self::with_policy(LoopPolicy::default()).await
    }

    pub async fn with_policy(policy: LoopPolicy) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("vitrine.db").display());
        let sql = SqlStore::open(SqlOptions { url }).await.unwrap();
        migrations::up(sql.connection()).await.unwrap();
        let clock: Arc<dyn Clock> = Arc::new(HastyClock(SystemClock::new()));
        let shared = Arc::new(sql.clone());
        let stores = stores(&shared, &clock);
        let samples = Samples::new(1);
        let home = samples.home(&stores).await;
        let cast = cast(&stores, &samples, &home, policy).await;
        let store = Arc::new(FailingStore::new(shared.clone()));
        let (model, sandbox, bell) =
            (Arc::new(PlayedModel::default()), Arc::new(PlayedSandbox::new()), Arc::new(Bell::default()));
        let (writer, log_writer) = log_writer(store.clone(), clock.clone());
        let tasks = TaskTracker::new();
        tasks.spawn(writer.run());
        let ports = Arc::new(domain::agent::Ports {
            executions: store.clone(),
            reader: shared.clone(),
            resources: shared.clone(),
            artifacts: Arc::new(InMemoryArtifacts::default()),
            secrets: Arc::new(NoSecrets),
            authorizer: Arc::new(Authorizer::new(shared).unwrap()),
            models: model.clone(),
            sandboxes: sandbox.clone(),
            bus: bell.clone(),
            commands: bell.clone(),
            log_writer,
            clock,
            entropy: Arc::new(OsEntropy),
            lease: LEASE,
        });
        let Cast { agent, identity, pins } = cast;
        let count = AtomicU64::new(1);
        Self {
            stores,
            store,
            model,
            sandbox,
            ports,
            samples,
            home,
            bell,
            agent,
            identity,
            pins,
            count,
            tasks,
            sql,
            _dir: dir,
        }
    }

    /// An execution that is about to be started, and whose model says this.
    pub fn new_execution(&self, turns: Vec<Turn>, limits: Limits, deadline: Option<Duration>) -> NewExecution {
        let now = self.ports.clock.now();
        let id = self.samples.execution_id();
        let execution = Execution {
            id,
            tenant_id: self.home.tenant.id,
            project_id: self.home.project.id,
            agent_id: self.agent,
            service_identity: self.identity,
            started_by: self.home.owner,
            pins: self.pins,
            task: "Play.".to_owned(),
            limits,
            deadline_at: deadline.map(|after| now.plus(after)),
            is_scripted: true,
            created_at: now,
            progress: Progress::queued(),
            epoch: 0,
            next_sequence: 2,
        };
        self.model.script(id, turns);
        NewExecution {
            inputs: Vec::new(),
            segment: encode_segment(1, vec![(now, Event::ExecutionQueued { task: execution.task.clone() })]).unwrap(),
            idempotency_key: format!("key {}", self.count.fetch_add(1, Ordering::Relaxed)),
            request_hash: "0".repeat(64),
            key_expires_at: now.plus(Duration::from_secs(3600)),
            execution,
        }
    }

    /// Starts an execution without limits.
    pub async fn start(&self, turns: Vec<Turn>) -> ExecutionRef {
        self.start_with(turns, Limits::default()).await
    }

    pub async fn start_with(&self, turns: Vec<Turn>, limits: Limits) -> ExecutionRef {
        let new = self.new_execution(turns, limits, None);
        self.ports.executions.start(&new).await.unwrap();
        new.execution.reference()
    }

    /// Waits until the lease of whoever held it has run out, and claims it.
    pub async fn claim(&self, execution: ExecutionRef) -> Claimed {
        for _ in 0..200 {
            match self.ports.executions.claim(execution, "w", LEASE).await {
                Ok(Some(claimed)) => return claimed,
                Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(StoreError::Unavailable(_)) => self.store.heal(),
                Err(error) => panic!("{error}"),
            }
        }
        panic!("the execution was not free in time");
    }

    /// Runs a claim to its end.
    pub async fn run(&self, claimed: Claimed) -> Ended {
        self.run_with(claimed, Arc::default()).await
    }

    pub async fn run_with(&self, claimed: Claimed, signal: Arc<StopSignal>) -> Ended {
        Box::pin(run(Arc::clone(&self.ports), claimed, signal)).await
    }

    /// Claims and runs until the execution has ended.
    pub async fn finish(&self, execution: ExecutionRef) {
        for _ in 0..10 {
            // The end may have been written although nobody was told.
            if self.execution(execution).await.progress.status.is_terminal() {
                return;
            }
            let claimed = self.claim(execution).await;
            if self.run(claimed).await == Ended::Finished {
                return;
            }
            self.store.heal();
        }
        panic!("the execution does not end");
    }

    /// Wakes the heartbeats.
    pub fn ring(&self, execution: ExecutionRef) {
        self.bell.command_arrived(execution);
    }

    pub async fn execution(&self, execution: ExecutionRef) -> Execution {
        self.stores.reader.executions(execution.scope(), &[execution.id]).await.unwrap().pop().unwrap()
    }

    pub async fn close(self) {
        let Self { ports, tasks, sql, .. } = self;
        drop(ports);
        tasks.close();
        tasks.wait().await;
        sql.close().await;
    }
}

fn stores(shared: &Arc<SqlStore>, clock: &Arc<dyn Clock>) -> Stores {
    Stores {
        executions: shared.clone(),
        reader: shared.clone(),
        log: shared.clone(),
        resources: shared.clone(),
        access: shared.clone(),
        identity: shared.clone(),
        prices: shared.clone(),
        costs: shared.clone(),
        audit: shared.clone(),
        clock: clock.clone(),
    }
}

/// Who plays.
struct Cast {
    agent: ResourceId,
    identity: PrincipalId,
    pins: Pins,
}

async fn cast(stores: &Stores, samples: &Samples, home: &Home, policy: LoopPolicy) -> Cast {
    let (model, model_version) = add(stores, samples, home, "model", Spec::Model(model_spec(samples))).await;
    let connection = SandboxConnectionSpec {
        tier: SandboxTier::Local,
        base_url: String::new(),
        credential_id: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
    };
    let (connection, connection_version) =
        add(stores, samples, home, "here", Spec::SandboxConnection(connection)).await;
    let profile = Spec::SandboxProfile(profile_spec(connection));
    let (profile, profile_version) = add(stores, samples, home, "small", profile).await;
    let agent = AgentSpec {
        instructions: "Play.".to_owned(),
        model_id: model,
        sandbox_profile_id: Some(profile),
        tools: ["note", "run_shell", "write_file"].map(str::to_owned).to_vec(),
        limits: Limits::default(),
        loop_policy: policy,
    };
    let (agent, agent_version) = add(stores, samples, home, "player", Spec::Agent(agent)).await;
    let identity = ServiceIdentity { principal_id: samples.principal_id(), agent_id: agent };
    let identity = stores.access.ensure_service_identity(home.scope(), identity).await.unwrap().principal_id;
    for resource_id in [model, connection, profile] {
        let grant = Grant { tenant_id: home.tenant.id, principal_id: identity, action: Action::Use, resource_id };
        stores.access.grant(grant).await.unwrap();
    }
    let pins = Pins {
        agent: agent_version,
        model: model_version,
        model_credential: None,
        profile: Some(profile_version),
        connection: Some(connection_version),
        connection_credential: None,
        price: None,
    };
    Cast { agent, identity, pins }
}

fn model_spec(samples: &Samples) -> ModelSpec {
    ModelSpec {
        protocol: ModelProtocol::OpenaiCompatible,
        provider: ModelSpec::SCRIPTED.to_owned(),
        deployment: "played".to_owned(),
        alias: "Played".to_owned(),
        base_url: ModelSpec::SCRIPTED_URL.to_owned(),
        credential_id: None,
        parameters: serde_json::Map::new(),
        context_window: 10_000,
        max_output_tokens: 1_000,
        price: Some(PriceVersion {
            id: samples.price_version_id(),
            valid_from: Timestamp::from_micros(1),
            price: PRICE,
        }),
    }
}

fn profile_spec(connection_id: ResourceId) -> SandboxProfileSpec {
    SandboxProfileSpec {
        connection_id,
        image: "vitrine/code".to_owned(),
        cpu_millis: 1000,
        memory_bytes: 1 << 28,
        disk_bytes: 1 << 26,
        pids: 64,
        ttl_seconds: 600,
        network: SandboxNetwork::None,
        command_timeout_ms: 10_000,
    }
}

async fn add(stores: &Stores, samples: &Samples, home: &Home, slug: &str, spec: Spec) -> (ResourceId, VersionId) {
    let now = Timestamp::from_micros(1);
    let resource = Resource {
        id: samples.resource_id(),
        tenant_id: home.tenant.id,
        project_id: home.project.id,
        kind: spec.kind(),
        slug: slug.to_owned(),
        name: slug.to_owned(),
        archived_at: None,
        created_at: now,
    };
    let version = NewVersion {
        id: samples.version_id(),
        resource_id: resource.id,
        state: VersionState::Published,
        spec,
        created_at: now,
    };
    let version = stores.resources.create(&resource, &version).await.unwrap();
    (resource.id, version.id)
}
