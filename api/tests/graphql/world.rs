//! A world of two tenants, with a project and an owner each, and what the tests need to act in it.

use std::sync::Arc;
use std::time::Duration;

use api::graphql::{ApiSchema, ArtifactLinks, Caller, Services, attach, build_schema};
use api::live::Live;
use async_graphql::{Data, Request, Response, Variables};
use async_trait::async_trait;
use domain::access::{Authorizer, Project, Tenant};
use domain::artifact::Artifact;
use domain::clock::Timestamp;
use domain::ctx::Principal;
use domain::event::{Event, EventBus, Segment, encode_segment};
use domain::execution::{
    Commit, Execution, ExecutionRef, ExecutionStatus, ExecutionStore, Fence, Progress, StopCode, StopReason,
};
use domain::ids::{PrincipalId, ProjectId, TenantId};
use domain::sandbox::RedactingRuntime;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use infra::artifact_dir::DirArtifactStore;
use infra::clock::{OsEntropy, SystemClock};
use infra::secret::KeyFileSecretStore;
use infra::sql::{SqlOptions, SqlStore};
use sandbox::manager::{LocalTier, SandboxManager};
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use url::Url;

/// A text that must never come back.
pub const SECRET: &str = "hunter2-is-no-good-secret";

pub struct World {
    pub schema: ApiSchema,
    pub services: Services,
    pub store: Arc<SqlStore>,
    pub live: Arc<Live>,
    pub owner: Principal,
    pub project: ProjectId,
    pub stranger: Principal,
    _directory: TempDir,
}

struct TestLinks;

/// No sandbox runtime.
struct NoTier;

#[async_trait]
impl LocalTier for NoTier {
    async fn connection(&self) -> Result<(Url, SecretString), String> {
        Err("there is none".to_owned())
    }

    fn refusal(&self, _: TenantId) -> Option<String> {
        None
    }
}

impl ArtifactLinks for TestLinks {
    fn link(
        &self,
        _tenant: TenantId,
        artifact: &Artifact,
        expires_at: Timestamp,
    ) -> Result<String, domain::resource::SecretError> {
        Ok(format!("/artifacts/{}?until={}", artifact.id, expires_at.as_micros()))
    }
}

/// Ids of one of everything, as GraphQL gave them.
#[derive(Clone)]
pub struct Things {
    pub project: String,
    pub credential: String,
    pub model: String,
    pub connection: String,
    pub profile: String,
    pub agent: String,
    pub version: String,
    pub execution: String,
    pub key: String,
    pub account: String,
}

/// A price file of one line.
pub const PRICES: &str = r#"{"prices": [{"provider": "openai", "deployment": "unpriced", "currency": "USD",
    "validFrom": "2020-01-01T00:00:00Z", "perMillion": {"input": "0.25", "output": 2.5}}]}"#;

