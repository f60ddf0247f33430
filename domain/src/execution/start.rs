//! Starts an execution: checks what was asked, pins versions, stores it as queued with its key and its first event.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::model::{Execution, ExecutionRef, NewExecution, Progress, StartOutcome};
use super::pins::{ModelPin, Pins};
use super::ports::{ExecutionReader, ExecutionStore};
use crate::access::{AccessStore, Action, Authorizer, Target, may};
use crate::artifact::{Artifact, ArtifactKind, ArtifactStore, sha256_hex};
use crate::budget::{LimitOutcomes, LimitSource, LimitSources, Limits, effective};
use crate::clock::Timestamp;
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};
use crate::event::{Event, EventBus, encode_segment};
use crate::ids::{ArtifactId, ExecutionId, PrincipalId, ResourceId, VersionId};
use crate::price_table::{ModelName, PriceStore};
use crate::resource::{
    AgentSpec, ModelSpec, PriceVersion, Resource, ResourceKind, ResourceStore, ResourceVersion, Spec, VersionState,
};

/// The task may have this many bytes.
const MAX_TASK_BYTES: usize = 64 * 1024;
/// All files of a start call together may have this many bytes.
const MAX_FILE_BYTES: usize = 512 * 1024;
const MAX_FILES: usize = 32;
const MAX_KEY_BYTES: usize = 128;
const KEY_LIFETIME: Duration = Duration::from_hours(24);

/// Limits that hold where neither the agent nor the start call sets one, so that nothing runs for ever.
const DEFAULT_LIMITS: Limits = Limits {
    max_iterations: Some(100),
    max_model_calls: Some(1_000),
    max_tool_calls: Some(1_000),
    max_tokens: None,
    max_cost: None,
    max_active_time_ms: Some(3_600_000),
    max_errors_per_tool: None,
    on_limit: LimitOutcomes::NONE,
};

/// What starting needs.
pub struct StartPorts {
    /// Where it is stored.
    pub executions: Arc<dyn ExecutionStore>,
    /// Where a replayed one is read.
    pub reader: Arc<dyn ExecutionReader>,
    /// Agents and what they use.
    pub resources: Arc<dyn ResourceStore>,
    /// Service identities.
    pub access: Arc<dyn AccessStore>,
    /// May the caller start it.
    pub authorizer: Arc<Authorizer>,
    /// Input files.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Prices of models that carry none.
    pub prices: Arc<dyn PriceStore>,
    /// Wakes the workers.
    pub bus: Arc<dyn EventBus>,
}

/// Which agent is to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChoice {
    /// The newest published version of this agent.
    Latest(ResourceId),
    /// Exactly this version.
    Version(VersionId),
}

/// What the caller asked for.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The agent.
    pub agent: AgentChoice,
    /// What it is to do.
    pub task: String,
    /// Input files: name and content.
    pub files: Vec<(String, Bytes)>,
    /// Limits beside those of the agent; the tighter one holds.
    pub limits: Limits,
    /// When it must have ended.
    pub deadline_at: Option<Timestamp>,
    /// The same key with the same request starts once.
    pub idempotency_key: String,
}

/// A started execution.
#[derive(Debug, Clone)]
pub struct Started {
    /// The execution, as it is stored.
    pub execution: Execution,
    /// Whether the key was used before and this is its execution.
    pub is_replayed: bool,
}

/// Why an execution was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Fields of the request break rules; all are named.
    #[error("the request is not valid")]
    Invalid(Vec<InvalidInput>),
    /// There is no such agent or version for this caller.
    #[error("there is no such agent")]
    AgentNotFound,
    /// The caller may see the agent and not start executions.
    #[error("starting executions needs the role operator in the project")]
    Denied,
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Starts an execution, or returns the one that the same key started before.
pub async fn start(op: &OpContext, ports: &StartPorts, request: StartRequest) -> Result<Started, StartError> {
    if let Some(execution) = started_before(op, ports, &request).await? {
        return Ok(Started { execution, is_replayed: true });
    }
    validate(op, &request)?;
    let plan = Plan::make(op, ports, &request).await?;
    let new = assemble(op, ports, &request, plan).await?;
    let execution = new.execution.clone();
    match ports.executions.start(&new).await? {
        StartOutcome::Started => {
            ports.bus.committed(execution.reference(), &new.segment);
            Ok(Started { execution, is_replayed: false })
        }
        StartOutcome::Replayed(id) => {
            let found = ports.reader.executions(op.scope(), &[id]).await?.pop();
            let missing = || StoreError::Corrupt { what: "idempotency.response".to_owned() };
            Ok(Started { execution: found.ok_or_else(missing)?, is_replayed: true })
        }
        StartOutcome::KeyReused => Err(StartError::KeyReused),
    }
}

