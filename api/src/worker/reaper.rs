//! The reaper sweeps away sandboxes that a lost worker left behind, and now and then compares what the
//! servers have with the records.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::{Ports, compare, sweep};
use tokio_util::sync::CancellationToken;

const PERIOD: Duration = Duration::from_secs(10);
/// Sweeps between two comparisons.
const COMPARED_EVERY: u32 = 6;

/// Sweeps at once and then every few seconds, until `stop`.
pub async fn reap(ports: Arc<Ports>, stop: CancellationToken) {
    for round in 0_u32.. {
        if let Err(error) = sweep(&ports).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "stray sandboxes were not listed");
        }
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
