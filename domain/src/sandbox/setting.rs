//! A Setting is what the programs of a tool call get beside what every sandbox has, and the secrets among it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::redact::Redactor;
use crate::ids::ToolCallId;
use crate::resource::SandboxProfileSpec;

/// What the programs of a tool call get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setting {
    /// Name or number of the user that programs run as; None for the image's own.
    pub user: Option<String>,
    /// The variables that the profile declares, and those with the paths of credential files.
    pub environment: BTreeMap<String, String>,
    /// The tool call that programs and attempts to reach the network belong to.
    pub call: Option<ToolCallId>,
    /// What must not come back in the clear.
    pub secrets: Secrets,
}

impl Setting {
    /// What a profile declares.
    pub fn new(profile: &SandboxProfileSpec, secrets: Secrets) -> Self {
        Self { user: profile.user.clone(), environment: profile.environment.clone(), call: None, secrets }
    }
}

/// The secrets that were ever put into the sandboxes of a claim. Clones share them; `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<Arc<Redactor>>>);

impl Secrets {
    /// Adds one. From here on nothing that comes back tells it, in this sandbox and in those that get its workspace.
    pub fn add(&self, name: &str, secret: &str) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut redactor = Redactor::clone(&current);
        redactor.add(name, secret);
        *current = Arc::new(redactor);
    }

    /// What finds all that were added so far.
    pub fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Secrets {}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.redactor().fmt(f)
    }
}
