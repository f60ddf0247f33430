//! Gives up a sandbox that no tool has used for the idle time of its profile.
//!
//! The row says that it is to be removed, and the reaper removes it; the next tool gets a new one with the same workspace.
//! Nothing here waits for a server: it runs beside the renewal of the lease.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::claim::Claim;
use super::sandbox_session::save;
use crate::sandbox::{Sandbox, SandboxState};

/// Who uses the live sandbox, and since when nobody does.
#[derive(Debug, Default)]
pub(super) struct Usage(Mutex<Uses>);

#[derive(Debug, Default)]
struct Uses {
    count: u32,
    ended_at: Duration,
}

impl Usage {
    /// A tool begins to use it.
    pub fn begin(&self) {
        self.uses().count += 1;
    }

    /// A tool has used it.
    pub fn end(&self, now: Duration) {
        let mut uses = self.uses();
        uses.count = uses.count.saturating_sub(1);
        uses.ended_at = now;
    }

    fn is_idle(&self, now: Duration, longest: Duration) -> bool {
        let uses = self.uses();
        uses.count == 0 && now.saturating_sub(uses.ended_at) >= longest
    }

    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives up the sandbox if it is idle.
pub(super) async fn retire(claim: &Claim) {
    let Some(row) = take_idle(claim) else { return };
    let row = Sandbox { state: SandboxState::KillPending, ..row };
    tracing::info!(sandbox.id = %row.id, "idle sandbox is given up");
    // A journal that is lost stops the run by itself.
    let _ = save(claim, &row, Vec::new()).await;
}

fn take_idle(claim: &Claim) -> Option<Sandbox> {
    let profile = &claim.pinned.get()?.sandbox.as_ref()?.profile;
    let longest = Duration::from_secs(profile.idle_ttl_seconds?.into());
    // Whoever holds the lock is about to use it.
    let mut live = claim.sandbox.live.try_lock()?;
    if !claim.sandbox.usage.is_idle(claim.ports.clock.monotonic(), longest) {
        return None;
    }
    let (row, _) = live.take()?;
    claim.sandbox.note_lost();
    Some(row)
}
