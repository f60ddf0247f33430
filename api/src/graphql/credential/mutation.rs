//! Mutations of credentials.

use async_graphql::{Context, Object};

use super::input::{CredentialCreateInput, CredentialVersionCreateInput};
use super::object::CredentialPayload;
use crate::graphql::error::ApiError;
use crate::graphql::resource::{add_version, create};

/// Mutations of credentials.
#[derive(Default)]
pub struct CredentialMutation;

#[Object]
impl CredentialMutation {
    /// Creates a credential with its first version.
    async fn credential_create(
        &self,
        ctx: &Context<'_>,
        input: CredentialCreateInput,
    ) -> Result<CredentialPayload, ApiError> {
        Ok(create(ctx, input.read()).await?.into())
    }

    /// Adds a version to a credential.
    async fn credential_version_create(
        &self,
        ctx: &Context<'_>,
        input: CredentialVersionCreateInput,
    ) -> Result<CredentialPayload, ApiError> {
        Ok(add_version(ctx, input.read()).await?.into())
    }
}
