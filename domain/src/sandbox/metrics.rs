//! SandboxMetrics are what a sandbox uses at this moment, as its server measures it.
//!
//! Rule: they are asked for when somebody looks, and stored nowhere. A server that is away, or slow, is no error of the
//! sandbox: there is nothing to show then.

use std::time::Duration;

use futures_util::future::{Either, select};

use super::model::{Sandbox, SandboxState};
use super::ports::SandboxRuntime;
use super::target::target_of;
use crate::clock::{Clock, Timestamp};
use crate::ctx::Scope;
use crate::resource::{ResourceStore, SecretStore};

/// How long somebody who looks is kept waiting.
const WITHIN: Duration = Duration::from_secs(5);

/// What a sandbox has and uses. Servers elsewhere may measure the machine that it runs on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SandboxMetrics {
    /// CPUs that it may use.
    pub cpus: f64,
    /// CPU in use, in percent of these.
    pub cpu_used_percent: f64,
    /// Memory in use.
    pub memory_used_bytes: u64,
    /// Memory that it may use.
    pub memory_limit_bytes: u64,
    /// When it was measured, by the server's clock.
    pub measured_at: Timestamp,
}

/// What looking needs.
#[derive(Clone, Copy)]
pub struct MetricsPorts<'a> {
    /// Connections.
    pub resources: &'a dyn ResourceStore,
    /// Opens their keys.
    pub secrets: &'a dyn SecretStore,
    /// Asks servers.
    pub sandboxes: &'a dyn SandboxRuntime,
    /// Time.
    pub clock: &'a dyn Clock,
}

/// What a sandbox uses; None when it is not live, or its server does not tell. The caller has decided who may see it.
pub async fn metrics(ports: MetricsPorts<'_>, scope: Scope, sandbox: &Sandbox) -> Option<SandboxMetrics> {
    if sandbox.state != SandboxState::Live {
        return None;
    }
    let remote_id = sandbox.remote_id.as_deref()?;
    let target = target_of(ports.resources, ports.secrets, scope, sandbox.connection_version).await?;
    match select(ports.sandboxes.metrics(&target, remote_id), ports.clock.sleep(WITHIN)).await {
        Either::Left((Ok(metrics), _)) => Some(metrics),
        Either::Left((Err(error), _)) => {
            tracing::debug!(sandbox.id = %sandbox.id, error.code = error.code, "metrics were not told");
            None
        }
        Either::Right(_) => None,
    }
}
