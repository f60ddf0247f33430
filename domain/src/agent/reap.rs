//! Removes sandboxes that a lost worker left behind.
//!
//! [`sweep`] goes by the records: a row is to be removed until its server was seen not to have it, or had to remove it long
//! ago without ever having said that it made it. [`compare`] asks the servers what they have and removes what is recorded as
//! gone: a create or a renewal whose answer was lost may have come through after somebody looked.

use std::time::Duration;

use super::claim::Ports;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::sandbox::{LONGEST_TTL, Sandbox, SandboxTarget, target_of};

const BATCH: u32 = 100;
/// A server that failed so often in a sweep is not asked further in it: the others wait behind it.
const PATIENCE: usize = 3;
/// Records are compared for so long after the end of the longest life.
const LATE: Duration = Duration::from_hours(1);

/// Removes what the records say is to be removed.
pub async fn sweep(ports: &Ports) -> Result<(), StoreError> {
    let mut failed = Vec::new();
    let mut after = None;
    loop {
        let strays = ports.executions.stray_sandboxes(after, BATCH).await?;
        for (execution, sandbox) in &strays {
            let is_gone = remove(ports, execution.scope(), sandbox, &mut failed).await;
            if !is_gone && !sandbox.is_past_being(ports.clock.now()) {
                continue;
            }
            if let Err(error) = ports.executions.sandbox_gone(*execution, sandbox.id).await {
                tracing::warn!(sandbox.id = %sandbox.id, error = &error as &dyn std::error::Error, "removal was not noted");
            }
        }
        after = strays.last().map(|(_, sandbox)| sandbox.id);
        if strays.len() < BATCH as usize {
            return Ok(());
        }
    }
}

/// Whether the server was seen not to have it any more.
async fn remove(ports: &Ports, scope: Scope, sandbox: &Sandbox, failed: &mut Vec<SandboxTarget>) -> bool {
    let Some(target) = target_of(&*ports.resources, &*ports.secrets, scope, sandbox.connection_version).await else {
        return false;
    };
    if failed.iter().filter(|failed| **failed == target).count() >= PATIENCE {
        return false;
    }
    match ports.sandboxes.terminate(&target, sandbox.id, sandbox.remote_id.as_deref()).await {
        Ok(()) => true,
        Err(error) => {
            let version = sandbox.connection_version;
            tracing::warn!(
                sandbox.id = %sandbox.id, connection.version = %version, error.code = error.code, "stray was not removed"
            );
            failed.push(target);
            false
        }
    }
}

/// Removes what servers have and the records say is gone. What carries a label that is not in them is not ours.
pub async fn compare(ports: &Ports) -> Result<(), StoreError> {
    let since = ports.clock.now().minus(LONGEST_TTL + LATE);
    let mut compared: Vec<SandboxTarget> = Vec::new();
    for (scope, version) in ports.sandbox_records.connections_used(since).await? {
        let Some(target) = target_of(&*ports.resources, &*ports.secrets, scope, version).await else { continue };
        if compared.contains(&target) {
            continue;
        }
        let there = match ports.sandboxes.list(&target).await {
            Ok(there) => there,
            // One that is away is asked again the next time.
            Err(error) => {
                tracing::warn!(
                    connection.version = %version, error.code = error.code, "a server did not say which sandboxes it has"
                );
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
