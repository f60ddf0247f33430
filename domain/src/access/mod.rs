//! Access: who may do what. One [`Authorizer`] answers every question; what it does not permit is denied.
//!
//! Policies are a small set of readable Cedar files; roles and grants are data. A principal's role in a project covers
//! people and API keys; a service identity has no role and may use only what it was granted. What a principal may not
//! see does not exist for it: the edge answers as for a wrong id.

mod authorizer;
mod model;
mod ports;

pub use authorizer::{AccessError, Authorizer, InvalidPolicies};
pub use model::{
    AccessFacts, Action, ApiKey, Grant, NewApiKey, PrincipalKind, Project, ProjectRole, ServiceIdentity, Session,
    SignInCode, Target, Tenant, Viewer,
};
pub use ports::{AccessStore, IdentityStore};
