//! Content is what a caller wants a version to say: a specification, or a secret that is still to be sealed.

use std::sync::Arc;

use super::model::{CredentialSpec, NewVersion, ResourceKind, Spec, VersionState};
use super::ports::{ResourceStore, SecretStore};
use super::validate::validate_spec;
use crate::access::{AccessStore, Authorizer, Refusal, fault};
use crate::ctx::OpContext;
use crate::error::InvalidInput;
use crate::ids::{ResourceId, VersionId};
use crate::tool_call::KNOWN_TOOLS;

const LONGEST_SECRET: usize = 16 * 1024;

/// What the use cases of resources need from outside.
#[derive(Clone)]
pub struct ResourcePorts {
    /// Keeps resources.
    pub resources: Arc<dyn ResourceStore>,
    /// Keeps the grants of agents.
    pub access: Arc<dyn AccessStore>,
    /// Seals secrets.
    pub secrets: Arc<dyn SecretStore>,
    /// Says who may.
    pub authorizer: Arc<Authorizer>,
}

/// What a version is to say.
#[expect(clippy::large_enum_variant, reason = "one lives at a time, for one use case")]
pub enum Content {
    /// Of every kind but a Credential.
    Spec(Spec),
    /// The secret of a Credential, in the clear for as long as this value lives.
    Secret(String),
}

/// When a new version becomes usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Publication {
    /// It stays a draft.
    Later,
    /// With its creation.
    AtOnce,
}

impl Content {
    /// The kind of resource that this is a version of.
    pub const fn kind(&self) -> ResourceKind {
        match self {
            Self::Spec(spec) => spec.kind(),
            Self::Secret(_) => ResourceKind::Credential,
        }
    }

    /// All faults that can be seen without the store.
    pub fn validate(&self) -> Vec<InvalidInput> {
        match self {
            Self::Spec(spec) => validate_spec(spec, KNOWN_TOOLS),
            Self::Secret(secret) if secret.is_empty() || secret.len() > LONGEST_SECRET => {
                vec![fault(&["secret"], "OUT_OF_RANGE", "must be 1 to 16384 bytes")]
            }
            Self::Secret(secret) if secret.chars().any(char::is_control) => {
                vec![fault(&["secret"], "MALFORMED", "must not hold control characters, such as a line end")]
            }
            Self::Secret(_) => Vec::new(),
        }
    }

    /// The version to store. A secret is sealed under the new version's id.
    pub(super) fn into_version(
        self,
        op: &OpContext,
        secrets: &dyn SecretStore,
        resource_id: ResourceId,
        state: VersionState,
    ) -> Result<NewVersion, Refusal> {
        let id = VersionId::generate(op.clock.as_ref(), op.entropy.as_ref());
        let spec = match self {
            Self::Spec(spec) => spec,
            Self::Secret(secret) => {
                let sealed = secrets.seal(&id.to_string(), &secret).map_err(Refusal::Seal)?;
                Spec::Credential(CredentialSpec { sealed })
            }
        };
        Ok(NewVersion { id, resource_id, state, spec, created_at: op.clock.now() })
    }
}

/// The state in which a version is first stored. An agent's becomes usable only after its grants are there.
pub(super) const fn first_state(kind: ResourceKind, publication: Publication) -> VersionState {
    match (kind, publication) {
        (ResourceKind::Agent, _) | (_, Publication::Later) => VersionState::Draft,
        (_, Publication::AtOnce) => VersionState::Published,
    }
}
