//! Mutations of agents.

use async_graphql::{Context, Object};

use super::input::{AgentCreateInput, AgentVersionCreateInput};
use super::object::AgentPayload;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{add_version, create};

/// Mutations of agents.
#[derive(Default)]
pub struct AgentMutation;

#[Object]
impl AgentMutation {
    /// Creates an agent with its first version.
    async fn agent_create(&self, ctx: &Context<'_>, input: AgentCreateInput) -> Result<AgentPayload, ApiError> {
        Ok(create(ctx, input.read()).await?.into())
    }

    /// Adds a version to an agent.
    async fn agent_version_create(
        &self,
        ctx: &Context<'_>,
        input: AgentVersionCreateInput,
    ) -> Result<AgentPayload, ApiError> {
        Ok(add_version(ctx, input.read()).await?.into())
    }
}
