//! Sandbox connections and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
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

    /// Ports that an endpoint may have beside the server's own address: numbers, or ranges such as "40000-60000". Any port
    /// when there is none.
    async fn endpoint_ports(&self) -> &[String] {
        &self.spec.endpoint_ports
    }

    /// With which of these an endpoint's path must begin, in whole segments. Any path when there is none.
    async fn endpoint_paths(&self) -> &[String] {
        &self.spec.endpoint_paths
    }

    /// How its sandboxes are reached.
    async fn route(&self) -> SandboxRoute {
        self.spec.route.into()
    }

    /// Whether each sandbox gets a key of its own, which its endpoint then requires.
    async fn secure_access(&self) -> bool {
        self.spec.secure_access
    }

    /// What it runs sandboxes with, as its operator declares.
    async fn secure_runtime(&self) -> SecureRuntime {
        self.spec.secure_runtime.into()
    }

    /// What keeps its sandboxes from the network, as its operator attests; null for the local tier.
    async fn egress(&self) -> Option<EgressEnforcement> {
        self.spec.egress.map(Into::into)
    }

    /// What whoever uses it must see.
    async fn warnings(&self) -> Vec<SandboxConnectionWarning> {
        self.spec.warnings().into_iter().map(Into::into).collect()
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

/// How the sandboxes of a server are reached. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::SandboxRoute")]
pub enum SandboxRoute {
    /// At the address of the sandbox itself.
    Direct,
    /// Through the gateway of a cluster.
    Gateway,
    /// Through the lifecycle server.
    ServerProxy,
}

/// What a server runs sandboxes with. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::SecureRuntime")]
pub enum SecureRuntime {
    /// Containers on the host's kernel.
    Runc,
    /// A kernel in user space, which the egress sidecar cannot run in.
    Gvisor,
    /// A virtual machine for each sandbox.
    Kata,
}

/// What keeps sandboxes from the network. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::EgressEnforcement")]
pub enum EgressEnforcement {
    /// A sidecar in each sandbox, which follows a policy of host names.
    Sidecar,
    /// One rule of the cluster's network for all sandboxes, which knows no host names.
    Cni,
}

/// Something about a connection that its operator allowed and whoever uses it must see.
#[derive(SimpleObject)]
pub struct SandboxConnectionWarning {
    /// Stable code, listed in docs/errors.md.
    pub code: String,
    /// What it means, and how to be rid of it.
    pub message: String,
}

impl From<resource::ConnectionWarning> for SandboxConnectionWarning {
    fn from(warning: resource::ConnectionWarning) -> Self {
        Self { code: warning.code.to_owned(), message: warning.message.to_owned() }
    }
}
