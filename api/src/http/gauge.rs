//! A Gauge counts what is open. It goes down when the guard is dropped, however the holder ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of open things. Clones share it.
#[derive(Clone, Default)]
pub struct Gauge(Arc<AtomicUsize>);

impl Gauge {
    /// How many are open.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    pub(super) fn enter(&self) -> Open {
        self.0.fetch_add(1, Ordering::AcqRel);
        Open(self.clone())
    }
}

/// One open thing.
pub(super) struct Open(Gauge);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
