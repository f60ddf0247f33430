//! What access needs from the store.

use async_trait::async_trait;

use super::model::{
    AccessFacts, Action, ApiKey, Grant, NewApiKey, Project, ProjectRole, ServiceIdentity, Session, SignInCode, Target,
    Tenant, Viewer,
};
use crate::clock::Timestamp;
use crate::ctx::{Page, PageRequest, Principal, Scope};
use crate::error::StoreError;
use crate::ids::{ApiKeyId, PrincipalId, ProjectId, ResourceId};

/// Facts for decisions, and the grants behind them.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// What is known about a principal and a target, in one read. None when the principal is not of the target's tenant
    /// or does not exist.
    async fn facts(
        &self,
        principal: PrincipalId,
        action: Action,
        target: &Target,
    ) -> Result<Option<AccessFacts>, StoreError>;

    /// Adds a grant; adding it again changes nothing.
    async fn grant(&self, grant: Grant) -> Result<(), StoreError>;

    /// Removes a grant; false when there was none.
    async fn revoke(&self, grant: Grant) -> Result<bool, StoreError>;

    /// Makes the service identity of an agent, or finds the one that it has.
    async fn ensure_service_identity(
        &self,
        scope: Scope,
        identity: ServiceIdentity,
    ) -> Result<ServiceIdentity, StoreError>;

    /// The service identity of an agent.
    async fn service_identity(&self, scope: Scope, agent: ResourceId) -> Result<Option<ServiceIdentity>, StoreError>;
}

/// Tenants, projects, people, keys and sessions.
#[async_trait]
pub trait IdentityStore: Send + Sync {
    /// Creates a tenant with its first project and a user who owns it. `Conflict` when the tenant exists.
    async fn create_tenant(
        &self,
        tenant: &Tenant,
        project: &Project,
        owner: PrincipalId,
        owner_name: &str,
    ) -> Result<(), StoreError>;

    /// Any tenant's owner; None on an empty store. The embedded default signs its one person in with it.
    async fn first_owner(&self) -> Result<Option<Principal>, StoreError>;

    /// A principal as it sees itself.
    async fn viewer(&self, principal: Principal) -> Result<Option<Viewer>, StoreError>;

    /// The projects with these ids; missing ones are left out.
    async fn projects(&self, scope: Scope, ids: &[ProjectId]) -> Result<Vec<Project>, StoreError>;

    /// Every project of the tenant, whoever has a role in it.
    async fn project_ids(&self, scope: Scope) -> Result<Vec<ProjectId>, StoreError>;

    /// A page of the projects that the principal has a role in, by slug.
    async fn list_projects(&self, principal: Principal, page: PageRequest) -> Result<Page<Project>, StoreError>;

    /// Gives a principal a role in a project, in place of the one it had.
    async fn set_role(
        &self,
        scope: Scope,
        principal: PrincipalId,
        project: ProjectId,
        role: ProjectRole,
    ) -> Result<(), StoreError>;

    /// Stores an API key, its principal and its role.
    async fn create_api_key(&self, new: &NewApiKey) -> Result<(), StoreError>;

    /// The key with this secret's hash, revoked and expired ones included.
    async fn api_key_by_hash(&self, secret_hash: &str) -> Result<Option<ApiKey>, StoreError>;

    /// The key with this id.
    async fn api_key(&self, scope: Scope, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError>;

    /// Revokes a key; revoking again keeps the first time. None when there is no such key.
    async fn revoke_api_key(&self, scope: Scope, id: ApiKeyId, at: Timestamp) -> Result<Option<ApiKey>, StoreError>;

    /// Stores a one-time code.
    async fn add_sign_in_code(&self, code: &SignInCode) -> Result<(), StoreError>;

    /// Uses a code up and opens a session in one transaction; None when the code is unknown, used or expired at `now`.
    async fn redeem_sign_in_code(
        &self,
        code_hash: &str,
        now: Timestamp,
        session_token_hash: &str,
        session_expires_at: Timestamp,
    ) -> Result<Option<Session>, StoreError>;

    /// The session with this cookie's hash, expired ones included.
    async fn session_by_hash(&self, token_hash: &str) -> Result<Option<Session>, StoreError>;
}
