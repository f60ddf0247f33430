//! Removes executions whose time is over, a few at a time, and then the files that only they used.

use std::time::Duration;

use domain::error::StoreError;
use domain::execution::retention::{sweep_executions, sweep_files};
use tokio_util::sync::CancellationToken;

use crate::graphql::Services;

const PERIOD: Duration = Duration::from_hours(1);
/// Between two batches, so that whoever waits for the writer gets it.
const BREATH: Duration = Duration::from_millis(200);

/// Sweeps at once and then every hour, until `stop`.
pub async fn retain(services: Services, keep: Duration, stop: CancellationToken) {
    loop {
        let pause = match sweep(&services, keep).await {
            Ok(0) => PERIOD,
            Ok(_) => BREATH,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "retention did not finish");
                PERIOD
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// How many executions were removed; the files go when none is left to remove.
async fn sweep(services: &Services, keep: Duration) -> Result<usize, StoreError> {
    let now = services.clock.now();
    let executions = sweep_executions(&*services.retention, now, keep).await?;
    if executions > 0 {
        tracing::info!(executions, "executions were removed after their time");
    } else {
        let files = sweep_files(&*services.retention, &*services.artifacts, now, keep).await?;
        if files > 0 {
            tracing::info!(files, "files were removed after their time");
        }
    }
    Ok(executions)
}
