//! Principals, roles, grants and the questions that are asked about them.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{ApiKeyId, PrincipalId, ProjectId, ResourceId, TenantId};

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its id.
    pub id: TenantId,
    /// For people.
    pub name: String,
}

/// A project of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Unique in the tenant.
    pub slug: String,
    /// For people.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A program with a key.
    ApiKey,
    /// What an execution runs as.
    ServiceIdentity,
}

/// A principal, as it sees itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// Its id.
    pub id: PrincipalId,
    /// What it is.
    pub kind: PrincipalKind,
    /// For people.
    pub name: String,
    /// Its tenant.
    pub tenant: Tenant,
    /// The first project that it has a role in.
    pub default_project: Option<Project>,
}

/// What a principal may do in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProjectRole {
    /// Everything, access included.
    Owner,
    /// Resources and executions.
    Editor,
    /// Executions.
    Operator,
    /// Reading.
    Viewer,
}

impl ProjectRole {
    /// The name in the store and in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "OWNER",
            Self::Editor => "EDITOR",
            Self::Operator => "OPERATOR",
            Self::Viewer => "VIEWER",
        }
    }
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Action {
    /// See it.
    View,
    /// Change it, or make one in a project.
    Manage,
    /// Let an execution call it.
    Use,
    /// Start or cancel executions.
    Execute,
    /// Hand out keys and grants.
    ManageAccess,
    /// Set budget accounts and top up what is used up.
    ManageBudgets,
}

impl Action {
    /// The name in the store and in policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Manage => "manage",
            Self::Use => "use",
            Self::Execute => "execute",
            Self::ManageAccess => "manageAccess",
            Self::ManageBudgets => "manageBudgets",
        }
    }
}

/// What it is to be done to. The project decides about roles, the resource about grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The tenant that owns it.
    pub tenant_id: TenantId,
    /// The project that it belongs to.
    pub project_id: ProjectId,
    /// The resource; None for the project itself and its executions.
    pub resource_id: Option<ResourceId>,
}

/// What one read of the store tells about a principal and a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessFacts {
    /// What the principal is.
    pub kind: PrincipalKind,
    /// The principal's role in the target's project.
    pub role: Option<ProjectRole>,
    /// Whether the principal has a grant for this action on the target's resource.
    pub has_grant: bool,
}

/// A grant: lets a principal take an action on a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The tenant of both.
    pub tenant_id: TenantId,
    /// Who.
    pub principal_id: PrincipalId,
    /// What.
    pub action: Action,
    /// On which resource.
    pub resource_id: ResourceId,
}

/// What an agent's executions run as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceIdentity {
    /// The principal.
    pub principal_id: PrincipalId,
    /// The agent.
    pub agent_id: ResourceId,
}

/// An API key's row. The secret itself is shown once and stored nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id.
    pub id: ApiKeyId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its project.
    pub project_id: ProjectId,
    /// The principal that its bearer is.
    pub principal_id: PrincipalId,
    /// For people.
    pub name: String,
    /// The first characters of the secret, to recognise it by.
    pub prefix: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// An API key that is about to be stored, with its principal's role.
#[derive(Debug, Clone)]
pub struct NewApiKey {
    /// The row.
    pub key: ApiKey,
    /// Hexadecimal SHA-256 of the secret.
    pub secret_hash: String,
    /// Role in the key's project.
    pub role: ProjectRole,
}

/// A one-time code that signs a principal in to Studio.
#[derive(Debug, Clone)]
pub struct SignInCode {
    /// Hexadecimal SHA-256 of the code.
    pub code_hash: String,
    /// Who signs in with it.
    pub principal_id: PrincipalId,
    /// Their tenant.
    pub tenant_id: TenantId,
    /// When it stops working.
    pub expires_at: Timestamp,
}

/// A signed-in browser.
#[derive(Debug, Clone)]
pub struct Session {
    /// Hexadecimal SHA-256 of the cookie's value.
    pub token_hash: String,
    /// Who is signed in.
    pub principal_id: PrincipalId,
    /// Their tenant.
    pub tenant_id: TenantId,
    /// When it ends.
    pub expires_at: Timestamp,
}
