//! Handing out keys and grants, and taking them back.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use domain::access::{self, CreateApiKey};
use domain::ids::{ApiKeyId, ResourceId};

use super::object::{ApiKey, ProjectRole};
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::scalar::DateTime;
use crate::graphql::user_error::{Faults, Parsed, UserError, outcome};

/// The key that is wanted.
#[derive(InputObject)]
pub struct ApiKeyCreateInput {
    /// The project that it is bound to.
    project_id: ID,
    /// For people.
    name: String,
    /// What its bearer may do.
    role: ProjectRole,
    /// When it stops working; never when left out.
    expires_at: Option<DateTime>,
}

/// The new key and its secret, or what is wrong.
#[derive(SimpleObject)]
pub struct ApiKeyCreatePayload {
    /// The key; null when there are user errors.
    api_key: Option<ApiKey>,
    /// The secret, shown once: send it as `Authorization: Bearer <secret>`.
    secret: Option<String>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// The key that is to end.
#[derive(InputObject)]
pub struct ApiKeyRevokeInput {
    /// The key.
    api_key_id: ID,
}

/// The key as it stands, or what is wrong.
#[derive(SimpleObject)]
pub struct ApiKeyRevokePayload {
    /// The key; null when there are user errors.
    api_key: Option<ApiKey>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// A grant: lets an agent's service identity use a resource.
#[derive(InputObject)]
pub struct GrantInput {
    /// The agent whose service identity gets the grant.
    agent_id: ID,
    /// A resource.
    resource_id: ID,
}

/// Whether the agent has the grant, or what is wrong.
#[derive(SimpleObject)]
pub struct GrantPayload {
    /// Whether the agent has the grant after this call; it says nothing when there are user errors.
    granted: bool,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Keys and grants.
#[derive(Default)]
pub struct AccessMutation;

#[Object]
impl AccessMutation {
    /// Makes an API key; needs the role owner.
    async fn api_key_create(
        &self,
        ctx: &Context<'_>,
        input: ApiKeyCreateInput,
    ) -> Result<ApiKeyCreatePayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.api_key_ports());
        let result = match input.read().checked(|_| Vec::new()) {
            Ok(request) => access::create_api_key(&op, &ports, request).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(created) => ApiKeyCreatePayload {
                api_key: Some(created.key.into()),
                secret: Some(created.secret),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ApiKeyCreatePayload { api_key: None, secret: None, user_errors },
        })
    }

    /// Ends an API key at once; needs the role owner.
    async fn api_key_revoke(
        &self,
        ctx: &Context<'_>,
        input: ApiKeyRevokeInput,
    ) -> Result<ApiKeyRevokePayload, ApiError> {
        let (op, ports, mut faults) = (ctx.op()?, ctx.services()?.api_key_ports(), Faults::default());
        let id: ApiKeyId = faults.id(&["apiKeyId"], &input.api_key_id);
        let result = match faults.with(id).checked(|_| Vec::new()) {
            Ok(id) => access::revoke_api_key(&op, &ports, id).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(key) => ApiKeyRevokePayload { api_key: Some(key.into()), user_errors: Vec::new() },
            Err(user_errors) => ApiKeyRevokePayload { api_key: None, user_errors },
        })
    }

    /// Lets an agent use a resource; needs the role owner. Publishing an agent grants what its version names by itself.
    async fn grant_create(&self, ctx: &Context<'_>, input: GrantInput) -> Result<GrantPayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.grant_ports());
        let result = match input.read().checked(|_| Vec::new()) {
            Ok((agent, resource)) => access::create_grant(&op, &ports, agent, resource).await,
            Err(refusal) => Err(refusal),
        };
        let user_errors = outcome(result)?.err().unwrap_or_default();
        Ok(GrantPayload { granted: user_errors.is_empty(), user_errors })
    }

    /// Takes a resource from an agent; executions that run are refused at their next call. Needs the role owner.
    async fn grant_revoke(&self, ctx: &Context<'_>, input: GrantInput) -> Result<GrantPayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.grant_ports());
        let result = match input.read().checked(|_| Vec::new()) {
            Ok((agent, resource)) => access::revoke_grant(&op, &ports, agent, resource).await,
            Err(refusal) => Err(refusal),
        };
        Ok(GrantPayload { granted: false, user_errors: outcome(result)?.err().unwrap_or_default() })
    }
}

impl ApiKeyCreateInput {
    fn read(self) -> Parsed<CreateApiKey> {
        let mut faults = Faults::default();
        let request = CreateApiKey {
            project_id: faults.id(&["projectId"], &self.project_id),
            name: self.name,
            role: self.role.into(),
            expires_at: self.expires_at.map(|moment| moment.0),
        };
        faults.with(request)
    }
}

impl GrantInput {
    fn read(&self) -> Parsed<(ResourceId, ResourceId)> {
        let mut faults = Faults::default();
        let pair = (faults.id(&["agentId"], &self.agent_id), faults.id(&["resourceId"], &self.resource_id));
        faults.with(pair)
    }
}
