//! The heartbeat keeps the lease, reads the inbox, and watches the time.

use std::time::Duration;

use futures_util::future::select;

use super::claim::Claim;
use super::commands::apply;
use super::run::Ended;
use super::sandbox_idle;
use crate::error::StoreError;
use crate::execution::StopCause;

const PERIOD: Duration = Duration::from_secs(1);

/// Beats until it is dropped; it never ends by itself.
pub(super) async fn beat(claim: &Claim) -> Ended {
    for command in &claim.commands {
        apply(claim, command).await;
    }
    loop {
        pause(claim).await;
        watch_time(claim);
        sandbox_idle::retire(claim).await;
        renew(claim).await;
    }
}

/// Waits a period, or less when time runs out or a command arrives earlier.
async fn pause(claim: &Claim) {
    let period = claim.time_left().filter(|left| !left.is_zero()).map_or(PERIOD, |left| left.min(PERIOD));
    let command = claim.ports.commands.command(claim.execution.reference());
    select(claim.ports.clock.sleep(period), command).await;
}

fn watch_time(claim: &Claim) {
    if let Some(cause) = claim.out_of_time() {
        claim.signal.trip(cause);
    }
}

async fn renew(claim: &Claim) {
    if claim.journal.is_lost() {
        // What cannot be written must not keep others from the execution.
        claim.signal.trip(StopCause::LeaseLost);
        return;
    }
    let asked_at = claim.ports.clock.monotonic();
    let lease = claim.ports.lease;
    match claim.ports.executions.renew(claim.execution.reference(), claim.execution.epoch, lease).await {
        Ok(renewal) => {
            claim.signal.allow_starts_until(asked_at + lease.mul_f32(0.8));
            for command in &renewal.commands {
                apply(claim, command).await;
            }
        }
        Err(StoreError::LeaseLost) => claim.signal.trip(StopCause::LeaseLost),
        Err(error) => {
            tracing::warn!(execution.id = %claim.execution.id, error = &error as &dyn std::error::Error, "lease was not renewed");
        }
    }
}
