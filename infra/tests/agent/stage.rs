//! A Stage is a project with an agent in a real SQLite store, and the played world around it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::access::{AccessStore, Action, Authorizer, Grant};
use domain::agent::{Ended, run};
use domain::artifact::ArtifactStore;
use domain::budget::{LimitSources, Limits};
use domain::clock::Clock;
use domain::error::StoreError;
use domain::event::{Event, EventBus as _, encode_segment, log_writer};
use domain::execution::{
    Claimed, Execution, ExecutionRef, ExecutionStore, ModelPin, NewExecution, Progress, StopSignal,
};
use domain::ids::{ResourceId, VersionId};
use domain::model_call::ModelRuntime;
use domain::resource::{
    CredentialSpec, LoopPolicy, ModelSpec, NewVersion, SandboxProfileSpec, SealedSecret, Spec, VersionState,
};
use domain::sandbox::{RedactingRuntime, SandboxRuntime};
use domain::testing::{Home, Ports as Stores, Samples};
use domain::tool_call::SideEffect;
use infra::clock::{OsEntropy, SystemClock};
use infra::model::{CallLimits, OpenAiCompatible};
use infra::sql::{SqlOptions, SqlStore};
use sea_orm::{ConnectionTrait as _, Statement};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use crate::cast::{Cast, add, cast};
pub use crate::cast::{PRICE, Place, model_spec, reserved_for_tools};
use crate::failing_store::FailingStore;
use crate::fused_ports::Fused;
use crate::played_model::{PlayedModel, Turn};
use crate::played_sandbox::PlayedSandbox;
use crate::small_ports::{Bell, CountedAccounts, HastyClock, InMemoryArtifacts, OpenSecrets};
use crate::step::Fuse;

/// Long enough for a beat of the heartbeat, short enough to wait for.
pub const LEASE: Duration = Duration::from_millis(500);

/// How long a call waits for others to settle.
pub const ACCOUNT_WAIT: Duration = Duration::from_millis(400);

/// More than any scene needs at one time.
pub const SANDBOXES_PER_TENANT: u32 = 16;

pub struct Stage {
    pub stores: Stores,
    pub store: Arc<FailingStore>,
    pub accounts: Arc<CountedAccounts>,
    pub model: Arc<PlayedModel>,
    pub sandbox: Arc<PlayedSandbox>,
    pub artifacts: Arc<InMemoryArtifacts>,
    pub ports: Arc<domain::agent::Ports>,
    pub samples: Arc<Samples>,
    pub home: Home,
    bell: Arc<Bell>,
    cast: Cast,
    count: Arc<AtomicU64>,
    tasks: TaskTracker,
    sql: SqlStore,
    dir: Option<TempDir>,
}

/// What stays when a worker's process ends: the database, and the world outside of it.
#[derive(Clone)]
pub struct Scene {
    url: String,
    samples: Arc<Samples>,
    home: Home,
    cast: Cast,
    count: Arc<AtomicU64>,
    model: Arc<PlayedModel>,
    sandbox: Arc<PlayedSandbox>,
    artifacts: Arc<InMemoryArtifacts>,
}

impl Scene {
    /// The project and the agent, in an empty database.
    pub async fn set(url: String, policy: LoopPolicy) -> Self {
        Self::set_with(url, policy, Place::default()).await
    }

    /// The same, with programs that run here.
    pub async fn set_with(url: String, policy: LoopPolicy, place: Place) -> Self {
        let sql = SqlStore::open(SqlOptions { url: url.clone() }).await.unwrap();
        migrations::up(sql.connection()).await.unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let stores = stores(&Arc::new(sql.clone()), &clock);
        let samples = Samples::new(1);
        let home = samples.home(&stores).await;
        let cast = cast(&stores, &samples, &home, policy, place).await;
        sql.close().await;
        Self {
            url,
            samples: Arc::new(samples),
            home,
            cast,
            count: Arc::new(AtomicU64::new(1)),
            model: Arc::default(),
            sandbox: Arc::new(PlayedSandbox::new()),
            artifacts: Arc::default(),
        }
    }
}

impl Stage {
    pub async fn new() -> Self {
        Self::with_policy(LoopPolicy::default()).await
    }

    pub async fn with_policy(policy: LoopPolicy) -> Self {
        Self::with(policy, Place::default()).await
    }

    /// A stage whose programs run in the background of a sandbox that outlives their worker.
    pub async fn with_long_programs() -> Self {
        Self::with(LoopPolicy::default(), Place::LONG).await
    }

