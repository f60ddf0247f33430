//! The operations that a socket has open, by the id that the peer gave them.
//!
//! The rule: an id is free again when the peer gave it up, or when the message that ends it is about to be written.
//! A peer that gives an id up and takes it again never receives what the earlier operation had left in the queue, for
//! its token is cancelled by then.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The open operations of one socket. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Live(Arc<Mutex<HashMap<String, Operation>>>);

struct Operation {
    serial: u64,
    token: CancellationToken,
}

impl Live {
    /// Takes the id for an operation, which has a serial number of its own; false when the id is in use.
    pub(super) fn open(&self, id: &str, serial: u64, token: &CancellationToken) -> bool {
        match self.lock().entry(id.to_owned()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(Operation { serial, token: token.clone() });
                true
            }
        }
    }

    /// Frees the id at the peer's wish and stops its operation.
    pub(super) fn stop(&self, id: &str) {
        if let Some(operation) = self.lock().remove(id) {
            operation.token.cancel();
        }
    }

    /// Frees the id because its operation has ended; false when the peer gave it up before.
    pub(super) fn end(&self, id: &str, serial: u64) -> bool {
        match self.lock().entry(id.to_owned()) {
            Entry::Occupied(taken) if taken.get().serial == serial => {
                taken.remove();
                true
            }
            Entry::Occupied(_) | Entry::Vacant(_) => false,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// No code panics while it holds the lock, and the map is whole after each call.
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Operation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_was_taken_again_is_not_freed_by_its_earlier_operation() {
        let live = Live::default();
        let (first, second) = (CancellationToken::new(), CancellationToken::new());
        assert!(live.open("1", 1, &first));
        assert!(!live.open("1", 2, &second));
        live.stop("1");
        assert!(first.is_cancelled());
        assert!(live.open("1", 2, &second));
        assert!(!live.end("1", 1), "the peer gave it up before it ended");
        assert_eq!(live.count(), 1);
        assert!(live.end("1", 2));
        assert!(!second.is_cancelled() && live.count() == 0);
    }
}