/// What this request started before. It comes ahead of every rule: the deadline of a late retry may have passed, its
/// agent may be archived, and it is answered all the same.
async fn started_before(
    op: &OpContext,
    ports: &StartPorts,
    request: &StartRequest,
) -> Result<Option<Execution>, StartError> {
    let (key, hash) = (&request.idempotency_key, request_hash(request));
    let Some(execution) = ports.reader.started_before(op.scope(), key, &hash, op.clock.now()).await? else {
        return Ok(None);
    };
    let target = Target { tenant_id: execution.tenant_id, project_id: execution.project_id, resource_id: None };
    permit(ports, op, Action::View, &target, StartError::AgentNotFound).await?;
    permit(ports, op, Action::Execute, &target, StartError::Denied).await?;
    Ok(Some(execution))
}

fn validate(op: &OpContext, request: &StartRequest) -> Result<(), StartError> {
    let mut faults = request.limits.validate(&["limits"]);
    if request.task.trim().is_empty() || request.task.len() > MAX_TASK_BYTES {
        faults.push(InvalidInput::new(["task"], "OUT_OF_RANGE", "must be 1 byte to 64 KiB of text"));
    }
    if request.idempotency_key.is_empty() || request.idempotency_key.len() > MAX_KEY_BYTES {
        let rule = "must be 1 to 128 bytes; use a fresh UUID for each start, the same one for its retries";
        faults.push(InvalidInput::new(["idempotencyKey"], "OUT_OF_RANGE", rule));
    }
    if request.deadline_at.is_some_and(|deadline| deadline <= op.clock.now()) {
        faults.push(InvalidInput::new(["deadlineAt"], "OUT_OF_RANGE", "must be in the future"));
    }
    faults.extend(validate_files(&request.files));
    if faults.is_empty() { Ok(()) } else { Err(StartError::Invalid(faults)) }
}

fn validate_files(files: &[(String, Bytes)]) -> Vec<InvalidInput> {
    let mut faults = Vec::new();
    if files.len() > MAX_FILES {
        faults.push(InvalidInput::new(["files"], "TOO_MANY", format!("must be at most {MAX_FILES} files")));
    }
    if files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > MAX_FILE_BYTES {
        faults.push(InvalidInput::new(["files"], "TOO_LARGE", "must be at most 512 KiB together"));
    }
    for (index, (name, _)) in files.iter().enumerate() {
        let place = index.to_string();
        if !is_plain_file_name(name) {
            let rule = "must be a file name of 1 to 255 bytes without slash, control character, . or ..";
            faults.push(InvalidInput::new(["files", &place, "name"], "INVALID_PATH", rule));
        } else if files[..index].iter().any(|(earlier, _)| earlier == name) {
            faults.push(InvalidInput::new(["files", &place, "name"], "DUPLICATE", "stands twice; rename one"));
        }
    }
    faults
}

fn is_plain_file_name(name: &str) -> bool {
    let is_clean = !name.contains('/') && !name.chars().any(char::is_control);
    (1..=255).contains(&name.len()) && is_clean && name != "." && name != ".."
}

/// What will run, and under which limits.
struct Plan {
    agent: Resource,
    pins: Pins,
    limits: Limits,
    limit_sources: LimitSources,
    service_identity: PrincipalId,
    is_scripted: bool,
}

impl Plan {
    async fn make(op: &OpContext, ports: &StartPorts, request: &StartRequest) -> Result<Self, StartError> {
        let (agent, version, spec) = chosen_agent(op, ports, request.agent).await?;
        let models = latest_models(op, ports, &agent, &spec).await?;
        let (profile, connection) = match spec.sandbox_profile_id {
            Some(profile) => sandbox(op, ports, profile).await?,
            None => (None, None),
        };
        let connection_credential = match connection.as_ref().map(|version| &version.spec) {
            Some(Spec::SandboxConnection(spec)) => spec.credential_id,
            Some(_) | None => None,
        };
        let set = [(LimitSource::Agent, spec.limits), (LimitSource::Start, request.limits)];
        let (limits, limit_sources) = effective(&set, DEFAULT_LIMITS);
        // What a limit does is the caller's choice before the agent's.
        let limits = Limits { on_limit: request.limits.on_limit.or(spec.limits.on_limit), ..limits };
        let unpriced = |(model, pin): &&(ModelSpec, ModelPin)| model.price.is_none() && pin.price.is_none();
        if let Some((model, _)) = models.iter().find(|found| limits.max_cost.is_some() && unpriced(found)) {
            let rule = "a cost limit needs models with prices: import a price that is in force for it, publish a \
                        version of it with a price, or set a token limit";
            let message = format!("{} has no price; {rule}", model.alias);
            return Err(invalid(["limits", "maxCostUsd"], "PRICE_UNKNOWN", message));
        }
        let is_scripted = models.iter().any(|(model, _)| model.is_scripted());
        let mut pins = models.into_iter().map(|(_, pin)| pin);
        let model = pins.next().ok_or(StartError::AgentNotFound)?;
        let identity = ports.access.service_identity(op.scope(), agent.id).await?.ok_or(StartError::AgentNotFound)?;
        Ok(Self {
            pins: Pins {
                agent: version.id,
                model: model.model,
                model_credential: model.credential,
                fallbacks: pins.collect(),
                profile: profile.map(|version| version.id),
                connection: connection.map(|version| version.id),
                connection_credential: latest_id(op, ports, connection_credential).await?,
                price: model.price,
            },
            limits,
            limit_sources,
            service_identity: identity.principal_id,
            is_scripted,
            agent,
        })
    }
}

