//! The interface of everything that has a global id.

use async_graphql::{ID, Interface};
use domain::resource::{Resource, ResourceKind, ResourceVersion};

use crate::graphql::access::ApiKey;
use crate::graphql::agent::{Agent, AgentVersion};
use crate::graphql::artifact::Artifact;
use crate::graphql::credential::{Credential, CredentialVersion};
use crate::graphql::execution::{Execution, ModelCall, Sandbox, ToolCall};
use crate::graphql::model::{Model, ModelVersion};
use crate::graphql::resource::AnyVersion;
use crate::graphql::sandbox_connection::{SandboxConnection, SandboxConnectionVersion};
use crate::graphql::sandbox_profile::{SandboxProfile, SandboxProfileVersion};
use crate::graphql::viewer::{Project, Tenant};

/// An object with a global id.
#[derive(Interface)]
#[graphql(field(name = "id", ty = "ID", desc = "Its id: a type prefix and 26 characters."))]
pub enum Node {
    /// A tenant.
    Tenant(Tenant),
    /// A project.
    Project(Project),
    /// An API key.
    ApiKey(ApiKey),
    /// An agent.
    Agent(Agent),
    /// A version of an agent.
    AgentVersion(AgentVersion),
    /// A model.
    Model(Model),
    /// A version of a model.
    ModelVersion(ModelVersion),
    /// A credential.
    Credential(Credential),
    /// A version of a credential.
    CredentialVersion(CredentialVersion),
    /// A sandbox connection.
    SandboxConnection(SandboxConnection),
    /// A version of a sandbox connection.
    SandboxConnectionVersion(SandboxConnectionVersion),
    /// A sandbox profile.
    SandboxProfile(SandboxProfile),
    /// A version of a sandbox profile.
    SandboxProfileVersion(SandboxProfileVersion),
    /// An execution.
    Execution(Execution),
    /// A model call.
    ModelCall(ModelCall),
    /// A tool call.
    ToolCall(ToolCall),
    /// A sandbox.
    Sandbox(Sandbox),
    /// A file.
    Artifact(Artifact),
}

impl Node {
    /// A resource, as the type of its kind.
    pub fn from_resource(resource: Resource) -> Self {
        match resource.kind {
            ResourceKind::Model => Self::Model(Model(resource)),
            ResourceKind::Credential => Self::Credential(Credential(resource)),
            ResourceKind::SandboxConnection => Self::SandboxConnection(SandboxConnection(resource)),
            ResourceKind::SandboxProfile => Self::SandboxProfile(SandboxProfile(resource)),
            ResourceKind::Agent => Self::Agent(Agent(resource)),
        }
    }

    /// A version, as the type of its kind.
    pub fn from_version(version: ResourceVersion) -> Option<Self> {
        AnyVersion::new(version).map(|version| match version {
            AnyVersion::Agent(version) => Self::AgentVersion(version),
            AnyVersion::Model(version) => Self::ModelVersion(version),
            AnyVersion::Credential(version) => Self::CredentialVersion(version),
            AnyVersion::SandboxConnection(version) => Self::SandboxConnectionVersion(version),
            AnyVersion::SandboxProfile(version) => Self::SandboxProfileVersion(version),
        })
    }
}
