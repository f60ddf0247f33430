//! Publishing and archiving, the same for every kind.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use domain::ids::{ResourceId, VersionId};
use domain::resource;

use super::interface::AnyVersion;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::node::Node;
use crate::graphql::user_error::{Faults, UserError, outcome};

/// Which version is to be published.
#[derive(InputObject)]
pub struct ResourceVersionPublishInput {
    /// The version.
    version_id: ID,
}

/// What became of it.
#[derive(SimpleObject)]
pub struct ResourceVersionPublishPayload {
    /// The version, published; null when there are user errors.
    version: Option<AnyVersion>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Which resource is to be archived.
#[derive(InputObject)]
pub struct ResourceArchiveInput {
    /// The resource.
    resource_id: ID,
}

/// What became of it.
#[derive(SimpleObject)]
pub struct ResourceArchivePayload {
    /// The resource, archived; null when there are user errors.
    resource: Option<Node>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Publishing and archiving.
#[derive(Default)]
pub struct ResourceMutation;

#[Object]
impl ResourceMutation {
    /// Makes a draft version immutable and usable. Publishing an agent grants its service identity what it uses: the
    /// model, its credential, the sandbox profile, its connection and that one's credential.
    async fn resource_version_publish(
        &self,
        ctx: &Context<'_>,
        input: ResourceVersionPublishInput,
    ) -> Result<ResourceVersionPublishPayload, ApiError> {
        let (op, ports, mut faults) = (ctx.op()?, ctx.services()?.resource_ports(), Faults::default());
        let id: VersionId = faults.id(&["versionId"], &input.version_id);
        let result = match faults.with(id).checked(|_| Vec::new()) {
            Ok(id) => resource::publish(&op, &ports, id).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(written) => {
                ResourceVersionPublishPayload { version: AnyVersion::new(written.version), user_errors: Vec::new() }
            }
            Err(user_errors) => ResourceVersionPublishPayload { version: None, user_errors },
        })
    }

    /// Hides a resource from new use; executions that pinned a version go on.
    async fn resource_archive(
        &self,
        ctx: &Context<'_>,
        input: ResourceArchiveInput,
    ) -> Result<ResourceArchivePayload, ApiError> {
        let (op, ports, mut faults) = (ctx.op()?, ctx.services()?.resource_ports(), Faults::default());
        let id: ResourceId = faults.id(&["resourceId"], &input.resource_id);
        let result = match faults.with(id).checked(|_| Vec::new()) {
            Ok(id) => resource::archive(&op, &ports, id).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(row) => ResourceArchivePayload { resource: Some(Node::from_resource(row)), user_errors: Vec::new() },
            Err(user_errors) => ResourceArchivePayload { resource: None, user_errors },
        })
    }
}
