//! Sandbox profiles and their versions, as the API shows them.

use async_graphql::{ComplexObject, Context, Enum};
use domain::resource::{self, SandboxProfileSpec};

use crate::graphql::error::ApiError;
use crate::graphql::resource::{resource_head, resource_payload, resource_version, visible_latest};
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

    /// Memory of all processes together.
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

    /// What it may reach.
    async fn network(&self) -> SandboxNetwork {
        self.spec.network.into()
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
}
