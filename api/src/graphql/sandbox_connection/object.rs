//! Sandbox connections and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum};
use domain::resource::{self, SandboxConnectionSpec};

use crate::graphql::credential::Credential;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{resource_head, resource_payload, resource_version, visible};

resource_head! {
    /// A server that runs sandboxes.
    SandboxConnection => SandboxConnectionVersion
}

resource_version! {
    /// One version of a sandbox connection.
    #[graphql(complex)]
    SandboxConnectionVersion, SandboxConnection |row, spec| { spec: SandboxConnectionSpec = spec }
}

resource_payload! {
    /// The sandbox connection and its new version, or what is wrong.
    SandboxConnectionPayload, sandbox_connection: SandboxConnection, SandboxConnectionVersion
}

#[ComplexObject]
impl SandboxConnectionVersion {
    /// Base URL of the server's lifecycle API; "local:" for the local tier.
    async fn base_url(&self) -> &str {
        &self.spec.base_url
    }

    /// Local or remote.
    async fn tier(&self) -> SandboxTier {
        self.spec.tier.into()
    }

    /// Allows plain HTTP beyond loopback; show it as a warning.
    async fn allow_plaintext(&self) -> bool {
        self.spec.allow_plaintext
    }

    /// Further hosts that an endpoint may name; "*." at the start matches subdomains.
    async fn endpoint_hosts(&self) -> &[String] {
        &self.spec.endpoint_hosts
    }

    /// The credential that is sent as API key; null also when the caller may not see it.
    async fn credential(&self, ctx: &Context<'_>) -> Result<Option<Credential>, ApiError> {
        match self.spec.credential_id {
            Some(id) => Ok(visible(ctx, id).await?.map(Credential)),
            None => Ok(None),
        }
    }
}

/// Where sandboxes run. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::SandboxTier")]
pub enum SandboxTier {
    /// The local runtime of this installation.
    Local,
    /// An OpenSandbox server elsewhere.
    Remote,
}
