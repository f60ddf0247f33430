//! A Resource is something that an agent may be allowed to use: a Model, a Credential, a SandboxConnection, a
//! SandboxProfile, or the Agent itself.
//!
//! A resource has a mutable head and numbered versions. A version is a draft until it is published, and immutable from
//! then on; an execution pins the versions that it uses. Archiving hides a resource from new use and changes nothing
//! for executions that pinned one of its versions. Who may use what is the business of [`crate::access`].

mod add_version;
mod archive;
mod content;
mod create;
mod image_name;
mod loop_policy;
mod model;
mod ports;
mod publish;
mod references;
mod sandbox;
mod validate;
mod validate_connection;
mod validate_profile;

pub use add_version::{AddVersion, add_version};
pub use archive::archive;
pub use content::{Content, Publication, ResourcePorts};
pub use create::{CreateResource, Written, create};
pub use loop_policy::{LoopAction, LoopPolicy, PartialLoopPolicy};
pub use model::{
    AgentSpec, CredentialSpec, ModelProtocol, ModelSpec, NewVersion, PriceVersion, Resource, ResourceKind,
    ResourceVersion, SealedSecret, Spec, VersionState,
};
pub use ports::{ResourceStore, SecretError, SecretStore};
pub use publish::publish;
pub use sandbox::{
    ConnectionWarning, EgressEnforcement, SandboxConnectionSpec, SandboxCredential, SandboxNetwork, SandboxProfileSpec,
    SandboxRoute, SandboxTier, SecureRuntime, port_range,
};
pub use validate::{validate_name, validate_slug, validate_spec};
pub use validate_profile::MIN_PIDS;
