//! API keys as the API shows them: never the secret.

use async_graphql::{Context, Enum, ID, SimpleObject};
use domain::access::{self, AccessError, Action, Target};
use domain::ids::ApiKeyId;

use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::scalar::DateTime;

/// An API key. The secret itself is shown once, when it is made.
#[derive(SimpleObject)]
pub struct ApiKey {
    /// Its id.
    #[graphql(owned)]
    pub id: ID,
    /// For people.
    name: String,
    /// The first characters of the secret, to recognise it by.
    prefix: String,
    /// When it was made.
    created_at: DateTime,
    /// When it stops working.
    expires_at: Option<DateTime>,
    /// When it was revoked.
    revoked_at: Option<DateTime>,
}

impl From<access::ApiKey> for ApiKey {
    fn from(key: access::ApiKey) -> Self {
        Self {
            id: key.id.to_string().into(),
            name: key.name,
            prefix: key.prefix,
            created_at: key.created_at.into(),
            expires_at: key.expires_at.map(DateTime),
            revoked_at: key.revoked_at.map(DateTime),
        }
    }
}

/// What a principal may do in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "access::ProjectRole")]
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

/// An API key, if the caller may hand out keys of its project.
pub async fn visible_api_key(ctx: &Context<'_>, id: ApiKeyId) -> Result<Option<ApiKey>, ApiError> {
    let (principal, services) = (ctx.principal()?, ctx.services()?);
    let Some(key) = services.identity.api_key(principal.scope(), id).await? else {
        return Ok(None);
    };
    let target = Target { tenant_id: key.tenant_id, project_id: key.project_id, resource_id: None };
    match services.authorizer.authorize(&principal, Action::ManageAccess, &target).await {
        Ok(()) => Ok(Some(key.into())),
        Err(AccessError::Denied) => Ok(None),
        Err(error @ AccessError::Store(_)) => Err(error.into()),
    }
}
