//! Sandbox profiles and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum, Object, SimpleObject};
use domain::resource::{self, SandboxProfileSpec};

use crate::graphql::credential::Credential;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{resource_head, resource_payload, resource_version, visible, visible_latest};
use crate::graphql::sandbox_connection::SandboxConnectionVersion;
use crate::graphql::scalar::{BigInt, int};

resource_head! {
    /// Image, limits, network and lifetime of a sandbox.
    SandboxProfile => SandboxProfileVersion
}

resource_version! {
    /// One version of a sandbox profile.
    #[graphql(complex)]
    SandboxProfileVersion, SandboxProfile |row, spec| { spec: SandboxProfileSpec = spec }
}

resource_payload! {
    /// The sandbox profile and its new version, or what is wrong.
    SandboxProfilePayload, sandbox_profile: SandboxProfile, SandboxProfileVersion
}

#[ComplexObject]
impl SandboxProfileVersion {
    /// The newest published version of the connection that it names; null when the caller may not see that.
    async fn connection(&self, ctx: &Context<'_>) -> Result<Option<SandboxConnectionVersion>, ApiError> {
        Ok(visible_latest(ctx, self.spec.connection_id).await?.and_then(SandboxConnectionVersion::new))
    }

    /// Image name.
    async fn image(&self) -> &str {
        &self.spec.image
    }

    /// Thousandths of a processor.
    async fn cpu_millis(&self) -> i32 {
        int(self.spec.cpu_millis)
    }

    /// Memory of all processes together. A runtime that keeps the workspace in memory bounds both as one sum.
    async fn memory_bytes(&self) -> BigInt {
        self.spec.memory_bytes.into()
    }

    /// Size of the workspace.
    async fn disk_bytes(&self) -> BigInt {
        self.spec.disk_bytes.into()
    }

    /// Processes at one time.
    async fn pids(&self) -> i32 {
        int(self.spec.pids)
    }

    /// Seconds after which the sandbox is removed whatever it does.
    async fn ttl_seconds(&self) -> i32 {
        int(self.spec.ttl_seconds)
    }

    /// Seconds without a tool call after which the sandbox is removed; the next tool gets a new one with the same files.
    /// Null for no such limit.
    async fn idle_ttl_seconds(&self) -> Option<i32> {
        self.spec.idle_ttl_seconds.map(int)
    }

    /// What it may reach.
    async fn network(&self) -> SandboxNetwork {
        self.spec.network.into()
    }

    /// The hosts of the network HOSTS; "*." at the start matches every name below, and not the name itself.
    async fn network_hosts(&self) -> &[String] {
        &self.spec.network_hosts
    }

    /// Name or number of the user that programs run as; null for the image's own.
    async fn user(&self) -> Option<&str> {
        self.spec.user.as_deref()
    }

    /// Variables that every program gets, by name.
    async fn environment(&self) -> Vec<SandboxVariable> {
        let variables = self.spec.environment.iter();
        variables.map(|(name, value)| SandboxVariable { name: name.clone(), value: value.clone() }).collect()
    }

    /// Credentials that every program gets as files.
    async fn credentials(&self) -> Vec<SandboxCredential> {
        self.spec.credentials.iter().cloned().map(SandboxCredential).collect()
    }

    /// Time limit of one command.
    async fn command_timeout_ms(&self) -> i32 {
        int(self.spec.command_timeout_ms)
    }
}

/// What a sandbox may reach. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "resource::SandboxNetwork")]
pub enum SandboxNetwork {
    /// Nothing.
    None,
    /// The hosts that are listed, and nothing else.
    Hosts,
    /// The public network; private, metadata and cluster ranges are closed.
    Public,
}

/// A variable that every program of a sandbox gets.
#[derive(SimpleObject)]
pub struct SandboxVariable {
    /// Its name.
    pub name: String,
    /// Its value; no secret.
    pub value: String,
}

/// A credential that programs of a sandbox may use, for the time of one tool call.
pub struct SandboxCredential(resource::SandboxCredential);

/// A credential that programs of a sandbox may use, for the time of one tool call.
#[Object]
impl SandboxCredential {
    /// Name of its file.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The variable that holds the path of its file.
    async fn variable(&self) -> String {
        self.0.variable()
    }

    /// Seconds after which the file is removed, also when the call still runs.
    async fn ttl_seconds(&self) -> i32 {
        int(self.0.ttl_seconds)
    }

    /// The credential; null when the caller may not see it.
    async fn credential(&self, ctx: &Context<'_>) -> Result<Option<Credential>, ApiError> {
        Ok(visible(ctx, self.0.credential_id).await?.map(Credential))
    }
}