/// The price from the project's table, for a model that carries none of its own.
async fn price_in_force(
    op: &OpContext,
    ports: &StartPorts,
    agent: &Resource,
    model: &ModelSpec,
) -> Result<Option<PriceVersion>, StoreError> {
    if model.price.is_some() {
        return Ok(None);
    }
    let name = ModelName { provider: model.provider.clone(), deployment: model.deployment.clone() };
    let price = ports.prices.price_in_force(op.scope(), agent.project_id, &name, op.clock.now()).await?;
    Ok(price.map(|price| price.version))
}

async fn chosen_agent(
    op: &OpContext,
    ports: &StartPorts,
    choice: AgentChoice,
) -> Result<(Resource, ResourceVersion, AgentSpec), StartError> {
    let scope = op.scope();
    let version = match choice {
        AgentChoice::Latest(agent) => ports.resources.latest_published(scope, &[agent]).await?.pop(),
        AgentChoice::Version(version) => ports.resources.versions(scope, &[version]).await?.pop(),
    };
    let agent_id = match (choice, &version) {
        (AgentChoice::Latest(agent), _) => agent,
        (AgentChoice::Version(_), Some(version)) => version.resource_id,
        (AgentChoice::Version(_), None) => return Err(StartError::AgentNotFound),
    };
    let agent = ports.resources.resources(scope, &[agent_id]).await?.pop();
    let agent = agent.filter(|agent| agent.kind == ResourceKind::Agent).ok_or(StartError::AgentNotFound)?;
    let target = Target { tenant_id: agent.tenant_id, project_id: agent.project_id, resource_id: None };
    permit(ports, op, Action::View, &target, StartError::AgentNotFound).await?;
    permit(ports, op, Action::Execute, &target, StartError::Denied).await?;
    let field = match choice {
        AgentChoice::Latest(_) => "agentId",
        AgentChoice::Version(_) => "agentVersionId",
    };
    if agent.archived_at.is_some() {
        return Err(invalid([field], "ARCHIVED", "names an archived agent; choose another one"));
    }
    match version {
        Some(version) if version.state == VersionState::Published => match version.spec.clone() {
            Spec::Agent(spec) => Ok((agent, version, spec)),
            Spec::Model(_) | Spec::Credential(_) | Spec::SandboxConnection(_) | Spec::SandboxProfile(_) => {
                Err(StartError::AgentNotFound)
            }
        },
        Some(_) | None => Err(invalid([field], "NOT_PUBLISHED", "has no published version; publish one first")),
    }
}

async fn permit(
    ports: &StartPorts,
    op: &OpContext,
    action: Action,
    target: &Target,
    denied: StartError,
) -> Result<(), StartError> {
    if may(op, &ports.authorizer, action, target).await? { Ok(()) } else { Err(denied) }
}

/// The agent's model and its fallbacks, in order.
async fn latest_models(
    op: &OpContext,
    ports: &StartPorts,
    agent: &Resource,
    spec: &AgentSpec,
) -> Result<Vec<(ModelSpec, ModelPin)>, StartError> {
    let mut models = Vec::new();
    for model in spec.models() {
        let version = usable(op, ports, model, "model").await?;
        let Spec::Model(spec) = version.spec else {
            return Err(invalid(["agentId"], "NOT_PUBLISHED", "names a model that is none"));
        };
        let credential = latest_id(op, ports, spec.credential_id).await?;
        let price = price_in_force(op, ports, agent, &spec).await?;
        models.push((spec, ModelPin { model: version.id, credential, price }));
    }
    Ok(models)
}

