//! Add a version to a resource.

use super::content::{Content, Publication, ResourcePorts, first_state};
use super::create::{Written, faults_of_references};
use super::publish::{grant_uses, plan_uses};
use super::references::{id_field, target};
use crate::access::{Action, Refusal, fault, require};
use crate::ctx::OpContext;
use crate::ids::ResourceId;

/// The version that is wanted.
pub struct AddVersion {
    /// The resource; must be of the content's kind.
    pub resource_id: ResourceId,
    /// What the version says.
    pub content: Content,
    /// Whether it is usable at once.
    pub publication: Publication,
}

/// Adds it; needs `manage` on the resource and sight of everything that it names.
pub async fn add_version(op: &OpContext, ports: &ResourcePorts, request: AddVersion) -> Result<Written, Refusal> {
    let kind = request.content.kind();
    let path = [id_field(kind)];
    let found = ports.resources.resources(op.scope(), &[request.resource_id]).await?.pop();
    let resource = found.filter(|resource| resource.kind == kind).ok_or_else(|| Refusal::not_found(&path))?;
    require(op, &ports.authorizer, Action::Manage, &target(&resource), &path).await?;
    let mut faults = request.content.validate();
    if resource.archived_at.is_some() {
        faults.push(fault(&path, "ARCHIVED", "is archived; it gets no further versions"));
    }
    faults.extend(faults_of_references(op, ports, &request.content).await?);
    let uses = plan_uses(op, ports, &request.content, request.publication, &mut faults).await?;
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    let state = first_state(kind, request.publication);
    let version = request.content.into_version(op, ports.secrets.as_ref(), resource.id, state)?;
    let version = ports.resources.add_version(op.scope(), &version).await?;
    let version = version.ok_or_else(|| Refusal::not_found(&path))?;
    let version = grant_uses(op, ports, version, uses).await?;
    Ok(Written { resource, version })
}
