//! Mutations of models.

use async_graphql::{Context, Object};

use super::input::{ModelCreateInput, ModelVersionCreateInput};
use super::object::ModelPayload;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{add_version, create};

/// Mutations of models.
#[derive(Default)]
pub struct ModelMutation;

#[Object]
impl ModelMutation {
    /// Creates a model with its first version.
    async fn model_create(&self, ctx: &Context<'_>, input: ModelCreateInput) -> Result<ModelPayload, ApiError> {
        let op = ctx.op()?;
        Ok(create(ctx, input.read(&op)).await?.into())
    }

    /// Adds a version to a model.
    async fn model_version_create(
        &self,
        ctx: &Context<'_>,
        input: ModelVersionCreateInput,
    ) -> Result<ModelPayload, ApiError> {
        let op = ctx.op()?;
        Ok(add_version(ctx, input.read(&op)).await?.into())
    }
}
