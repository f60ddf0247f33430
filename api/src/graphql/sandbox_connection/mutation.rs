//! Mutations of sandbox connections.

use async_graphql::{Context, Object};

use super::input::{SandboxConnectionCreateInput, SandboxConnectionVersionCreateInput};
use super::object::SandboxConnectionPayload;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{add_version, create};

/// Mutations of sandbox connections.
#[derive(Default)]
pub struct SandboxConnectionMutation;

#[Object]
impl SandboxConnectionMutation {
    /// Creates a sandbox connection with its first version.
    async fn sandbox_connection_create(
        &self,
        ctx: &Context<'_>,
        input: SandboxConnectionCreateInput,
    ) -> Result<SandboxConnectionPayload, ApiError> {
        Ok(create(ctx, input.read()).await?.into())
    }

    /// Adds a version to a sandbox connection.
    async fn sandbox_connection_version_create(
        &self,
        ctx: &Context<'_>,
        input: SandboxConnectionVersionCreateInput,
    ) -> Result<SandboxConnectionPayload, ApiError> {
        Ok(add_version(ctx, input.read()).await?.into())
    }
}
