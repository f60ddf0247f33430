//! The two ways in which every kind of resource is written.

use async_graphql::Context;
use domain::resource::{AddVersion, CreateResource, Publication, Written};

use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::user_error::{Outcome, Parsed, outcome};

/// Creates a resource with its first version.
pub async fn create(ctx: &Context<'_>, parsed: Parsed<CreateResource>) -> Result<Outcome<Written>, ApiError> {
    let (op, ports) = (ctx.op()?, ctx.services()?.resource_ports());
    outcome(match parsed.checked(CreateResource::validate) {
        Ok(request) => domain::resource::create(&op, &ports, request).await,
        Err(refusal) => Err(refusal),
    })
}

/// Adds a version to a resource.
pub async fn add_version(ctx: &Context<'_>, parsed: Parsed<AddVersion>) -> Result<Outcome<Written>, ApiError> {
    let (op, ports) = (ctx.op()?, ctx.services()?.resource_ports());
    outcome(match parsed.checked(|request| request.content.validate()) {
        Ok(request) => domain::resource::add_version(&op, &ports, request).await,
        Err(refusal) => Err(refusal),
    })
}

/// The meaning of `publish` in inputs.
pub const fn publication(publish: bool) -> Publication {
    if publish { Publication::AtOnce } else { Publication::Later }
}
