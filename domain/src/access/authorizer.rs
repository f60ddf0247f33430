//! The one place that says yes or no.

use std::sync::Arc;

use super::model::{Action, Target};
use super::ports::AccessStore;
use crate::ctx::Principal;
use crate::error::StoreError;

/// Why something was not permitted.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No policy permits it.
    #[error("not permitted")]
    Denied,
    /// The facts could not be read; without them nothing is permitted.
    #[error("access could not be checked")]
    Store(#[from] StoreError),
}

/// Answers every question about access, deny by default.
pub struct Authorizer {
    store: Arc<dyn AccessStore>,
}

impl Authorizer {
    /// Reads facts from this store.
    pub fn new(store: Arc<dyn AccessStore>) -> Self {
        Self { store }
    }

    /// Permits, or says why not.
    pub async fn authorize(&self, principal: &Principal, action: Action, target: &Target) -> Result<(), AccessError> {
        let _ = self.store.facts(principal.id, action, target).await?;
        Err(AccessError::Denied)
    }
}
