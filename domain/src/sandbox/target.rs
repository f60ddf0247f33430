//! A target is the server of a connection, with its key as it is at the moment of the call.
//!
//! Rule: what was pinned is the address; the key is the newest that was published, so that a rotated one is used at once.

use super::model::SandboxTarget;
use crate::ctx::Scope;
use crate::ids::VersionId;
use crate::resource::{ResourceStore, SecretStore, Spec};

/// The server of a connection version; None when it, or its key, cannot be had.
pub(crate) async fn target_of(
    resources: &dyn ResourceStore,
    secrets: &dyn SecretStore,
    scope: Scope,
    version: VersionId,
) -> Option<SandboxTarget> {
    let version = resources.versions(scope, &[version]).await.ok()?.pop()?;
    let Spec::SandboxConnection(connection) = version.spec else { return None };
    let api_key = match connection.credential_id {
        None => None,
        Some(credential) => {
            let version = resources.latest_published(scope, &[credential]).await.ok()?.pop()?;
            let Spec::Credential(spec) = version.spec else { return None };
            Some(secrets.open(&version.id.to_string(), &spec.sealed).ok()?)
        }
    };
    Some(SandboxTarget::new(connection, api_key))
}
