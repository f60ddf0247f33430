//! Files as the API shows them.

use std::time::Duration;

use async_graphql::{Context, ID, Object};
use domain::artifact;
use domain::ids::ArtifactId;

use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::execution::visible_execution;
use crate::graphql::scalar::{BigInt, DateTime};

const LONGEST_LINK_SECONDS: i32 = 3600;

/// A file.
pub struct Artifact(pub artifact::Artifact);

/// A file that was given to an execution, or that it left.
#[Object]
impl Artifact {
    /// Its id.
    pub async fn id(&self) -> ID {
        self.0.id.to_string().into()
    }

    /// Path below the inputs or the outputs.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Media type, guessed from the name.
    async fn media_type(&self) -> &str {
        &self.0.media_type
    }

    /// Size in bytes.
    async fn byte_size(&self) -> BigInt {
        self.0.byte_size.into()
    }

    /// Hexadecimal SHA-256 of the bytes.
    async fn sha256(&self) -> &str {
        &self.0.sha256
    }

    /// When it was stored.
    async fn created_at(&self) -> DateTime {
        self.0.created_at.into()
    }

    /// A signed path on this server (`/artifacts/...`), which works without further credentials for 1 to 3600 seconds. Add
    /// &download=1 to save instead of show.
    async fn download_url(
        &self,
        ctx: &Context<'_>,
        #[graphql(default = 300)] expires_in_seconds: i32,
    ) -> Result<String, ApiError> {
        let (principal, services) = (ctx.principal()?, ctx.services()?);
        let valid = u64::try_from(expires_in_seconds).ok();
        let seconds = valid.filter(|_| (1..=LONGEST_LINK_SECONDS).contains(&expires_in_seconds));
        let rule = || ApiError::bad_input(format!("expiresInSeconds must be from 1 to {LONGEST_LINK_SECONDS}"));
        let expires_at = services.clock.now().plus(Duration::from_secs(seconds.ok_or_else(rule)?));
        // Whoever holds the link can open it, so access is asked once more.
        visible_execution(ctx, self.0.execution_id).await?.ok_or_else(ApiError::not_found)?;
        let link = services.links.link(principal.tenant_id, &self.0, expires_at);
        link.map_err(|error| ApiError::internal(&error))
    }
}

/// A file, if the caller may see its execution.
pub async fn visible_artifact(ctx: &Context<'_>, id: ArtifactId) -> Result<Option<Artifact>, ApiError> {
    let scope = ctx.principal()?.scope();
    let Some(artifact) = ctx.services()?.executions.artifact(scope, id).await? else {
        return Ok(None);
    };
    let execution = visible_execution(ctx, artifact.execution_id).await?;
    Ok(execution.map(|_| Artifact(artifact)))
}
