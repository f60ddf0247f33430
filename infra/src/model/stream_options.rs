//! Which endpoints refuse `stream_options`, by which a stream is asked to end with its usage.
//!
//! Most know it, some answer 400 to it. Who refused once is asked without it as long as this process lives; its calls
//! then have no usage unless it sends some anyway.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More endpoints than an installation has; what is beyond is asked twice in every call.
const MAX_ENDPOINTS: usize = 1024;

/// Remembers them by base URL.
#[derive(Debug, Default)]
pub(super) struct StreamOptions {
    refused_by: Mutex<BTreeSet<String>>,
}

impl StreamOptions {
    pub(super) fn are_known_to(&self, base_url: &str) -> bool {
        !self.lock().contains(base_url)
    }

    pub(super) fn note_refusal(&self, base_url: &str) {
        let mut refused_by = self.lock();
        if refused_by.len() < MAX_ENDPOINTS {
            refused_by.insert(base_url.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.refused_by.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an error text complains about the option.
pub(super) fn is_complaint(text: &str) -> bool {
    ["stream_options", "include_usage"].iter().any(|word| text.contains(word))
}
