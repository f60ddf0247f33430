//! What a fresh embedded installation starts with: a tenant, a project, an API key, and the demo's resources.

use std::collections::BTreeMap;

use domain::access::{ApiKeyPorts, CreateApiKey, Project, ProjectRole, Tenant, create_api_key};
use domain::budget::{LimitOutcomes, Limits, WarningLevels};
use domain::ctx::{OpContext, PageRequest, Principal};
use domain::ids::{PriceVersionId, PrincipalId, ProjectId, ResourceId, TenantId};
use domain::money::{NanoUsd, Price};
use domain::resource::{
    AgentSpec, Content, CreateResource, LoopPolicy, ModelProtocol, ModelSpec, PriceVersion, Publication, ResourceKind,
    SandboxConnectionSpec, SandboxNetwork, SandboxProfileSpec, SandboxRoute, SandboxTier, SecureRuntime, Spec, create,
};
use domain::tool_call::KNOWN_TOOLS;
use secrecy::ExposeSecret;

use crate::config::DemoModel;
use crate::graphql::Services;
use crate::scripted_model::demo;
use crate::wiring::WiringError;

const MEBIBYTE: u64 = 1024 * 1024;

/// What was found or made.
pub struct Seeded {
    /// The owner of the embedded tenant.
    pub owner: Principal,
    /// The API key's secret; only when it was made now.
    pub api_key: Option<String>,
}

/// Finds the embedded tenant's owner, or makes everything.
pub async fn seed(services: &Services, demo_model: Option<&DemoModel>) -> Result<Seeded, WiringError> {
    if let Some(owner) = services.identity.first_owner().await? {
        ensure_demo(services, owner, demo_model).await?;
        return Ok(Seeded { owner, api_key: None });
    }
    let (clock, entropy) = (&*services.clock, &*services.entropy);
    let tenant = Tenant { id: TenantId::generate(clock, entropy), name: "Local".to_owned() };
    let project = Project {
        id: ProjectId::generate(clock, entropy),
        tenant_id: tenant.id,
        slug: "demo".to_owned(),
        name: "Demo".to_owned(),
        created_at: clock.now(),
    };
    let owner = PrincipalId::generate(clock, entropy);
    services.identity.create_tenant(&tenant, &project, owner, "Owner").await?;
    let owner = Principal { id: owner, tenant_id: tenant.id, project_id: Some(project.id) };
    let ports = ApiKeyPorts { identity: services.identity.clone(), authorizer: services.authorizer.clone() };
    let request = CreateApiKey {
        project_id: project.id,
        name: "First key".to_owned(),
        role: ProjectRole::Owner,
        expires_at: None,
    };
    let key = create_api_key(&op(services, owner), &ports, request).await?;
    ensure_demo(services, owner, demo_model).await?;
    Ok(Seeded { owner, api_key: Some(key.secret) })
}

fn op(services: &Services, principal: Principal) -> OpContext {
    OpContext { principal, clock: services.clock.clone(), entropy: services.entropy.clone() }
}

/// The demo's project: the first one that the owner has a role in.
pub async fn demo_project(services: &Services, owner: Principal) -> Result<ProjectId, WiringError> {
    let page = PageRequest { first: 1, after: None };
    let projects = services.identity.list_projects(owner, page).await?;
    projects.rows.into_iter().next().map(|(_, project)| project.id).ok_or_else(|| "the owner has no project".into())
}

/// The slug of the agent that the demo runs: one for the scripted model, one for each real model.
pub fn demo_agent_slug(model: Option<&DemoModel>) -> String {
    match model {
        None => demo::AGENT.to_owned(),
        Some(model) => format!("{}-{}", demo::AGENT, slug_of(&model.deployment)),
    }
}

fn slug_of(text: &str) -> String {
    let clean: String =
        text.to_ascii_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(30).collect();
    clean.trim_matches('-').to_owned()
}

async fn ensure_demo(services: &Services, owner: Principal, model: Option<&DemoModel>) -> Result<(), WiringError> {
    let project = demo_project(services, owner).await?;
    let maker = Maker { services, op: op(services, owner), project };
    let agent_slug = demo_agent_slug(model);
    if maker.find(ResourceKind::Agent, &agent_slug).await?.is_some() {
        return Ok(());
    }
    let connection = maker.ensure("local", "Local sandbox runtime", Content::Spec(local_connection())).await?;
    let profile = maker.ensure("code", "Python, JavaScript and shell", Content::Spec(profile(connection))).await?;
    let model_id = match model {
        None => maker.ensure("scripted", "Scripted model", Content::Spec(maker.scripted_model())).await?,
        Some(model) => {
            let slug = slug_of(&model.deployment);
            let credential = match &model.api_key {
                None => None,
                Some(key) => {
                    let secret = Content::Secret(key.expose_secret().to_owned());
                    Some(maker.ensure(&slug, &model.deployment, secret).await?)
                }
            };
            maker.ensure(&slug, &model.deployment, Content::Spec(real_model(model, credential))).await?
        }
    };
    maker.ensure(&agent_slug, "Dependency auditor", Content::Spec(agent(model_id, profile, model.is_none()))).await?;
    Ok(())
}

