//! The reaper removes sandboxes that a lost worker left behind.
//!
//! It goes by our own records every few seconds. Now and then it asks the servers what they have, and removes what is
//! recorded as gone: a create or a renewal whose answer was lost may have come through after somebody looked.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::Ports;
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::ids::VersionId;
use domain::resource::Spec;
use domain::sandbox::SandboxTarget;
use tokio_util::sync::CancellationToken;

const PERIOD: Duration = Duration::from_secs(10);
const BATCH: u32 = 100;
/// Sweeps between two comparisons.
const COMPARED_EVERY: u32 = 6;
/// Longer than any sandbox lives.
const LOOK_BACK: Duration = Duration::from_hours(25);

/// Sweeps at once and then every few seconds, until `stop`.
pub async fn reap(ports: Arc<Ports>, stop: CancellationToken) {
    for round in 0_u32.. {
        sweep(&ports).await;
        if round.is_multiple_of(COMPARED_EVERY)
            && let Err(error) = compare(&ports).await
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "servers were not compared with the records");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

/// Removes what our records say is to be removed. A row says so until the server was seen not to have it.
async fn sweep(ports: &Ports) {
    let strays = match ports.executions.stray_sandboxes(BATCH).await {
        Ok(strays) => strays,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "stray sandboxes were not listed");
            return;
        }
    };
    for (execution, sandbox) in strays {
        let Some(target) = target(ports, execution.scope(), sandbox.connection_version).await else { continue };
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

/// Removes what servers have and our records say is gone. What carries a label that is not in them is not ours.
async fn compare(ports: &Ports) -> Result<(), StoreError> {
    let since = Timestamp::from_micros(ports.clock.now().as_micros().saturating_sub(micros(LOOK_BACK)));
    let mut compared: Vec<SandboxTarget> = Vec::new();
    for (scope, version) in ports.sandbox_records.connections_used(since).await? {
        let Some(target) = target(ports, scope, version).await else { continue };
        if compared.contains(&target) {
            continue;
        }
        let there = match ports.sandboxes.list(&target).await {
            Ok(there) => there,
            // One that is away is asked again the next time.
            Err(error) => {
                tracing::warn!(error.code = error.code, "a server did not say which sandboxes it has");
                Vec::new()
            }
        };
        for id in ports.sandbox_records.gone_among(&there).await? {
            tracing::warn!(sandbox.id = %id, "a sandbox that was gone is there again");
            if let Err(error) = ports.sandboxes.terminate(&target, id, None).await {
                tracing::warn!(sandbox.id = %id, error.code = error.code, "sandbox was not removed");
            }
        }
        compared.push(target);
    }
    Ok(())
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The server of a connection version, with its key as it is at this moment.
async fn target(ports: &Ports, scope: Scope, version: VersionId) -> Option<SandboxTarget> {
    let version = ports.resources.versions(scope, &[version]).await.ok()?.pop()?;
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
