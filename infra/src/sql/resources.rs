//! Resources and their versions.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult, Value};

use super::fault::Fault;
use super::query::{all, execute, insert, marks, one};
use super::rows::{Row, id, int, name, optional_time, time};
use super::{SqlStore, page};
use domain::artifact::sha256_hex;
use domain::clock::Timestamp;
use domain::ctx::{Page, PageRequest, Scope};
use domain::error::StoreError;
use domain::ids::{ProjectId, ResourceId, VersionId};
use domain::resource::{NewVersion, Resource, ResourceKind, ResourceStore, ResourceVersion, VersionState};

#[async_trait]
impl ResourceStore for SqlStore {
    async fn create(&self, resource: &Resource, first: &NewVersion) -> Result<ResourceVersion, StoreError> {
        let (resource, first) = (resource.clone(), first.clone());
        self.write(move |transaction| {
            let (resource, first) = (resource.clone(), first.clone());
            Box::pin(async move { create(transaction, &resource, &first).await })
        })
        .await
    }

    async fn add_version(&self, scope: Scope, version: &NewVersion) -> Result<Option<ResourceVersion>, StoreError> {
        let version = version.clone();
        self.write(move |transaction| {
            let version = version.clone();
            Box::pin(async move { add_version(transaction, scope, &version).await })
        })
        .await
    }

    async fn publish(
        &self,
        scope: Scope,
        version: VersionId,
        at: Timestamp,
    ) -> Result<Option<ResourceVersion>, StoreError> {
        self.write(move |transaction| Box::pin(publish(transaction, scope, version, at))).await
    }

    async fn archive(&self, scope: Scope, resource: ResourceId, at: Timestamp) -> Result<Option<Resource>, StoreError> {
        self.write(move |transaction| Box::pin(archive(transaction, scope, resource, at))).await
    }

    async fn resources(&self, scope: Scope, ids: &[ResourceId]) -> Result<Vec<Resource>, StoreError> {
        Ok(resources(self.reader(), scope, ids).await?)
    }

    async fn versions(&self, scope: Scope, ids: &[VersionId]) -> Result<Vec<ResourceVersion>, StoreError> {
        Ok(versions(self.reader(), scope, ids).await?)
    }

    async fn latest_published(&self, scope: Scope, ids: &[ResourceId]) -> Result<Vec<ResourceVersion>, StoreError> {
        Ok(latest_published(self.reader(), scope, ids).await?)
    }

    async fn list(
        &self,
        scope: Scope,
        project: ProjectId,
        kind: ResourceKind,
        page: PageRequest,
    ) -> Result<Page<Resource>, StoreError> {
        Ok(list(self, scope, project, kind, page).await?)
    }

    async fn list_versions(
        &self,
        scope: Scope,
        resource: ResourceId,
        page: PageRequest,
    ) -> Result<Page<ResourceVersion>, StoreError> {
        Ok(list_versions(self, scope, resource, page).await?)
    }
}

async fn create(
    transaction: &DatabaseTransaction,
    resource: &Resource,
    first: &NewVersion,
) -> Result<ResourceVersion, Fault> {
    let columns = [
        ("tenant_id", id(resource.tenant_id)),
        ("id", id(resource.id)),
        ("project_id", id(resource.project_id)),
        ("kind", name(resource.kind)),
        ("slug", resource.slug.clone().into()),
        ("name", resource.name.clone().into()),
        ("head_version", int(1)),
        ("archived_at", optional_time(resource.archived_at)),
        ("created_at", time(resource.created_at)),
    ];
    let inserted = insert(transaction, "resource", &columns).await;
    inserted.map_err(|fault| fault.taken("a resource of this kind with this slug exists in the project"))?;
    let scope = Scope { tenant_id: resource.tenant_id };
    insert_version(transaction, scope, first, 1).await
}

async fn add_version(
    transaction: &DatabaseTransaction,
    scope: Scope,
    version: &NewVersion,
) -> Result<Option<ResourceVersion>, Fault> {
    // Takes the resource's row lock, so that two versions cannot get one number.
    let sql = "UPDATE resource SET head_version = head_version + 1 WHERE tenant_id = ? AND id = ?";
    let key = || [id(scope.tenant_id), id(version.resource_id)];
    if execute(transaction, sql, key()).await? != 1 {
        return Ok(None);
    }
    let sql = "SELECT head_version FROM resource WHERE tenant_id = ? AND id = ?";
    let row = one(transaction, sql, key()).await?.ok_or_else(|| Fault::corrupt("resource.id"))?;
    let number = Row { table: "resource", row: &row }.int("head_version")?;
    insert_version(transaction, scope, version, number).await.map(Some)
}

async fn insert_version(
    transaction: &DatabaseTransaction,
    scope: Scope,
    version: &NewVersion,
    number: u32,
) -> Result<ResourceVersion, Fault> {
    let body = serde_json::to_vec(&version.spec).map_err(|_| Fault::corrupt("a specification that is no JSON"))?;
    let digest = sha256_hex(&body);
    let published_at = match version.state {
        VersionState::Draft => None,
        VersionState::Published => Some(version.created_at),
    };
    let columns = [
        ("tenant_id", id(scope.tenant_id)),
        ("resource_id", id(version.resource_id)),
        ("number", int(number)),
        ("id", id(version.id)),
        ("state", name(version.state)),
        ("digest", digest.clone().into()),
        ("body", body.into()),
        ("created_at", time(version.created_at)),
        ("published_at", optional_time(published_at)),
    ];
    let inserted = insert(transaction, "resource_version", &columns).await;
    inserted.map_err(|fault| fault.taken("a version with this id exists"))?;
    Ok(ResourceVersion {
        id: version.id,
        tenant_id: scope.tenant_id,
        resource_id: version.resource_id,
        number,
        state: version.state,
        digest,
        spec: version.spec.clone(),
        created_at: version.created_at,
        published_at,
    })
}

