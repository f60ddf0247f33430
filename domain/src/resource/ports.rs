//! What the rules of resources need from outside.

use async_trait::async_trait;

use super::model::{NewVersion, Resource, ResourceKind, ResourceVersion, SealedSecret};
use crate::clock::Timestamp;
use crate::ctx::{Page, PageRequest, Scope};
use crate::error::StoreError;
use crate::ids::{ProjectId, ResourceId, VersionId};

/// Keeps resources and their versions.
///
/// Every finder takes a tenant's [`Scope`]; what belongs to another tenant is not found.
#[async_trait]
pub trait ResourceStore: Send + Sync {
    /// Stores a resource and its first version. `Conflict` when project, kind and slug are taken.
    async fn create(&self, resource: &Resource, first: &NewVersion) -> Result<ResourceVersion, StoreError>;

    /// Stores the next version of a resource; its number is one more than the greatest there is. None when there is no
    /// such resource.
    async fn add_version(&self, scope: Scope, version: &NewVersion) -> Result<Option<ResourceVersion>, StoreError>;

    /// Publishes a draft. Publishing what is published changes nothing. None when there is no such version.
    async fn publish(&self, scope: Scope, id: VersionId, at: Timestamp) -> Result<Option<ResourceVersion>, StoreError>;

    /// Archives a resource; archiving again keeps the first time. None when there is no such resource.
    async fn archive(&self, scope: Scope, id: ResourceId, at: Timestamp) -> Result<Option<Resource>, StoreError>;

    /// The resources with these ids, in no order; missing ones are left out.
    async fn resources(&self, scope: Scope, ids: &[ResourceId]) -> Result<Vec<Resource>, StoreError>;

    /// The versions with these ids, in no order; missing ones are left out.
    async fn versions(&self, scope: Scope, ids: &[VersionId]) -> Result<Vec<ResourceVersion>, StoreError>;

    /// The newest published version of each of these resources; resources without one are left out.
    async fn latest_published(&self, scope: Scope, ids: &[ResourceId]) -> Result<Vec<ResourceVersion>, StoreError>;

    /// A page of a project's resources of one kind, archived ones included, by slug.
    async fn list(
        &self,
        scope: Scope,
        project: ProjectId,
        kind: ResourceKind,
        page: PageRequest,
    ) -> Result<Page<Resource>, StoreError>;

    /// A page of a resource's versions, newest first.
    async fn list_versions(
        &self,
        scope: Scope,
        resource: ResourceId,
        page: PageRequest,
    ) -> Result<Page<ResourceVersion>, StoreError>;
}

/// Why a secret could not be sealed or opened. Never carries the secret.
#[derive(Debug, thiserror::Error)]
#[error("the secret cannot be opened with the key of this installation")]
pub struct SecretError;

/// Seals secrets for storage and opens them for one use.
pub trait SecretStore: Send + Sync {
    /// Seals a secret; `label` (the version's id) is bound to it, so that ciphertexts cannot be swapped.
    fn seal(&self, label: &str, secret: &str) -> Result<SealedSecret, SecretError>;

    /// Opens what was sealed under the same label.
    fn open(&self, label: &str, sealed: &SealedSecret) -> Result<String, SecretError>;
}
