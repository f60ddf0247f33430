//! The reaper removes sandboxes that a lost worker left behind.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::Ports;
use domain::execution::ExecutionRef;
use domain::resource::Spec;
use domain::sandbox::{Sandbox, SandboxTarget};
use tokio_util::sync::CancellationToken;

const PERIOD: Duration = Duration::from_secs(10);
const BATCH: u32 = 100;

/// Sweeps at once and then every few seconds, until `stop`.
pub async fn reap(ports: Arc<Ports>, stop: CancellationToken) {
    loop {
        sweep(&ports).await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

async fn sweep(ports: &Ports) {
    let strays = match ports.executions.stray_sandboxes(BATCH).await {
        Ok(strays) => strays,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "stray sandboxes were not listed");
            return;
        }
    };
    for (execution, sandbox) in strays {
        let Some(target) = target(ports, execution, &sandbox).await else { continue };
        match ports.sandboxes.terminate(&target, sandbox.id, sandbox.remote_id.as_deref()).await {
            Ok(()) => {
                if let Err(error) = ports.executions.sandbox_gone(execution, sandbox.id).await {
                    tracing::warn!(sandbox.id = %sandbox.id, error = &error as &dyn std::error::Error, "removal was not noted");
                }
            }
            Err(error) => tracing::warn!(sandbox.id = %sandbox.id, error.code = error.code, "stray was not removed"),
        }
    }
}

/// The server of a stray, from the connection version that its row pins.
async fn target(ports: &Ports, execution: ExecutionRef, sandbox: &Sandbox) -> Option<SandboxTarget> {
    let scope = execution.scope();
    let version = ports.resources.versions(scope, &[sandbox.connection_version]).await.ok()?.pop()?;
    let Spec::SandboxConnection(connection) = version.spec else { return None };
    let api_key = match connection.credential_id {
        None => None,
        Some(credential) => {
            let version = ports.resources.latest_published(scope, &[credential]).await.ok()?.pop()?;
            let Spec::Credential(spec) = version.spec else { return None };
            Some(ports.secrets.open(&version.id.to_string(), &spec.sealed).ok()?)
        }
    };
    Some(SandboxTarget::new(connection, api_key))
}
