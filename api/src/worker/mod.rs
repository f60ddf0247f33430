//! A Worker claims executions and runs them, several at a time, each in a tracked task.
//!
//! It stops in order: no more claims, every run settles the calls under way and gives its execution back, then the task
//! tracker is empty. It holds no state of its own: what it loses with its process is found again in the store.

mod reaper;
mod retention;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::agent::{Ports, run};
use domain::execution::{Claimed, StopSignal};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::live::Live;

pub use reaper::reap;
pub use retention::retain;

/// How long to wait for a wake-up before looking for work: leases of other workers run out without one.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// One worker of a process.
pub struct Worker {
    ports: Arc<Ports>,
    live: Arc<Live>,
    owner: String,
    places: Arc<Semaphore>,
    signals: Mutex<Vec<std::sync::Weak<StopSignal>>>,
}

impl Worker {
    /// A worker that runs `concurrency` executions at a time under this name.
    pub fn new(ports: Arc<Ports>, live: Arc<Live>, owner: String, concurrency: usize) -> Self {
        Self { ports, live, owner, places: Arc::new(Semaphore::new(concurrency)), signals: Mutex::default() }
    }

    /// Claims and runs until `stop`; returns when every run has ended or was given back.
    pub async fn work(&self, stop: CancellationToken) {
        let runs = TaskTracker::new();
        loop {
            let place = tokio::select! {
                () = stop.cancelled() => break,
                place = Arc::clone(&self.places).acquire_owned() => place,
            };
            let (Ok(place), Some(claimed)) = (place, self.next(&stop).await) else { break };
            let signal = Arc::new(StopSignal::default());
            self.remember(&signal);
            let ports = Arc::clone(&self.ports);
            runs.spawn(async move {
                let id = claimed.execution.id;
                let ended = Box::pin(run(ports, claimed, signal)).await;
                tracing::info!(execution.id = %id, outcome = ?ended, "claim ended");
                drop(place);
            });
        }
        for signal in self.signals.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if let Some(signal) = signal.upgrade() {
                signal.drain();
            }
        }
        runs.close();
        runs.wait().await;
    }

    /// The next execution to run; None when the worker stops.
    async fn next(&self, stop: &CancellationToken) -> Option<Claimed> {
        loop {
            if stop.is_cancelled() {
                return None;
            }
            match self.ports.executions.claim_next(&self.owner, self.ports.lease).await {
                Ok(Some(claimed)) => return Some(claimed),
                Ok(None) => {}
                Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "no execution was claimed"),
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = self.live.queued() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    fn remember(&self, signal: &Arc<StopSignal>) {
        let mut signals = self.signals.lock().unwrap_or_else(PoisonError::into_inner);
        signals.retain(|signal| signal.strong_count() > 0);
        signals.push(Arc::downgrade(signal));
    }
}
