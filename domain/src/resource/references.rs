//! What a version names, and whether the one who writes it may see that.

use super::model::{AgentSpec, Resource, ResourceKind, Spec, VersionState};
use super::ports::ResourceStore;
use crate::access::{Action, Authorizer, Target, fault, may, not_found};
use crate::ctx::OpContext;
use crate::error::{InvalidInput, StoreError};
use crate::ids::ResourceId;

struct Reference {
    field: &'static str,
    kind: ResourceKind,
    id: ResourceId,
}

/// Faults of references: each must exist, be of its kind, not be archived, and be visible to the caller.
pub(super) async fn check(
    op: &OpContext,
    store: &dyn ResourceStore,
    authorizer: &Authorizer,
    spec: &Spec,
) -> Result<Vec<InvalidInput>, StoreError> {
    let references = references(spec);
    let ids: Vec<_> = references.iter().map(|reference| reference.id).collect();
    let found = if ids.is_empty() { Vec::new() } else { store.resources(op.scope(), &ids).await? };
    let mut faults = Vec::new();
    for Reference { field, kind, id } in references {
        let path = ["spec", field];
        match found.iter().find(|resource| resource.id == id && resource.kind == kind) {
            Some(resource) if may(op, authorizer, Action::View, &target(resource)).await? => {
                if resource.archived_at.is_some() {
                    faults.push(fault(&path, "ARCHIVED", "is archived; choose another"));
                }
            }
            Some(_) | None => faults.push(not_found(&path)),
        }
    }
    Ok(faults)
}

/// Everything that an agent of this specification uses now, at any depth: the model, its credential, the profile, its
/// credentials, its connection and that one's credential, and the same of each fallback model. The faults name the field of the agent that leads there, under `base`; with
/// no `spec` in the caller's input that is `base` itself.
pub(super) async fn uses_of_agent(
    op: &OpContext,
    store: &dyn ResourceStore,
    authorizer: &Authorizer,
    spec: &AgentSpec,
    path_of: impl Fn(&'static str) -> Vec<&'static str> + Send,
) -> Result<(Vec<ResourceId>, Vec<InvalidInput>), StoreError> {
    let (mut uses, mut faults) = (Vec::new(), Vec::new());
    let fallbacks = spec.fallback_model_ids.iter().map(|id| ("fallbackModelIds", *id));
    let profile = spec.sandbox_profile_id.map(|id| ("sandboxProfileId", id));
    for (field, root) in std::iter::once(("modelId", spec.model_id)).chain(fallbacks).chain(profile) {
        let path = path_of(field);
        let mut waiting = vec![root];
        while let Some(id) = waiting.pop() {
            if uses.contains(&id) {
                continue;
            }
            let resource = store.resources(op.scope(), &[id]).await?.pop();
            let visible = match &resource {
                Some(resource) => may(op, authorizer, Action::View, &target(resource)).await?,
                None => false,
            };
            if !visible {
                faults.push(not_found(&path));
                continue;
            }
            let Some(version) = store.latest_published(op.scope(), &[id]).await?.pop() else {
                faults.push(fault(
                    &path,
                    "NOT_PUBLISHED",
                    "it, or what it uses, has no published version; publish one first",
                ));
                continue;
            };
            debug_assert_eq!(version.state, VersionState::Published);
            uses.push(id);
            waiting.extend(version.spec.references());
        }
    }
    Ok((uses, faults))
}

pub(super) const fn target(resource: &Resource) -> Target {
    Target { tenant_id: resource.tenant_id, project_id: resource.project_id, resource_id: Some(resource.id) }
}

/// The input field that names a resource of this kind.
pub(super) const fn id_field(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Model => "modelId",
        ResourceKind::Credential => "credentialId",
        ResourceKind::SandboxConnection => "sandboxConnectionId",
        ResourceKind::SandboxProfile => "sandboxProfileId",
        ResourceKind::Agent => "agentId",
    }
}

fn references(spec: &Spec) -> Vec<Reference> {
    let credential = |id| Reference { field: "credentialId", kind: ResourceKind::Credential, id };
    match spec {
        Spec::Model(spec) => spec.credential_id.map(credential).into_iter().collect(),
        Spec::Credential(_) => Vec::new(),
        Spec::SandboxConnection(spec) => spec.credential_id.map(credential).into_iter().collect(),
        Spec::SandboxProfile(spec) => {
            let connection =
                Reference { field: "connectionId", kind: ResourceKind::SandboxConnection, id: spec.connection_id };
            let credential = |id| Reference { field: "credentials", kind: ResourceKind::Credential, id };
            let credentials = spec.credentials.iter().map(|named| credential(named.credential_id));
            std::iter::once(connection).chain(credentials).collect()
        }
        Spec::Agent(spec) => {
            let model = Reference { field: "modelId", kind: ResourceKind::Model, id: spec.model_id };
            let profile = |id| Reference { field: "sandboxProfileId", kind: ResourceKind::SandboxProfile, id };
            let fallback =
                |id: &ResourceId| Reference { field: "fallbackModelIds", kind: ResourceKind::Model, id: *id };
            let fallbacks = spec.fallback_model_ids.iter().map(fallback);
            std::iter::once(model).chain(fallbacks).chain(spec.sandbox_profile_id.map(profile)).collect()
        }
    }
}
