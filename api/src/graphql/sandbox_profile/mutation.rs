//! Mutations of sandbox profiles.

use async_graphql::{Context, Object};

use super::input::{SandboxProfileCreateInput, SandboxProfileVersionCreateInput};
use super::object::SandboxProfilePayload;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{add_version, create};

/// Mutations of sandbox profiles.
#[derive(Default)]
pub struct SandboxProfileMutation;

#[Object]
impl SandboxProfileMutation {
    /// Creates a sandbox profile with its first version.
    async fn sandbox_profile_create(
        &self,
        ctx: &Context<'_>,
        input: SandboxProfileCreateInput,
    ) -> Result<SandboxProfilePayload, ApiError> {
        Ok(create(ctx, input.read()).await?.into())
    }

    /// Adds a version to a sandbox profile.
    async fn sandbox_profile_version_create(
        &self,
        ctx: &Context<'_>,
        input: SandboxProfileVersionCreateInput,
    ) -> Result<SandboxProfilePayload, ApiError> {
        Ok(add_version(ctx, input.read()).await?.into())
    }
}
