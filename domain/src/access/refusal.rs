//! A Refusal says why a use case did nothing. What its caller can mend is a list of faults, all of them at once.
//!
//! What a principal may not see is answered like what does not exist: same code, same words.

use super::authorizer::{AccessError, Authorizer};
use super::model::{Action, Target};
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};

/// Why a use case did nothing.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Faults in what the caller sent, or things that it may not do; each with its field.
    #[error("the request was refused")]
    Faults(Vec<InvalidInput>),
    /// The store did not answer.
    #[error("the store did not answer")]
    Store(#[from] StoreError),
    /// The secret could not be sealed.
    #[error("the secret could not be sealed")]
    Seal(#[source] crate::resource::SecretError),
}

impl From<InvalidInput> for Refusal {
    fn from(fault: InvalidInput) -> Self {
        Self::Faults(vec![fault])
    }
}

impl Refusal {
    /// There is nothing of that id for this caller.
    pub fn not_found(path: &[&str]) -> Self {
        not_found(path).into()
    }
}

/// The fault of an id behind which there is nothing for this caller.
pub fn not_found(path: &[&str]) -> InvalidInput {
    fault(path, "NOT_FOUND", "there is nothing with this id that you may see")
}

/// The fault of an action that needs another role or a grant.
pub fn forbidden(path: &[&str]) -> InvalidInput {
    fault(path, "FORBIDDEN", "you may see this but not do this with it; ask an owner of the project for the role")
}

pub(crate) fn fault(path: &[&str], code: &'static str, message: impl Into<String>) -> InvalidInput {
    InvalidInput { path: path.iter().map(ToString::to_string).collect(), code, message: message.into() }
}

/// Asks for an action. A refusal names the field at `path`, and says no more than the principal may know.
pub async fn require(
    op: &OpContext,
    authorizer: &Authorizer,
    action: Action,
    target: &Target,
    path: &[&str],
) -> Result<(), Refusal> {
    if may(op, authorizer, action, target).await? {
        return Ok(());
    }
    if action != Action::View && may(op, authorizer, Action::View, target).await? {
        return Err(forbidden(path).into());
    }
    Err(Refusal::not_found(path))
}

/// Whether the principal may; only the store's failure is an error.
pub async fn may(op: &OpContext, authorizer: &Authorizer, action: Action, target: &Target) -> Result<bool, StoreError> {
    match authorizer.authorize(&op.principal, action, target).await {
        Ok(()) => Ok(true),
        Err(AccessError::Denied) => Ok(false),
        Err(AccessError::Store(error)) => Err(error),
    }
}
