//! A StopSignal tells the loop and the calls under way to end, and why.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

/// Why an execution is to end, or to be let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// A person wants it.
    Cancelled,
    /// The deadline passed.
    Deadline,
    /// The active time is used up.
    ActiveTime,
    /// Another worker holds the lease: write nothing more.
    LeaseLost,
}

/// One per claim. The first cause wins.
#[derive(Debug, Default)]
pub struct StopSignal {
    cause: OnceLock<StopCause>,
    token: CancellationToken,
    draining: CancellationToken,
    /// Monotonic microseconds after which no external call may start.
    no_start_after: AtomicU64,
}

impl StopSignal {
    /// Ends the calls under way; a later cause changes nothing.
    pub fn trip(&self, cause: StopCause) {
        let _ = self.cause.set(cause);
        self.token.cancel();
    }

    /// Asks the loop to give the execution back when the calls under way have settled.
    pub fn drain(&self) {
        self.draining.cancel();
    }

    /// Why it was tripped; None when it was not.
    pub fn cause(&self) -> Option<StopCause> {
        self.cause.get().copied()
    }

    /// Whether the execution is to be given back.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Set when the execution is to be given back.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }

    /// For the adapters: set when the call must end.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Moves the moment, on the monotonic clock, after which no external call may start.
    pub fn allow_starts_until(&self, monotonic: Duration) {
        let micros = u64::try_from(monotonic.as_micros()).unwrap_or(u64::MAX);
        self.no_start_after.store(micros, Ordering::Release);
    }

    /// Whether an external call may start: a stale write can be fenced, a stale request cannot.
    pub fn may_start(&self, clock: &dyn Clock) -> bool {
        let micros = u64::try_from(clock.monotonic().as_micros()).unwrap_or(u64::MAX);
        self.cause().is_none() && micros < self.no_start_after.load(Ordering::Acquire)
    }
}
