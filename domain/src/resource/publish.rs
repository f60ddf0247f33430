//! Publish a version: from then on it is immutable and usable.
//!
//! Publishing an agent makes its service identity and grants it `use` on what the agent uses at that moment: the model,
//! its fallbacks, their credentials, the sandbox profile, its connection, and the connection's credential, a row each. The grants
//! come first, so a published agent always has them. Publishing grants again what was revoked meanwhile; a later version
//! of the model with another credential needs a grant or a new version of the agent.

use super::content::{Content, Publication, ResourcePorts};
use super::create::Written;
use super::model::{AgentSpec, ResourceVersion, Spec};
use super::references::{target, uses_of_agent};
use crate::access::{Action, Grant, Refusal, ServiceIdentity, fault, require};
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};
use crate::ids::{PrincipalId, ResourceId, VersionId};

/// Publishes a draft; needs `manage` on the resource. Publishing what is published changes nothing.
pub async fn publish(op: &OpContext, ports: &ResourcePorts, id: VersionId) -> Result<Written, Refusal> {
    let path = ["versionId"];
    let missing = || Refusal::not_found(&path);
    let version = ports.resources.versions(op.scope(), &[id]).await?.pop().ok_or_else(missing)?;
    let found = ports.resources.resources(op.scope(), &[version.resource_id]).await?.pop();
    let resource = found.ok_or_else(missing)?;
    require(op, &ports.authorizer, Action::Manage, &target(&resource), &path).await?;
    if resource.archived_at.is_some() {
        return Err(fault(&path, "ARCHIVED", "belongs to an archived resource").into());
    }
    if let Spec::Agent(spec) = &version.spec {
        let store = ports.resources.as_ref();
        let (uses, faults) = uses_of_agent(op, store, &ports.authorizer, spec, |_| vec!["versionId"]).await?;
        if !faults.is_empty() {
            return Err(Refusal::Faults(faults));
        }
        let version = grant_uses(op, ports, version, Some(uses)).await?;
        return Ok(Written { resource, version });
    }
    let published = ports.resources.publish(op.scope(), id, op.clock.now()).await?;
    Ok(Written { resource, version: published.ok_or_else(missing)? })
}

/// What an agent that is to be published at once uses; None for everything else.
pub(super) async fn plan_uses(
    op: &OpContext,
    ports: &ResourcePorts,
    content: &Content,
    publication: Publication,
    faults: &mut Vec<InvalidInput>,
) -> Result<Option<Vec<ResourceId>>, StoreError> {
    let Some(spec) = agent_spec(content).filter(|_| publication == Publication::AtOnce) else {
        return Ok(None);
    };
    let store = ports.resources.as_ref();
    let (uses, more) = uses_of_agent(op, store, &ports.authorizer, spec, |field| vec!["spec", field]).await?;
    // A reference that was found missing already is not reported twice.
    let new: Vec<_> = more.into_iter().filter(|fault| !faults.contains(fault)).collect();
    faults.extend(new);
    Ok(Some(uses))
}

/// Grants an agent what it uses, then publishes its version. Without a plan, nothing is left to do.
pub(super) async fn grant_uses(
    op: &OpContext,
    ports: &ResourcePorts,
    version: ResourceVersion,
    uses: Option<Vec<ResourceId>>,
) -> Result<ResourceVersion, Refusal> {
    let Some(uses) = uses else {
        return Ok(version);
    };
    let principal_id = PrincipalId::generate(op.clock.as_ref(), op.entropy.as_ref());
    let identity = ServiceIdentity { principal_id, agent_id: version.resource_id };
    let identity = ports.access.ensure_service_identity(op.scope(), identity).await?;
    for resource_id in uses {
        let (tenant_id, principal_id) = (version.tenant_id, identity.principal_id);
        ports.access.grant(Grant { tenant_id, principal_id, action: Action::Use, resource_id }).await?;
    }
    let published = ports.resources.publish(op.scope(), version.id, op.clock.now()).await?;
    published.ok_or_else(|| Refusal::not_found(&["versionId"]))
}

const fn agent_spec(content: &Content) -> Option<&AgentSpec> {
    match content {
        Content::Spec(Spec::Agent(spec)) => Some(spec),
        Content::Spec(Spec::Model(_) | Spec::Credential(_) | Spec::SandboxConnection(_) | Spec::SandboxProfile(_))
        | Content::Secret(_) => None,
    }
}