async fn sandbox(
    op: &OpContext,
    ports: &StartPorts,
    profile: ResourceId,
) -> Result<(Option<ResourceVersion>, Option<ResourceVersion>), StartError> {
    let profile = usable(op, ports, profile, "sandbox profile").await?;
    let connection = match &profile.spec {
        Spec::SandboxProfile(spec) => Some(usable(op, ports, spec.connection_id, "sandbox connection").await?),
        Spec::Model(_) | Spec::Credential(_) | Spec::SandboxConnection(_) | Spec::Agent(_) => None,
    };
    Ok((Some(profile), connection))
}

/// The newest published version of something that the agent needs, which must not be archived.
async fn usable(
    op: &OpContext,
    ports: &StartPorts,
    resource: ResourceId,
    noun: &str,
) -> Result<ResourceVersion, StartError> {
    let head = ports.resources.resources(op.scope(), &[resource]).await?.pop();
    if head.is_none_or(|head| head.archived_at.is_some()) {
        return Err(invalid(["agentId"], "ARCHIVED", format!("uses a {noun} that is archived")));
    }
    let version = ports.resources.latest_published(op.scope(), &[resource]).await?.pop();
    version.ok_or_else(|| invalid(["agentId"], "NOT_PUBLISHED", format!("uses a {noun} without a published version")))
}

async fn latest_id(
    op: &OpContext,
    ports: &StartPorts,
    resource: Option<ResourceId>,
) -> Result<Option<VersionId>, StartError> {
    match resource {
        Some(resource) => Ok(Some(usable(op, ports, resource, "credential").await?.id)),
        None => Ok(None),
    }
}

fn invalid<const N: usize>(path: [&str; N], code: &'static str, message: impl Into<String>) -> StartError {
    StartError::Invalid(vec![InvalidInput::new(path, code, message)])
}

async fn assemble(
    op: &OpContext,
    ports: &StartPorts,
    request: &StartRequest,
    plan: Plan,
) -> Result<NewExecution, StartError> {
    let now = op.clock.now();
    let id = ExecutionId::generate(&*op.clock, &*op.entropy);
    let reference = ExecutionRef { tenant_id: op.principal.tenant_id, id };
    let inputs = store_inputs(op, ports, reference, &request.files).await?;
    let queued = vec![(now, Event::ExecutionQueued { task: request.task.clone() })];
    let no_event = || StoreError::Corrupt { what: "the first segment is empty".to_owned() };
    let segment = encode_segment(1, queued).ok_or_else(no_event)?;
    Ok(NewExecution {
        execution: Execution {
            id,
            tenant_id: reference.tenant_id,
            project_id: plan.agent.project_id,
            agent_id: plan.agent.id,
            service_identity: plan.service_identity,
            started_by: op.principal.id,
            pins: plan.pins,
            task: request.task.clone(),
            limits: plan.limits,
            limit_sources: plan.limit_sources,
            deadline_at: request.deadline_at,
            is_scripted: plan.is_scripted,
            created_at: now,
            progress: Progress::queued(),
            epoch: 0,
            next_sequence: segment.last_sequence + 1,
        },
        inputs,
        segment,
        idempotency_key: request.idempotency_key.clone(),
        request_hash: request_hash(request),
        key_expires_at: now.plus(KEY_LIFETIME),
    })
}

async fn store_inputs(
    op: &OpContext,
    ports: &StartPorts,
    execution: ExecutionRef,
    files: &[(String, Bytes)],
) -> Result<Vec<Artifact>, StoreError> {
    let mut inputs = Vec::with_capacity(files.len());
    for (name, bytes) in files {
        inputs.push(Artifact {
            id: ArtifactId::generate(&*op.clock, &*op.entropy),
            execution_id: execution.id,
            kind: ArtifactKind::Input,
            name: name.clone(),
            media_type: crate::artifact::media_type(name).to_owned(),
            byte_size: bytes.len() as u64,
            sha256: ports.artifacts.put(op.scope(), bytes.clone()).await?,
            tool_call_id: None,
            created_at: op.clock.now(),
        });
    }
    Ok(inputs)
}

/// What makes two requests the same: everything but the key.
fn request_hash(request: &StartRequest) -> String {
    let files: Vec<_> = request.files.iter().map(|(name, bytes)| json!([name, sha256_hex(bytes)])).collect();
    let agent = match request.agent {
        AgentChoice::Latest(agent) => agent.to_string(),
        AgentChoice::Version(version) => version.to_string(),
    };
    let whole = json!([agent, request.task, files, request.limits, request.deadline_at]);
    sha256_hex(whole.to_string().as_bytes())
}
