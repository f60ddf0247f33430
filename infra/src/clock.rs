//! The system's clock and randomness: the one place that reads either.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use domain::clock::{Clock, Entropy, Timestamp};

/// The operating system's clocks and tokio's timer.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time begins here.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait::async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this adapter is where the time that is passed in comes from")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The operating system's source of randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        if let Err(error) = getrandom::fill(buffer) {
            tracing::error!(error = &error as &dyn std::error::Error, "the system gives no randomness");
            // Ids and keys made without randomness could be guessed; a process without it must not go on.
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back_and_the_wall_clock_is_in_this_century() {
        let clock = SystemClock::new();
        let earlier = clock.monotonic();
        assert!(clock.monotonic() >= earlier);
        assert!(clock.now() > Timestamp::from_micros(1_700_000_000_000_000));
    }

    #[test]
    fn two_fills_differ() {
        let (mut a, mut b) = ([0_u8; 32], [0_u8; 32]);
        OsEntropy.fill(&mut a);
        OsEntropy.fill(&mut b);
        assert_ne!(a, b);
    }
}
