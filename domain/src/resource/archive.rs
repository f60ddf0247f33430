//! Archive a resource: hide it from new use.

use super::content::ResourcePorts;
use super::model::Resource;
use super::references::target;
use crate::access::{Action, Refusal, require};
use crate::ctx::OpContext;
use crate::ids::ResourceId;

/// Archives it; needs `manage` on it. Archiving again keeps the first time.
pub async fn archive(op: &OpContext, ports: &ResourcePorts, id: ResourceId) -> Result<Resource, Refusal> {
    let path = ["resourceId"];
    let missing = || Refusal::not_found(&path);
    let resource = ports.resources.resources(op.scope(), &[id]).await?.pop().ok_or_else(missing)?;
    require(op, &ports.authorizer, Action::Manage, &target(&resource), &path).await?;
    ports.resources.archive(op.scope(), id, op.clock.now()).await?.ok_or_else(missing)
}
