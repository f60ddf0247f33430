//! Resources, their versions, and what a version of each kind says.

use serde::{Deserialize, Serialize};

use super::loop_policy::LoopPolicy;
use super::sandbox::{SandboxConnectionSpec, SandboxProfileSpec};
use crate::budget::{Limits, WarningLevels};
use crate::clock::Timestamp;
use crate::ids::{PriceVersionId, ProjectId, ResourceId, TenantId, VersionId};
use crate::money::Price;

/// The kinds of resources there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResourceKind {
    /// A deployment of a model at a provider.
    Model,
    /// A sealed secret.
    Credential,
    /// An OpenSandbox server.
    SandboxConnection,
    /// Image, limits, network and lifetime of a sandbox.
    SandboxProfile,
    /// Instructions, a model, tools and limits.
    Agent,
}

impl ResourceKind {
    /// The name used in the store and in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "MODEL",
            Self::Credential => "CREDENTIAL",
            Self::SandboxConnection => "SANDBOX_CONNECTION",
            Self::SandboxProfile => "SANDBOX_PROFILE",
            Self::Agent => "AGENT",
        }
    }
}

/// The mutable head of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its id.
    pub id: ResourceId,
    /// The tenant that owns it.
    pub tenant_id: TenantId,
    /// The project that it belongs to.
    pub project_id: ProjectId,
    /// Its kind; never changes.
    pub kind: ResourceKind,
    /// Unique in project and kind; lower-case letters, digits and dashes.
    pub slug: String,
    /// For people.
    pub name: String,
    /// When it was hidden from new use.
    pub archived_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Whether a version may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum VersionState {
    /// Not usable yet.
    Draft,
    /// Immutable and usable.
    Published,
}

/// One version of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceVersion {
    /// Its id.
    pub id: VersionId,
    /// The tenant that owns it.
    pub tenant_id: TenantId,
    /// The resource that it is a version of.
    pub resource_id: ResourceId,
    /// 1, 2, 3, ... within the resource.
    pub number: u32,
    /// Draft or published.
    pub state: VersionState,
    /// Hexadecimal SHA-256 of the stored specification.
    pub digest: String,
    /// What it says.
    pub spec: Spec,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it was published.
    pub published_at: Option<Timestamp>,
}

/// A version that is about to be stored; the store gives it its number.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVersion {
    /// Its id.
    pub id: VersionId,
    /// The resource that it is a version of.
    pub resource_id: ResourceId,
    /// Draft, or published at once.
    pub state: VersionState,
    /// What it says.
    pub spec: Spec,
    /// Now.
    pub created_at: Timestamp,
}

/// What a version says, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Spec {
    /// Of a Model.
    Model(ModelSpec),
    /// Of a Credential.
    Credential(CredentialSpec),
    /// Of a SandboxConnection.
    SandboxConnection(SandboxConnectionSpec),
    /// Of a SandboxProfile.
    SandboxProfile(SandboxProfileSpec),
    /// Of an Agent.
    Agent(AgentSpec),
}

impl Spec {
    /// The kind of resource that this is a version of.
    pub const fn kind(&self) -> ResourceKind {
        match self {
            Self::Model(_) => ResourceKind::Model,
            Self::Credential(_) => ResourceKind::Credential,
            Self::SandboxConnection(_) => ResourceKind::SandboxConnection,
            Self::SandboxProfile(_) => ResourceKind::SandboxProfile,
            Self::Agent(_) => ResourceKind::Agent,
        }
    }

    /// The resources that this version names; a principal needs a grant on each of them, none stands in for another.
    pub fn references(&self) -> Vec<ResourceId> {
        match self {
            Self::Model(spec) => spec.credential_id.into_iter().collect(),
            Self::Credential(_) => Vec::new(),
            Self::SandboxConnection(spec) => spec.credential_id.into_iter().collect(),
            Self::SandboxProfile(spec) => spec.uses().collect(),
            Self::Agent(spec) => spec.models().chain(spec.sandbox_profile_id).collect(),
        }
    }
}

/// The wire protocol of a model's endpoint. There is no `custom_http` until its mapping contract is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ModelProtocol {
    /// Chat completions as OpenAI defined them.
    OpenaiCompatible,
}

/// A deployment of a model at a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSpec {
    /// How to talk to it.
    pub protocol: ModelProtocol,
    /// Who runs it (`openai`, `scripted`, ...); for people and for statistics.
    pub provider: String,
    /// The provider's name of the model: goes into the request's `model` field.
    pub deployment: String,
    /// The short name that screens show.
    pub alias: String,
    /// Base URL of the API, for example `https://api.openai.com/v1`.
    pub base_url: String,
    /// The credential that is sent as bearer token.
    pub credential_id: Option<ResourceId>,
    /// Further members of the request body (`temperature`, ...), as the provider documents them.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Tokens that a request and its reply may have together.
    pub context_window: u32,
    /// Output cap of one call, in tokens.
    pub max_output_tokens: u32,
    /// What it costs; without one, no cost limit can be set.
    pub price: Option<PriceVersion>,
    /// How often a request for which the provider did nothing is sent again.
    #[serde(default = "ModelSpec::default_max_retries")]
    pub max_retries: u32,
}

impl ModelSpec {
    /// The provider name of the written conversation that stands in for a model.
    pub const SCRIPTED: &'static str = "scripted";

    /// The base URL that stands for the scripted model inside this process, wherever it listens.
    pub const SCRIPTED_URL: &'static str = "scripted:";

    /// What holds where nobody says otherwise.
    pub const fn default_max_retries() -> u32 {
        2
    }

    /// Whether a written conversation answers in place of a model.
    pub fn is_scripted(&self) -> bool {
        self.provider == Self::SCRIPTED
    }
}

/// One version of a model's prices; immutable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceVersion {
    /// Its id, which every model call records.
    pub id: PriceVersionId,
    /// When it came into force.
    pub valid_from: Timestamp,
    /// The prices.
    pub price: Price,
}

/// A secret after sealing: ciphertext that only the SecretStore can open.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SealedSecret(pub String);

impl std::fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealedSecret(..)")
    }
}

/// A sealed secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CredentialSpec {
    /// The ciphertext.
    pub sealed: SealedSecret,
}

/// Instructions, a model, tools and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// The system message.
    pub instructions: String,
    /// The model that it thinks with.
    pub model_id: ResourceId,
    /// The models that are asked when that one fails, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_model_ids: Vec<ResourceId>,
    /// The sandbox profile for tools that run code.
    pub sandbox_profile_id: Option<ResourceId>,
    /// Names of the tools that it may call.
    pub tools: Vec<String>,
    /// Limits of each execution, beside those of the start call.
    pub limits: Limits,
    /// How loops are judged.
    pub loop_policy: LoopPolicy,
    /// At which parts of an execution's own limits of money and tokens it is warned.
    #[serde(default, skip_serializing_if = "WarningLevels::is_default")]
    pub warning_levels: WarningLevels,
}

impl AgentSpec {
    /// Its models, in the order in which they are asked.
    pub fn models(&self) -> impl Iterator<Item = ResourceId> + '_ {
        std::iter::once(self.model_id).chain(self.fallback_model_ids.iter().copied())
    }
}
