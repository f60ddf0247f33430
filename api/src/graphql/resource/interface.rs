//! The interface of all versions.

use async_graphql::{Enum, ID, Interface};
use domain::resource::{self, ResourceKind, VersionState};

use crate::graphql::agent::AgentVersion;
use crate::graphql::credential::CredentialVersion;
use crate::graphql::model::ModelVersion;
use crate::graphql::sandbox_connection::SandboxConnectionVersion;
use crate::graphql::sandbox_profile::SandboxProfileVersion;
use crate::graphql::scalar::DateTime;

/// What every version of a resource has.
#[derive(Interface)]
#[graphql(
    name = "ResourceVersion",
    field(name = "id", ty = "ID", desc = "Its id."),
    field(name = "number", ty = "i32", desc = "1, 2, 3, ... within the resource."),
    field(name = "state", ty = "ResourceVersionState", desc = "Draft or published."),
    field(name = "digest", ty = "String", desc = "Hexadecimal SHA-256 of the stored specification."),
    field(name = "created_at", ty = "DateTime", desc = "When it was written."),
    field(name = "published_at", ty = "Option<DateTime>", desc = "When it was published.")
)]
pub enum AnyVersion {
    /// Of an Agent.
    Agent(AgentVersion),
    /// Of a Model.
    Model(ModelVersion),
    /// Of a Credential.
    Credential(CredentialVersion),
    /// Of a SandboxConnection.
    SandboxConnection(SandboxConnectionVersion),
    /// Of a SandboxProfile.
    SandboxProfile(SandboxProfileVersion),
}

impl AnyVersion {
    /// A stored version, as the type of its kind.
    pub fn new(version: resource::ResourceVersion) -> Option<Self> {
        match version.spec.kind() {
            ResourceKind::Agent => AgentVersion::new(version).map(Self::Agent),
            ResourceKind::Model => ModelVersion::new(version).map(Self::Model),
            ResourceKind::Credential => CredentialVersion::new(version).map(Self::Credential),
            ResourceKind::SandboxConnection => SandboxConnectionVersion::new(version).map(Self::SandboxConnection),
            ResourceKind::SandboxProfile => SandboxProfileVersion::new(version).map(Self::SandboxProfile),
        }
    }
}

/// Whether a version may still change. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "VersionState")]
pub enum ResourceVersionState {
    /// Not usable yet.
    Draft,
    /// Immutable and usable.
    Published,
}