    async fn with(policy: LoopPolicy, place: Place) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("vitrine.db").display());
        let scene = Scene::set_with(url, policy, place).await;
        Self { dir: Some(dir), ..Self::open(&scene, Arc::default()).await }
    }

    /// A worker's process, which ends when its fuse blows.
    pub async fn open(scene: &Scene, fuse: Arc<Fuse>) -> Self {
        let sql = SqlStore::open(SqlOptions { url: scene.url.clone() }).await.unwrap();
        let clock: Arc<dyn Clock> = Arc::new(HastyClock(SystemClock::new()));
        let shared = Arc::new(sql.clone());
        let inner: Arc<dyn ExecutionStore> = shared.clone();
        let store = Arc::new(FailingStore::new(Arc::new(Fused { inner, fuse: fuse.clone() })));
        let access: Arc<dyn AccessStore> = shared.clone();
        let (artifacts, models, sandboxes): (Arc<dyn ArtifactStore>, Arc<dyn ModelRuntime>, Arc<dyn SandboxRuntime>) =
            (scene.artifacts.clone(), scene.model.clone(), scene.sandbox.clone());
        let bell = Arc::new(Bell::default());
        let accounts = Arc::new(CountedAccounts::new(shared.clone()));
        let (writer, log_writer) = log_writer(store.clone(), clock.clone());
        let tasks = TaskTracker::new();
        tasks.spawn(writer.run());
        let ports = Arc::new(domain::agent::Ports {
            executions: store.clone(),
            reader: shared.clone(),
            resources: shared.clone(),
            accounts: accounts.clone(),
            artifacts: Arc::new(Fused { inner: artifacts, fuse: fuse.clone() }),
            secrets: Arc::new(OpenSecrets),
            authorizer: Arc::new(Authorizer::new(Arc::new(Fused { inner: access, fuse: fuse.clone() })).unwrap()),
            models: Arc::new(Fused { inner: models, fuse: fuse.clone() }),
            sandboxes: RedactingRuntime::new(Arc::new(Fused { inner: sandboxes, fuse })),
            sandbox_records: shared.clone(),
            bus: bell.clone(),
            commands: bell.clone(),
            log_writer,
            clock: clock.clone(),
            entropy: Arc::new(OsEntropy),
            lease: LEASE,
            account_wait: ACCOUNT_WAIT,
            sandboxes_per_tenant: SANDBOXES_PER_TENANT,
        });
        Self {
            stores: stores(&shared, &clock),
            store,
            accounts,
            model: scene.model.clone(),
            sandbox: scene.sandbox.clone(),
            artifacts: scene.artifacts.clone(),
            ports,
            samples: scene.samples.clone(),
            home: scene.home.clone(),
            bell,
            cast: scene.cast.clone(),
            count: scene.count.clone(),
            tasks,
            sql,
            dir: None,
        }
    }

    /// Lets the agent ask these models in place of the played one, in this order, by a real adapter; gives their ids.
    pub async fn ask_models(&mut self, specs: Vec<ModelSpec>, limits: CallLimits) -> Vec<ResourceId> {
        let client = infra::http::client(Duration::from_secs(2)).unwrap();
        let ports = Arc::get_mut(&mut self.ports).unwrap();
        ports.models = Arc::new(OpenAiCompatible::new(client, limits));
        let (mut ids, mut pins) = (Vec::new(), Vec::new());
        for (index, spec) in specs.into_iter().enumerate() {
            let slug = format!("asked-{index}");
            let (id, model) = add(&self.stores, &self.samples, &self.home, &slug, Spec::Model(spec)).await;
            self.stores.access.grant(self.use_of(id)).await.unwrap();
            ids.push(id);
            pins.push(ModelPin { model, credential: None, price: None });
        }
        self.cast.pins.model = pins.remove(0).model;
        self.cast.pins.fallbacks = pins;
        ids
    }

    /// Lets the agent use a changed sandbox profile from here on.
    pub async fn change_profile(&mut self, change: impl FnOnce(&mut SandboxProfileSpec)) {
        let pinned = self.cast.pins.profile.unwrap();
        let changed = self.republish(pinned, |spec| {
            let Spec::SandboxProfile(spec) = spec else { panic!("it is a profile") };
            change(spec);
        });
        self.cast.pins.profile = Some(changed.await);
    }

    /// Gives the agent more tools from here on.
    pub async fn add_tools(&mut self, tools: &[&str]) {
        let changed = self.republish(self.cast.pins.agent, |spec| {
            let Spec::Agent(spec) = spec else { panic!("it is an agent") };
            spec.tools.extend(tools.iter().map(ToString::to_string));
        });
        self.cast.pins.agent = changed.await;
    }

    async fn republish(&self, pinned: VersionId, change: impl FnOnce(&mut Spec)) -> VersionId {
        let mut version = self.stores.resources.versions(self.home.scope(), &[pinned]).await.unwrap().pop().unwrap();
        change(&mut version.spec);
        let version = NewVersion {
            id: self.samples.version_id(),
            resource_id: version.resource_id,
            state: VersionState::Published,
            spec: version.spec,
            created_at: version.created_at,
        };
        self.stores.resources.add_version(self.home.scope(), &version).await.unwrap().unwrap();
        version.id
    }

    /// A credential with this secret, which the agent may use.
    pub async fn add_credential(&self, slug: &str, secret: &str) -> ResourceId {
        let spec = Spec::Credential(CredentialSpec { sealed: SealedSecret(secret.to_owned()) });
        let (id, _) = add(&self.stores, &self.samples, &self.home, slug, spec).await;
        self.stores.access.grant(self.use_of(id)).await.unwrap();
        id
    }

    /// Sandboxes that a tenant may have at one time.
    pub fn allow_sandboxes(&mut self, count: u32) {
        Arc::get_mut(&mut self.ports).unwrap().sandboxes_per_tenant = count;
    }

    /// What lets the agent use a resource.
    pub fn use_of(&self, resource_id: ResourceId) -> Grant {
        Grant { tenant_id: self.home.tenant.id, principal_id: self.cast.identity, action: Action::Use, resource_id }
    }

    /// An execution that is about to be started, and whose model says this.
    pub fn new_execution(&self, turns: Vec<Turn>, limits: Limits, deadline: Option<Duration>) -> NewExecution {
        let now = self.ports.clock.now();
        let id = self.samples.execution_id();
        let execution = Execution {
            id,
            tenant_id: self.home.tenant.id,
            project_id: self.home.project.id,
            agent_id: self.cast.agent,
            service_identity: self.cast.identity,
            started_by: self.home.owner,
            pins: self.cast.pins.clone(),
            task: "Play.".to_owned(),
            limits,
            limit_sources: LimitSources::default(),
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

    /// The agent may not use its model any more.
    pub async fn revoke_model(&self) {
        self.revoke(self.cast.model).await;
    }

    /// The agent may not use its sandbox profile any more.
    pub async fn revoke_sandbox(&self) {
        self.revoke(self.cast.profile).await;
    }

    /// The agent may not use this any more.
    pub async fn revoke(&self, resource_id: ResourceId) {
        let (tenant_id, principal_id) = (self.home.tenant.id, self.cast.identity);
        let grant = Grant { tenant_id, principal_id, action: Action::Use, resource_id };
        assert!(self.stores.access.revoke(grant).await.unwrap(), "there was no grant");
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

    /// Gives the tool calls of an execution this class, as their tools would have declared it.
    pub async fn declare(&self, execution: ExecutionRef, class: SideEffect) {
        let name = serde_json::to_value(class).unwrap().as_str().unwrap().to_owned();
        let sql = "UPDATE tool_call SET side_effect = ? WHERE execution_id = ?";
        let values = [name.into(), execution.id.to_string().into()];
        let connection = self.sql.connection();
        let statement = Statement::from_sql_and_values(connection.get_database_backend(), sql, values);
        assert!(connection.execute_raw(statement).await.unwrap().rows_affected() > 0, "it has no tool call");
    }

    /// This much time passes for the sandboxes of an execution.
    pub async fn age_sandboxes(&self, execution: ExecutionRef, by: Duration) {
        let sql = "UPDATE sandbox SET created_at = created_at - ?, expires_at = expires_at - ? WHERE execution_id = ?";
        let by = i64::try_from(by.as_micros()).unwrap();
        let connection = self.sql.connection();
        let values = [by.into(), by.into(), execution.id.to_string().into()];
        let statement = Statement::from_sql_and_values(connection.get_database_backend(), sql, values);
        assert!(connection.execute_raw(statement).await.unwrap().rows_affected() > 0, "it has no sandbox");
    }

    /// One of the execution's commands was started, and its id was never stored.
    pub async fn forget_a_command(&self, execution: ExecutionRef) {
        let sql = "UPDATE tool_call SET command_id = NULL WHERE execution_id = ? AND ordinal = 0";
        let connection = self.sql.connection();
        let values = [execution.id.to_string().into()];
        let statement = Statement::from_sql_and_values(connection.get_database_backend(), sql, values);
        assert_eq!(connection.execute_raw(statement).await.unwrap().rows_affected(), 1);
    }

    /// Wakes the heartbeats.
    pub fn ring(&self, execution: ExecutionRef) {
        self.bell.command_arrived(execution);
    }

    pub async fn execution(&self, execution: ExecutionRef) -> Execution {
        self.stores.reader.executions(execution.scope(), &[execution.id]).await.unwrap().pop().unwrap()
    }

    pub async fn close(self) {
        let Self { store, ports, tasks, sql, dir, .. } = self;
        drop((store, ports));
        tasks.close();
        tasks.wait().await;
        sql.close().await;
        drop(dir);
    }
}

/// Waits until something is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited, but not: {what}");
}

fn stores(shared: &Arc<SqlStore>, clock: &Arc<dyn Clock>) -> Stores {
    Stores {
        executions: shared.clone(),
        reader: shared.clone(),
        log: shared.clone(),
        resources: shared.clone(),
        access: shared.clone(),
        identity: shared.clone(),
        accounts: shared.clone(),
        prices: shared.clone(),
        costs: shared.clone(),
        audit: shared.clone(),
        clock: clock.clone(),
    }
}