async fn publish(
    transaction: &DatabaseTransaction,
    scope: Scope,
    version: VersionId,
    at: Timestamp,
) -> Result<Option<ResourceVersion>, Fault> {
    let sql = "UPDATE resource_version SET state = ?, published_at = ? WHERE tenant_id = ? AND id = ? AND state = ?";
    let values = [name(VersionState::Published), time(at), id(scope.tenant_id), id(version), name(VersionState::Draft)];
    execute(transaction, sql, values).await?;
    Ok(versions(transaction, scope, &[version]).await?.pop())
}

async fn archive(
    transaction: &DatabaseTransaction,
    scope: Scope,
    resource: ResourceId,
    at: Timestamp,
) -> Result<Option<Resource>, Fault> {
    let sql = "UPDATE resource SET archived_at = ? WHERE tenant_id = ? AND id = ? AND archived_at IS NULL";
    execute(transaction, sql, [time(at), id(scope.tenant_id), id(resource)]).await?;
    Ok(resources(transaction, scope, &[resource]).await?.pop())
}

async fn resources<C: ConnectionTrait>(db: &C, scope: Scope, ids: &[ResourceId]) -> Result<Vec<Resource>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT * FROM resource WHERE tenant_id = ? AND id IN ({})", marks(ids.len()));
    all(db, &sql, scoped(scope, ids)).await?.iter().map(read_resource).collect()
}

async fn versions<C: ConnectionTrait>(db: &C, scope: Scope, ids: &[VersionId]) -> Result<Vec<ResourceVersion>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT * FROM resource_version WHERE tenant_id = ? AND id IN ({})", marks(ids.len()));
    all(db, &sql, scoped(scope, ids)).await?.iter().map(read_version).collect()
}

async fn latest_published<C: ConnectionTrait>(
    db: &C,
    scope: Scope,
    ids: &[ResourceId],
) -> Result<Vec<ResourceVersion>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT * FROM resource_version v WHERE v.tenant_id = ? AND v.resource_id IN ({}) AND v.number = \
         (SELECT MAX(p.number) FROM resource_version p WHERE p.tenant_id = v.tenant_id \
          AND p.resource_id = v.resource_id AND p.state = ?)",
        marks(ids.len())
    );
    let values = scoped(scope, ids).chain([name(VersionState::Published)]);
    all(db, &sql, values).await?.iter().map(read_version).collect()
}

fn scoped<T: std::fmt::Display>(scope: Scope, ids: &[T]) -> impl Iterator<Item = Value> {
    std::iter::once(id(scope.tenant_id)).chain(ids.iter().map(id))
}

async fn list(
    store: &SqlStore,
    scope: Scope,
    project: ProjectId,
    kind: ResourceKind,
    request: PageRequest,
) -> Result<Page<Resource>, Fault> {
    let Some(after) = page::slug_key(&request) else { return Ok(page::cut(&request, Vec::new())) };
    let sql = "SELECT * FROM resource WHERE tenant_id = ? AND project_id = ? AND kind = ? AND slug > ? \
        ORDER BY slug LIMIT ?";
    let values = [id(scope.tenant_id), id(project), name(kind), after.into(), page::limit(&request).into()];
    let rows = all(store.reader(), sql, values).await?;
    let resources: Vec<Resource> = rows.iter().map(read_resource).collect::<Result<_, _>>()?;
    Ok(page::cut(&request, resources.into_iter().map(|resource| (resource.slug.clone(), resource)).collect()))
}

async fn list_versions(
    store: &SqlStore,
    scope: Scope,
    resource: ResourceId,
    request: PageRequest,
) -> Result<Page<ResourceVersion>, Fault> {
    let sql = "SELECT * FROM resource_version WHERE tenant_id = ? AND resource_id = ? AND number < ? \
        ORDER BY number DESC LIMIT ?";
    let before = match &request.after {
        None => i64::MAX,
        // A key that this store did not give has nothing behind it.
        Some(key) => key.parse().unwrap_or(0),
    };
    let values = [id(scope.tenant_id), id(resource), before.into(), page::limit(&request).into()];
    let rows = all(store.reader(), sql, values).await?;
    let versions: Vec<ResourceVersion> = rows.iter().map(read_version).collect::<Result<_, _>>()?;
    Ok(page::cut(&request, versions.into_iter().map(|version| (format!("{:010}", version.number), version)).collect()))
}

fn read_resource(row: &QueryResult) -> Result<Resource, Fault> {
    let row = Row { table: "resource", row };
    Ok(Resource {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        project_id: row.id("project_id")?,
        kind: row.name("kind")?,
        slug: row.text("slug")?,
        name: row.text("name")?,
        archived_at: row.optional_time("archived_at")?,
        created_at: row.time("created_at")?,
    })
}

fn read_version(row: &QueryResult) -> Result<ResourceVersion, Fault> {
    let row = Row { table: "resource_version", row };
    Ok(ResourceVersion {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        resource_id: row.id("resource_id")?,
        number: row.int("number")?,
        state: row.name("state")?,
        digest: row.text("digest")?,
        spec: row.json("body")?,
        created_at: row.time("created_at")?,
        published_at: row.optional_time("published_at")?,
    })
}