impl World {
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", directory.path().join("vitrine.db").display());
        let store = Arc::new(SqlStore::open(SqlOptions { url }).await.unwrap());
        migrations::up(store.connection()).await.unwrap();
        let live = Live::new(store.clone());
        let services = Services {
            resources: store.clone(),
            accounts: store.clone(),
            executions: store.clone(),
            execution_store: store.clone(),
            retention: store.clone(),
            events: live.clone(),
            follow: live.clone(),
            access: store.clone(),
            identity: store.clone(),
            audit: store.clone(),
            artifacts: Arc::new(DirArtifactStore::open(&directory.path().join("artifacts")).unwrap()),
            prices: store.clone(),
            costs: store.clone(),
            secrets: Arc::new(KeyFileSecretStore::open(&directory.path().join("secret.key")).unwrap()),
            authorizer: Arc::new(Authorizer::new(store.clone()).unwrap()),
            bus: live.clone(),
            sandboxes: RedactingRuntime::new(Arc::new(SandboxManager::new(Arc::new(NoTier)))),
            links: Arc::new(TestLinks),
            clock: Arc::new(SystemClock::new()),
            entropy: Arc::new(OsEntropy),
            tasks: TaskTracker::new(),
        };
        let (owner, project) = tenant(&services, "acme").await;
        let (stranger, _) = tenant(&services, "rival").await;
        let schema = build_schema(services.clone());
        Self { schema, services, store, live, owner, project, stranger, _directory: directory }
    }

    /// Runs an operation and returns the whole response as JSON.
    pub async fn run(&self, caller: Option<Principal>, document: &str, variables: Value) -> Value {
        serde_json::to_value(self.response(caller, document, variables).await).unwrap()
    }

    pub async fn response(&self, caller: Option<Principal>, document: &str, variables: Value) -> Response {
        self.schema.execute(self.request(caller, document, variables)).await
    }

    /// Runs an operation that must succeed and returns its data.
    pub async fn data(&self, document: &str, variables: Value) -> Value {
        let response = self.run(Some(self.owner), document, variables).await;
        assert!(response.get("errors").is_none(), "{response}");
        response["data"].clone()
    }

    /// Runs one mutation as the owner, with an input, and returns its payload.
    pub async fn mutate(&self, field: &str, input: &Value, selection: &str) -> Value {
        let kind = format!("{}{}Input", field[..1].to_uppercase(), &field[1..]);
        let kind = kind.replace("GrantCreateInput", "GrantInput").replace("GrantRevokeInput", "GrantInput");
        let document = format!(
            "mutation($input: {kind}!) {{ {field}(input: $input) {{ {selection} userErrors {{ code message path }} }} }}"
        );
        self.data(&document, json!({"input": input})).await[field].clone()
    }

    pub fn subscribe(
        &self,
        caller: Option<Principal>,
        document: &str,
        variables: Value,
    ) -> BoxStream<'static, Response> {
        self.schema.execute_stream(self.request(caller, document, variables)).boxed()
    }

    fn request(&self, caller: Option<Principal>, document: &str, variables: Value) -> Request {
        let mut request = Request::new(document).variables(Variables::from_json(variables));
        let mut data = Data::default();
        attach(&mut data, &self.services, Caller(caller));
        request.data = data;
        request
    }

    /// One of everything, made through the API, with a queued execution.
    pub async fn things(&self) -> Things {
        let project = self.project.to_string();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let head = |slug: &str, spec: Value| json!({"projectId": project, "slug": slug, "name": format!("Acme {slug}"), "spec": spec, "publish": true});
        let input = json!({"projectId": project, "slug": "key", "name": "Acme key", "secret": SECRET});
        let credential = text(&self.made("credentialCreate", input, "credential").await["credential"]["id"]);
        let spec = json!({
            "protocol": "OPENAI_COMPATIBLE", "provider": "openai", "deployment": "m-1", "alias": "m",
            "baseUrl": "https://models.example/v1", "credentialId": credential, "contextWindow": 8000,
            "maxOutputTokens": 1000, "price": {"inputPerMillionUsd": "0.25", "outputPerMillionUsd": "2"},
        });
        let model = text(&self.made("modelCreate", head("model", spec), "model").await["model"]["id"]);
        let connection = self
            .made("sandboxConnectionCreate", head("local", json!({"baseUrl": "local:"})), "sandboxConnection")
            .await;
        let connection = text(&connection["sandboxConnection"]["id"]);
        let spec = json!({
            "connectionId": connection, "image": "vitrine/code", "memoryBytes": "268435456", "diskBytes": 67108864,
        });
        let profile = self.made("sandboxProfileCreate", head("code", spec), "sandboxProfile").await;
        let profile = text(&profile["sandboxProfile"]["id"]);
        let spec = json!({
            "instructions": "Audit.", "modelId": model, "sandboxProfileId": profile, "tools": ["run_python"],
            "limits": {"maxTokens": "9007199254740993", "maxCostUsd": "0.05"},
        });
        let agent = self.made("agentCreate", head("auditor", spec), "agent").await;
        let input = json!({"projectId": project, "name": "Acme robot", "role": "OPERATOR"});
        let key = text(&self.made("apiKeyCreate", input, "apiKey").await["apiKey"]["id"]);
        let (agent, version) = (text(&agent["agent"]["id"]), text(&agent["version"]["id"]));
        let execution = self.start(&agent, "first").await;
        let input = json!({"projectId": project, "period": "MONTH", "maxCostUsd": "100", "reason": "Acme month"});
        let account = self.mutate("budgetAccountSet", &input, "budgetAccount { id }").await;
        let account = text(&account["budgetAccount"]["id"]);
        let input = json!({"projectId": project, "table": PRICES});
        assert_eq!(self.mutate("priceTableImport", &input, "added").await["added"], 1);
        Things { project, credential, model, connection, profile, agent, version, execution, key, account }
    }

    async fn made(&self, field: &str, input: Value, head: &str) -> Value {
        let version = if field == "apiKeyCreate" { "" } else { "version { id }" };
        let payload = self.mutate(field, &input, &format!("{head} {{ id }} {version}")).await;
        assert_eq!(payload["userErrors"], json!([]), "{field}");
        payload
    }

    /// Starts an execution of an agent.
    pub async fn start(&self, agent: &str, key: &str) -> String {
        let input = json!({"agentId": agent, "task": "Acme task", "idempotencyKey": key});
        let payload = self.mutate("executionStart", &input, "execution { id }").await;
        assert_eq!(payload["userErrors"], json!([]));
        payload["execution"]["id"].as_str().unwrap().to_owned()
    }

    /// Claims an execution, as a worker does.
    pub async fn claim(&self, id: &str) -> Worker<'_> {
        let execution = ExecutionRef { tenant_id: self.owner.tenant_id, id: id.parse().unwrap() };
        let claimed = self.store.claim(execution, "worker", Duration::from_secs(60)).await.unwrap().unwrap();
        Worker { world: self, execution: claimed.execution }
    }
}