struct Maker<'a> {
    services: &'a Services,
    op: OpContext,
    project: ProjectId,
}

impl Maker<'_> {
    async fn find(&self, kind: ResourceKind, slug: &str) -> Result<Option<ResourceId>, WiringError> {
        let mut after = None;
        loop {
            let request = PageRequest { first: 100, after };
            let page = self.services.resources.list(self.op.scope(), self.project, kind, request).await?;
            if let Some((_, found)) = page.rows.iter().find(|(_, resource)| resource.slug == slug) {
                return Ok(Some(found.id));
            }
            after = page.rows.last().map(|(key, _)| key.clone()).filter(|_| page.has_next);
            if after.is_none() {
                return Ok(None);
            }
        }
    }

    async fn ensure(&self, slug: &str, name: &str, content: Content) -> Result<ResourceId, WiringError> {
        if let Some(found) = self.find(content.kind(), slug).await? {
            return Ok(found);
        }
        let request = CreateResource {
            project_id: self.project,
            slug: slug.to_owned(),
            name: name.to_owned(),
            content,
            publication: Publication::AtOnce,
        };
        Ok(create(&self.op, &self.services.resource_ports(), request).await?.resource.id)
    }

    /// The scripted model has invented prices, so that the cost counter has something to count.
    fn scripted_model(&self) -> Spec {
        let price = Price {
            input_per_million: NanoUsd(2_500_000_000),
            cached_input_per_million: NanoUsd(1_250_000_000),
            output_per_million: NanoUsd(10_000_000_000),
            reasoning_per_million: None,
        };
        let id = PriceVersionId::generate(&*self.services.clock, &*self.services.entropy);
        Spec::Model(ModelSpec {
            protocol: ModelProtocol::OpenaiCompatible,
            provider: ModelSpec::SCRIPTED.to_owned(),
            deployment: demo::MODEL.to_owned(),
            alias: "scripted".to_owned(),
            base_url: ModelSpec::SCRIPTED_URL.to_owned(),
            credential_id: None,
            parameters: serde_json::Map::new(),
            context_window: 128_000,
            max_output_tokens: 4_096,
            price: Some(PriceVersion { id, valid_from: self.services.clock.now(), price }),
            max_retries: ModelSpec::default_max_retries(),
        })
    }
}

fn real_model(model: &DemoModel, credential_id: Option<ResourceId>) -> Spec {
    Spec::Model(ModelSpec {
        protocol: ModelProtocol::OpenaiCompatible,
        provider: "openai-compatible".to_owned(),
        deployment: model.deployment.clone(),
        alias: model.deployment.clone(),
        base_url: model.base_url.trim_end_matches('/').to_owned(),
        credential_id,
        parameters: serde_json::Map::new(),
        context_window: 128_000,
        max_output_tokens: 8_192,
        price: None,
        max_retries: ModelSpec::default_max_retries(),
    })
}

fn local_connection() -> Spec {
    Spec::SandboxConnection(SandboxConnectionSpec {
        tier: SandboxTier::Local,
        base_url: "local:".to_owned(),
        credential_id: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
        endpoint_ports: Vec::new(),
        endpoint_paths: Vec::new(),
        route: SandboxRoute::Direct,
        secure_access: false,
        secure_runtime: SecureRuntime::Runc,
        egress: None,
    })
}

fn profile(connection_id: ResourceId) -> Spec {
    Spec::SandboxProfile(SandboxProfileSpec {
        connection_id,
        image: "vitrine/code".to_owned(),
        cpu_millis: 1_000,
        memory_bytes: 512 * MEBIBYTE,
        disk_bytes: 128 * MEBIBYTE,
        pids: 64,
        ttl_seconds: 900,
        idle_ttl_seconds: None,
        network: SandboxNetwork::None,
        network_hosts: Vec::new(),
        user: None,
        environment: BTreeMap::new(),
        credentials: Vec::new(),
        command_timeout_ms: 60_000,
    })
}

fn agent(model_id: ResourceId, profile: ResourceId, has_price: bool) -> Spec {
    Spec::Agent(AgentSpec {
        instructions: demo::INSTRUCTIONS.to_owned(),
        model_id,
        fallback_model_ids: Vec::new(),
        sandbox_profile_id: Some(profile),
        tools: KNOWN_TOOLS.iter().filter(|tool| !["browse", "note"].contains(tool)).map(ToString::to_string).collect(),
        // Near enough to what the demo needs that its meters are seen to move.
        limits: Limits {
            max_iterations: Some(12),
            max_model_calls: Some(24),
            max_tool_calls: Some(24),
            max_tokens: Some(100_000),
            // A real model's prices are not known here; a cost limit without prices would be refused.
            max_cost: has_price.then_some(NanoUsd(250_000_000)),
            max_active_time_ms: Some(300_000),
            max_errors_per_tool: Some(6),
            on_limit: LimitOutcomes::NONE,
        },
        loop_policy: LoopPolicy::default(),
        warning_levels: WarningLevels::default(),
    })
}
