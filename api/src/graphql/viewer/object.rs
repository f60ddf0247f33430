//! Viewer, Tenant and Project as the API shows them.

use async_graphql::{Enum, ID, SimpleObject};
use domain::access;

use crate::graphql::scalar::DateTime;

/// The principal behind the request.
#[derive(SimpleObject)]
pub struct Viewer {
    /// Its id.
    id: ID,
    /// For people.
    name: String,
    /// What it is.
    kind: PrincipalKind,
    /// The organisation that it belongs to.
    tenant: Tenant,
    /// The first project that it has a role in.
    default_project: Option<Project>,
}

impl From<access::Viewer> for Viewer {
    fn from(viewer: access::Viewer) -> Self {
        Self {
            id: viewer.id.to_string().into(),
            name: viewer.name,
            kind: viewer.kind.into(),
            tenant: viewer.tenant.into(),
            default_project: viewer.default_project.map(Project::from),
        }
    }
}

/// What a principal is. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "access::PrincipalKind")]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A program with a key.
    ApiKey,
    /// What an execution runs as.
    ServiceIdentity,
}

/// An organisation. Nothing crosses it.
#[derive(SimpleObject)]
pub struct Tenant {
    /// Its id.
    #[graphql(owned)]
    pub id: ID,
    /// For people.
    name: String,
}

impl From<access::Tenant> for Tenant {
    fn from(tenant: access::Tenant) -> Self {
        Self { id: tenant.id.to_string().into(), name: tenant.name }
    }
}

/// A project: resources, executions, and who may do what with them.
#[derive(SimpleObject)]
pub struct Project {
    /// Its id.
    #[graphql(owned)]
    pub id: ID,
    /// For people.
    name: String,
    /// Unique in the tenant.
    slug: String,
    /// When it was made.
    created_at: DateTime,
}

impl From<access::Project> for Project {
    fn from(project: access::Project) -> Self {
        Self {
            id: project.id.to_string().into(),
            name: project.name,
            slug: project.slug,
            created_at: project.created_at.into(),
        }
    }
}