/// The lease holder of an execution.
pub struct Worker<'w> {
    world: &'w World,
    pub execution: Execution,
}

impl Worker<'_> {
    /// Commits events as one segment.
    pub async fn write(&mut self, events: Vec<Event>) {
        let now = self.world.services.clock.now();
        let events = events.into_iter().map(|event| (now, event)).collect();
        let segment = encode_segment(self.execution.next_sequence, events).unwrap();
        self.commit(segment, ExecutionStatus::Running).await;
    }

    /// Commits the terminal event.
    pub async fn finish(&mut self) {
        let budget = self.execution.budget();
        let stop_reason = reason();
        let (status, answer) = (ExecutionStatus::Succeeded, Some("42".to_owned()));
        let event = Event::ExecutionFinished { status, stop_reason, answer, error_item: None, budget };
        let segment = encode_segment(self.execution.next_sequence, vec![(self.world.services.clock.now(), event)]);
        self.commit(segment.unwrap(), ExecutionStatus::Succeeded).await;
    }

    /// Commits a segment as it is.
    pub async fn commit(&mut self, segment: Segment, status: ExecutionStatus) {
        let reference = self.execution.reference();
        let fence =
            Fence { execution: reference, epoch: self.execution.epoch, next_sequence: self.execution.next_sequence };
        let is_over = status.is_terminal();
        let progress = Progress {
            status,
            stop_reason: is_over.then(reason),
            answer: is_over.then(|| "42".to_owned()),
            ended_at: is_over.then(|| self.world.services.clock.now()),
            releases_lease: is_over,
            ..self.execution.progress.clone()
        };
        self.execution.next_sequence = segment.last_sequence + 1;
        let commit = Commit { fence, progress: Some(progress), changes: Vec::new(), segment: Some(segment.clone()) };
        self.world.store.commit(&commit).await.unwrap();
        self.world.live.committed(reference, &segment);
    }
}

fn reason() -> StopReason {
    StopReason {
        code: StopCode::FinalAnswer,
        message: "It answered.".to_owned(),
        limit: None,
        iteration: Some(1),
        step: None,
    }
}

async fn tenant(services: &Services, slug: &str) -> (Principal, ProjectId) {
    let (clock, entropy) = (services.clock.as_ref(), services.entropy.as_ref());
    let tenant = Tenant { id: TenantId::generate(clock, entropy), name: slug.to_owned() };
    let project = Project {
        id: ProjectId::generate(clock, entropy),
        tenant_id: tenant.id,
        slug: slug.to_owned(),
        name: slug.to_owned(),
        created_at: clock.now(),
    };
    let owner = PrincipalId::generate(clock, entropy);
    services.identity.create_tenant(&tenant, &project, owner, "Owner").await.unwrap();
    (Principal { id: owner, tenant_id: tenant.id, project_id: None }, project.id)
}

/// The codes of user errors with their paths.
pub fn faults(payload: &Value) -> Vec<(String, String)> {
    let errors = payload["userErrors"].as_array().unwrap().iter();
    let path = |error: &Value| {
        let parts = error["path"].as_array().unwrap().iter().map(|part| part.as_str().unwrap());
        parts.collect::<Vec<_>>().join(".")
    };
    errors.map(|error| (path(error), error["code"].as_str().unwrap().to_owned())).collect()
}

/// The code of the first error.
pub fn code(response: &Value) -> Option<&str> {
    response["errors"][0]["extensions"]["code"].as_str()
}
