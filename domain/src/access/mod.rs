//! Access: who may do what. One [`Authorizer`] answers every question; what it does not permit is denied.
//!
//! Policies are a small set of readable Cedar files; roles and grants are data. A principal's role in a project covers
//! people and API keys; a service identity has no role and may use only what it was granted. What a principal may not
//! see does not exist for it: the edge answers as for a wrong id.

mod api_key;
mod authorizer;
mod grants;
mod model;
mod ports;
mod refusal;
mod sign_in;

pub use api_key::{ApiKeyPorts, CreateApiKey, CreatedApiKey, SECRET_PREFIX, create_api_key, revoke_api_key};
pub use authorizer::{AccessError, Authorizer, InvalidPolicies};
pub use grants::{GrantPorts, create_grant, revoke_grant};
pub use model::{
    AccessFacts, Action, ApiKey, Grant, NewApiKey, PrincipalKind, Project, ProjectRole, ServiceIdentity, Session,
    SignInCode, Target, Tenant, Viewer,
};
pub use ports::{AccessStore, IdentityStore};
pub(crate) use refusal::fault;
pub use refusal::{Refusal, forbidden, may, not_found, require};
pub use sign_in::{
    CODE_LIFETIME, OpenedSession, SESSION_LIFETIME, SignedIn, by_api_key, by_session, issue_code, redeem_code,
};
