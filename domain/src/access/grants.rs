//! Grants by hand: lets an agent's service identity use one more resource, or one less.
//!
//! Publishing an agent grants what its version names (see [`crate::resource::publish`]); here people correct that. A
//! grant that was removed stops the next call of executions that run already.

use std::sync::Arc;

use super::authorizer::Authorizer;
use super::model::{Action, Grant, ServiceIdentity, Target};
use super::ports::AccessStore;
use super::refusal::{Refusal, require};
use crate::ctx::OpContext;
use crate::ids::{PrincipalId, ResourceId};
use crate::resource::{Resource, ResourceKind, ResourceStore};

/// What grants need from outside.
#[derive(Clone)]
pub struct GrantPorts {
    /// Finds the agent and the resource.
    pub resources: Arc<dyn ResourceStore>,
    /// Keeps grants.
    pub access: Arc<dyn AccessStore>,
    /// Says who may hand them out.
    pub authorizer: Arc<Authorizer>,
}

/// Lets the agent use the resource; needs `manageAccess` where either lives.
pub async fn create_grant(
    op: &OpContext,
    ports: &GrantPorts,
    agent: ResourceId,
    resource: ResourceId,
) -> Result<(), Refusal> {
    check(op, ports, agent, resource).await?;
    let principal_id = PrincipalId::generate(op.clock.as_ref(), op.entropy.as_ref());
    let identity = ServiceIdentity { principal_id, agent_id: agent };
    let identity = ports.access.ensure_service_identity(op.scope(), identity).await?;
    Ok(ports.access.grant(use_of(op, identity.principal_id, resource)).await?)
}

/// Takes the resource from the agent; taking it again changes nothing.
pub async fn revoke_grant(
    op: &OpContext,
    ports: &GrantPorts,
    agent: ResourceId,
    resource: ResourceId,
) -> Result<(), Refusal> {
    check(op, ports, agent, resource).await?;
    if let Some(identity) = ports.access.service_identity(op.scope(), agent).await? {
        ports.access.revoke(use_of(op, identity.principal_id, resource)).await?;
    }
    Ok(())
}

async fn check(op: &OpContext, ports: &GrantPorts, agent: ResourceId, resource: ResourceId) -> Result<(), Refusal> {
    let found = ports.resources.resources(op.scope(), &[agent, resource]).await?;
    let is_agent = |row: &Resource| row.id == agent && row.kind == ResourceKind::Agent;
    let is_usable = |row: &Resource| row.id == resource && row.kind != ResourceKind::Agent;
    let mut faults = Vec::new();
    for (path, row) in [
        (["agentId"], found.iter().find(|row| is_agent(row))),
        (["resourceId"], found.iter().find(|row| is_usable(row))),
    ] {
        let answer = match row {
            Some(row) => require(op, &ports.authorizer, Action::ManageAccess, &target(row), &path).await,
            None => Err(Refusal::not_found(&path)),
        };
        match answer {
            Ok(()) => {}
            Err(Refusal::Faults(more)) => faults.extend(more),
            Err(other @ (Refusal::Store(_) | Refusal::Seal(_))) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Refusal::Faults(faults)) }
}

fn target(resource: &Resource) -> Target {
    Target { tenant_id: resource.tenant_id, project_id: resource.project_id, resource_id: Some(resource.id) }
}

const fn use_of(op: &OpContext, principal_id: PrincipalId, resource_id: ResourceId) -> Grant {
    Grant { tenant_id: op.principal.tenant_id, principal_id, action: Action::Use, resource_id }
}
