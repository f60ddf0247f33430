//! Sandboxes as the API shows them.

use async_graphql::{Context, Enum, ID, Object};
use domain::sandbox;

use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::sandbox_connection::SandboxTier;
use crate::graphql::sandbox_profile::SandboxNetwork;
use crate::graphql::scalar::{BigInt, DateTime, int};

/// A sandbox.
pub struct Sandbox(pub sandbox::Sandbox);

/// Where an execution's code runs.
#[Object]
impl Sandbox {
    /// Its id.
    pub async fn id(&self) -> ID {
        self.0.id.to_string().into()
    }

    /// Local or remote.
    async fn tier(&self) -> SandboxTier {
        self.0.tier.into()
    }

    /// Image name.
    async fn image(&self) -> &str {
        &self.0.image
    }

    /// Where it stands.
    async fn state(&self) -> SandboxState {
        self.0.state.into()
    }

    /// What is enforced, as the server proved it: memory, pids, disk, network, ...
    async fn enforced(&self) -> &[String] {
        &self.0.enforced
    }

    /// What it may reach.
    async fn network(&self) -> SandboxNetwork {
        self.0.network.into()
    }

    /// The hosts of the network HOSTS.
    async fn network_hosts(&self) -> &[String] {
        &self.0.network_hosts
    }

    /// Names of the credentials that its programs may use.
    async fn credentials(&self) -> &[String] {
        &self.0.credentials
    }

    /// Memory of all processes together. A runtime that keeps the workspace in memory bounds both as one sum.
    async fn memory_bytes(&self) -> BigInt {
        self.0.memory_bytes.into()
    }

    /// Size of the workspace.
    async fn disk_bytes(&self) -> BigInt {
        self.0.disk_bytes.into()
    }

    /// Processes at one time.
    async fn pids(&self) -> i32 {
        int(self.0.pids)
    }

    /// When it was asked for.
    async fn created_at(&self) -> DateTime {
        self.0.created_at.into()
    }

    /// When the server removes it by itself.
    async fn expires_at(&self) -> Option<DateTime> {
        self.0.expires_at.map(DateTime)
    }

    /// What it uses at this moment, as its server measures it; null when it is not live, or the server does not tell
    /// within five seconds.
    async fn metrics(&self, ctx: &Context<'_>) -> Result<Option<SandboxMetrics>, ApiError> {
        let scope = ctx.principal()?.scope();
        let metrics = sandbox::metrics(ctx.services()?.metrics_ports(), scope, &self.0).await;
        Ok(metrics.map(SandboxMetrics))
    }
}

/// What a sandbox uses.
pub struct SandboxMetrics(sandbox::SandboxMetrics);

/// What a sandbox has and uses at one moment. The local runtime measures the sandbox; a server elsewhere may measure the
/// machine that it runs on.
#[Object]
impl SandboxMetrics {
    /// CPUs that it may use.
    async fn cpus(&self) -> f64 {
        self.0.cpus
    }

    /// CPU in use, in percent of these.
    async fn cpu_used_percent(&self) -> f64 {
        self.0.cpu_used_percent
    }

    /// Memory in use.
    async fn memory_used_bytes(&self) -> BigInt {
        self.0.memory_used_bytes.into()
    }

    /// Memory that it may use.
    async fn memory_limit_bytes(&self) -> BigInt {
        self.0.memory_limit_bytes.into()
    }

    /// When it was measured, by the server's clock.
    async fn measured_at(&self) -> DateTime {
        self.0.measured_at.into()
    }
}

/// Where a sandbox stands. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "sandbox::SandboxState")]
pub enum SandboxState {
    /// About to be asked for, or asked for without an answer.
    Intent,
    /// Running.
    Live,
    /// To be removed; not yet seen to be gone.
    KillPending,
    /// Seen to be gone.
    Gone,
}

/// What became of an attempt to reach a host. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "sandbox::EgressVerdict")]
pub enum EgressVerdict {
    /// It was let through.
    Allowed,
    /// It was refused.
    Denied,
}

/// Why a credential was taken out of a sandbox. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "sandbox::RevokedBecause")]
pub enum CredentialRevokedBecause {
    /// The tool call ended.
    CallEnded,
    /// Its time was over.
    Expired,
    /// It could not be put there, or not be taken away again, and the sandbox was given up.
    Failed,
    /// The sandbox ended.
    SandboxEnded,
}

/// Which stream of a program. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "sandbox::OutputStream")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
