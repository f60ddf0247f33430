//! Batches: reads that resolvers of one operation ask for together, done together.
//!
//! Every finder gets the caller's tenant; what belongs to another tenant is missing. Seeing is decided here too: a
//! project or a resource is asked about once for each batch, however many rows point to it.

use std::collections::HashMap;
use std::hash::Hash;

use async_graphql::dataloader::Loader;
use domain::access::{Action, Project, Target, may};
use domain::artifact::Artifact;
use domain::ctx::{OpContext, Principal};
use domain::execution::Execution;
use domain::ids::{ExecutionId, ProjectId, ResourceId, VersionId};
use domain::resource::{Resource, ResourceVersion};
use domain::sandbox::Sandbox;

use super::error::ApiError;
use super::services::Services;

/// The loaders' ports and scope.
pub struct Batches {
    pub(super) principal: Principal,
    pub(super) services: Services,
}

/// Key: may the caller see this project, or this resource in it?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sight {
    /// The project.
    pub project: ProjectId,
    /// The resource; None for the project and its executions.
    pub resource: Option<ResourceId>,
}

/// Key: the newest published version of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LatestOf(pub ResourceId);

/// Key: the files of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FilesOf(pub ExecutionId);

/// Key: the sandboxes of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SandboxesOf(pub ExecutionId);

impl Loader<Sight> for Batches {
    type Value = bool;
    type Error = ApiError;

    async fn load(&self, keys: &[Sight]) -> Result<HashMap<Sight, bool>, ApiError> {
        let (clock, entropy) = (self.services.clock.clone(), self.services.entropy.clone());
        let op = OpContext { principal: self.principal, clock, entropy };
        let mut answers = HashMap::new();
        for key in keys {
            let Sight { project, resource } = *key;
            let target = Target { tenant_id: self.principal.tenant_id, project_id: project, resource_id: resource };
            answers.insert(*key, may(&op, &self.services.authorizer, Action::View, &target).await?);
        }
        Ok(answers)
    }
}

impl Loader<ProjectId> for Batches {
    type Value = Project;
    type Error = ApiError;

    async fn load(&self, keys: &[ProjectId]) -> Result<HashMap<ProjectId, Project>, ApiError> {
        let rows = self.services.identity.projects(self.principal.scope(), keys).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }
}

impl Loader<ResourceId> for Batches {
    type Value = Resource;
    type Error = ApiError;

    async fn load(&self, keys: &[ResourceId]) -> Result<HashMap<ResourceId, Resource>, ApiError> {
        let rows = self.services.resources.resources(self.principal.scope(), keys).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }
}

impl Loader<VersionId> for Batches {
    type Value = ResourceVersion;
    type Error = ApiError;

    async fn load(&self, keys: &[VersionId]) -> Result<HashMap<VersionId, ResourceVersion>, ApiError> {
        let rows = self.services.resources.versions(self.principal.scope(), keys).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }
}

impl Loader<LatestOf> for Batches {
    type Value = ResourceVersion;
    type Error = ApiError;

    async fn load(&self, keys: &[LatestOf]) -> Result<HashMap<LatestOf, ResourceVersion>, ApiError> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let rows = self.services.resources.latest_published(self.principal.scope(), &ids).await?;
        Ok(rows.into_iter().map(|row| (LatestOf(row.resource_id), row)).collect())
    }
}

impl Loader<ExecutionId> for Batches {
    type Value = Execution;
    type Error = ApiError;

    async fn load(&self, keys: &[ExecutionId]) -> Result<HashMap<ExecutionId, Execution>, ApiError> {
        let rows = self.services.executions.executions(self.principal.scope(), keys).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }
}

impl Loader<FilesOf> for Batches {
    type Value = Vec<Artifact>;
    type Error = ApiError;

    async fn load(&self, keys: &[FilesOf]) -> Result<HashMap<FilesOf, Vec<Artifact>>, ApiError> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let rows = self.services.executions.artifacts(self.principal.scope(), &ids).await?;
        Ok(grouped(rows.into_iter().map(|row| (FilesOf(row.execution_id), row))))
    }
}

impl Loader<SandboxesOf> for Batches {
    type Value = Vec<Sandbox>;
    type Error = ApiError;

    async fn load(&self, keys: &[SandboxesOf]) -> Result<HashMap<SandboxesOf, Vec<Sandbox>>, ApiError> {
        let ids: Vec<_> = keys.iter().map(|key| key.0).collect();
        let rows = self.services.executions.sandboxes(self.principal.scope(), &ids).await?;
        Ok(grouped(rows.into_iter().map(|(execution, row)| (SandboxesOf(execution), row))))
    }
}

fn grouped<K: Eq + Hash, V>(rows: impl Iterator<Item = (K, V)>) -> HashMap<K, Vec<V>> {
    let mut groups: HashMap<K, Vec<V>> = HashMap::new();
    for (key, row) in rows {
        groups.entry(key).or_default().push(row);
    }
    groups
}
