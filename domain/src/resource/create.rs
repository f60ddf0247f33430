//! Create a resource with its first version.

use super::content::{Content, Publication, ResourcePorts, first_state};
use super::model::{Resource, ResourceVersion, Spec};
use super::publish::{grant_uses, plan_uses};
use super::references;
use super::validate::{validate_name, validate_slug};
use crate::access::{Action, Refusal, Target, fault, require};
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};
use crate::ids::{ProjectId, ResourceId};

/// The resource that is wanted.
pub struct CreateResource {
    /// The project that it will belong to.
    pub project_id: ProjectId,
    /// Unique in project and kind.
    pub slug: String,
    /// For people.
    pub name: String,
    /// What its first version says.
    pub content: Content,
    /// Whether that version is usable at once.
    pub publication: Publication,
}

/// A resource and the version that was just written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The head.
    pub resource: Resource,
    /// The version.
    pub version: ResourceVersion,
}

impl CreateResource {
    /// All faults that can be seen without the store.
    pub fn validate(&self) -> Vec<InvalidInput> {
        let head = [validate_slug(&self.slug).err(), validate_name(&self.name).err()];
        head.into_iter().flatten().chain(self.content.validate()).collect()
    }
}

/// Creates it; needs `manage` on the project and sight of everything that it names.
pub async fn create(op: &OpContext, ports: &ResourcePorts, request: CreateResource) -> Result<Written, Refusal> {
    let target = Target { tenant_id: op.principal.tenant_id, project_id: request.project_id, resource_id: None };
    require(op, &ports.authorizer, Action::Manage, &target, &["projectId"]).await?;
    let (kind, mut faults) = (request.content.kind(), request.validate());
    faults.extend(faults_of_references(op, ports, &request.content).await?);
    let uses = plan_uses(op, ports, &request.content, request.publication, &mut faults).await?;
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    let resource = Resource {
        id: ResourceId::generate(op.clock.as_ref(), op.entropy.as_ref()),
        tenant_id: op.principal.tenant_id,
        project_id: request.project_id,
        kind,
        slug: request.slug,
        name: request.name,
        archived_at: None,
        created_at: op.clock.now(),
    };
    let state = first_state(kind, request.publication);
    let first = request.content.into_version(op, ports.secrets.as_ref(), resource.id, state)?;
    let version = match ports.resources.create(&resource, &first).await {
        Ok(version) => version,
        Err(StoreError::Conflict { .. }) => {
            return Err(fault(&["slug"], "TAKEN", "is taken in this project; choose another").into());
        }
        Err(error) => return Err(error.into()),
    };
    let version = grant_uses(op, ports, version, uses).await?;
    Ok(Written { resource, version })
}

/// Faults of the resources that some content names.
pub(super) async fn faults_of_references(
    op: &OpContext,
    ports: &ResourcePorts,
    content: &Content,
) -> Result<Vec<InvalidInput>, StoreError> {
    match content {
        Content::Spec(
            spec @ (Spec::Model(_) | Spec::SandboxConnection(_) | Spec::SandboxProfile(_) | Spec::Agent(_)),
        ) => references::check(op, ports.resources.as_ref(), &ports.authorizer, spec).await,
        Content::Spec(Spec::Credential(_)) | Content::Secret(_) => Ok(Vec::new()),
    }
}
