//! The Cast is the agent of a stage and what it uses, each with one published version.

use domain::access::{Action, Grant, ServiceIdentity};
use domain::budget::{Limits, WarningLevels};
use domain::clock::Timestamp;
use domain::execution::Pins;
use domain::ids::{PrincipalId, ResourceId, VersionId};
use domain::money::{NanoUsd, Price};
use domain::resource::{
    AgentSpec, LoopPolicy, ModelProtocol, ModelSpec, NewVersion, PriceVersion, Resource, SandboxConnectionSpec,
    SandboxProfileSpec, SandboxRoute, SandboxTier, SecureRuntime, Spec, VersionState,
};
use domain::testing::{Home, Ports as Stores, Samples, plain_profile};

/// One dollar a million tokens in, two out.
pub const PRICE: Price = Price {
    input_per_million: NanoUsd(1_000_000_000),
    cached_input_per_million: NanoUsd(1_000_000_000),
    output_per_million: NanoUsd(2_000_000_000),
    reasoning_per_million: None,
};

/// Tokens that the first call of an execution reserves for what it sends beside its messages: one for each byte.
pub fn reserved_for_tools() -> u64 {
    let tools = TOOLS.map(str::to_owned);
    serde_json::to_string(&domain::tool_call::plan::definitions(&tools)).unwrap().len() as u64
}

/// The tools of the agent.
const TOOLS: [&str; 3] = ["note", "run_shell", "write_file"];

/// Who plays.
#[derive(Clone)]
pub struct Cast {
    pub agent: ResourceId,
    pub model: ResourceId,
    pub profile: ResourceId,
    pub identity: PrincipalId,
    pub pins: Pins,
}

/// Where programs run, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    tier: SandboxTier,
    command_timeout_ms: u32,
}

impl Place {
    /// In the background, on a server that outlives the worker.
    pub const LONG: Self = Self { tier: SandboxTier::Remote, command_timeout_ms: 600_000 };
}

impl Default for Place {
    fn default() -> Self {
        Self { tier: SandboxTier::Local, command_timeout_ms: 10_000 }
    }
}

pub async fn cast(stores: &Stores, samples: &Samples, home: &Home, policy: LoopPolicy, place: Place) -> Cast {
    let (model, model_version) = add(stores, samples, home, "model", Spec::Model(model_spec(samples))).await;
    let connection = SandboxConnectionSpec {
        tier: place.tier,
        base_url: String::new(),
        credential_id: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
        endpoint_ports: Vec::new(),
        endpoint_paths: Vec::new(),
        route: SandboxRoute::Direct,
        secure_access: false,
        secure_runtime: SecureRuntime::Runc,
        egress: None,
    };
    let (connection, connection_version) =
        add(stores, samples, home, "here", Spec::SandboxConnection(connection)).await;
    let profile = Spec::SandboxProfile(profile_spec(connection, place));
    let (profile, profile_version) = add(stores, samples, home, "small", profile).await;
    let agent = AgentSpec {
        instructions: "Play.".to_owned(),
        model_id: model,
        fallback_model_ids: Vec::new(),
        sandbox_profile_id: Some(profile),
        tools: TOOLS.map(str::to_owned).to_vec(),
        limits: Limits::default(),
        loop_policy: policy,
        warning_levels: WarningLevels::default(),
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
        fallbacks: Vec::new(),
        profile: Some(profile_version),
        connection: Some(connection_version),
        connection_credential: None,
        price: None,
    };
    Cast { agent, model, profile, identity, pins }
}

pub fn model_spec(samples: &Samples) -> ModelSpec {
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
        max_retries: ModelSpec::default_max_retries(),
    }
}

fn profile_spec(connection_id: ResourceId, place: Place) -> SandboxProfileSpec {
    SandboxProfileSpec { command_timeout_ms: place.command_timeout_ms, ..plain_profile(connection_id) }
}

pub async fn add(stores: &Stores, samples: &Samples, home: &Home, slug: &str, spec: Spec) -> (ResourceId, VersionId) {
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
