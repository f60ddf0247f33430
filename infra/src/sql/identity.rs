//! Tenants, projects and people. Keys and sessions are in `keys`.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult};

use super::fault::Fault;
use super::query::{all, insert, marks, one, save};
use super::rows::{Row, id, name, time};
use super::{SqlStore, keys, page};
use domain::access::{
    ApiKey, IdentityStore, NewApiKey, PrincipalKind, Project, ProjectRole, Session, SignInCode, Tenant, Viewer,
};
use domain::clock::Timestamp;
use domain::ctx::{Page, PageRequest, Principal, Scope};
use domain::error::StoreError;
use domain::ids::{ApiKeyId, PrincipalId, ProjectId};

#[async_trait]
impl IdentityStore for SqlStore {
    async fn create_tenant(
        &self,
        tenant: &Tenant,
        project: &Project,
        owner: PrincipalId,
        owner_name: &str,
    ) -> Result<(), StoreError> {
        let new = (tenant.clone(), project.clone(), owner_name.to_owned());
        self.write(move |transaction| {
            let (tenant, project, owner_name) = new.clone();
            Box::pin(async move { create_tenant(transaction, &tenant, &project, owner, &owner_name).await })
        })
        .await
    }

    async fn first_owner(&self) -> Result<Option<Principal>, StoreError> {
        Ok(first_owner(self.reader()).await?)
    }

    async fn viewer(&self, principal: Principal) -> Result<Option<Viewer>, StoreError> {
        Ok(viewer(self, principal).await?)
    }

    async fn projects(&self, scope: Scope, ids: &[ProjectId]) -> Result<Vec<Project>, StoreError> {
        Ok(projects(self.reader(), scope, ids).await?)
    }

    async fn list_projects(&self, principal: Principal, page: PageRequest) -> Result<Page<Project>, StoreError> {
        Ok(list_projects(self, principal, page).await?)
    }

    async fn set_role(
        &self,
        scope: Scope,
        principal: PrincipalId,
        project: ProjectId,
        role: ProjectRole,
    ) -> Result<(), StoreError> {
        self.write(move |transaction| Box::pin(set_role(transaction, scope, principal, project, role))).await
    }

    async fn project_ids(&self, scope: Scope) -> Result<Vec<ProjectId>, StoreError> {
        Ok(project_ids(self, scope).await?)
    }

    async fn create_api_key(&self, new: &NewApiKey) -> Result<(), StoreError> {
        let new = new.clone();
        self.write(move |transaction| {
            let new = new.clone();
            Box::pin(async move { keys::create_api_key(transaction, &new).await })
        })
        .await
    }

    async fn api_key_by_hash(&self, secret_hash: &str) -> Result<Option<ApiKey>, StoreError> {
        Ok(keys::api_key_by_hash(self.reader(), secret_hash).await?)
    }

    async fn api_key(&self, scope: Scope, key: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        Ok(keys::api_key(self.reader(), scope, key).await?)
    }

    async fn revoke_api_key(&self, scope: Scope, key: ApiKeyId, at: Timestamp) -> Result<Option<ApiKey>, StoreError> {
        self.write(move |transaction| Box::pin(keys::revoke_api_key(transaction, scope, key, at))).await
    }

    async fn add_sign_in_code(&self, code: &SignInCode) -> Result<(), StoreError> {
        let code = code.clone();
        self.write(move |transaction| {
            let code = code.clone();
            Box::pin(async move { keys::add_sign_in_code(transaction, &code).await })
        })
        .await
    }

    async fn redeem_sign_in_code(
        &self,
        code_hash: &str,
        now: Timestamp,
        session_token_hash: &str,
        session_expires_at: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let hashes = (code_hash.to_owned(), session_token_hash.to_owned());
        self.write(move |transaction| {
            let (code, token) = hashes.clone();
            Box::pin(keys::redeem_sign_in_code(transaction, code, now, token, session_expires_at))
        })
        .await
    }

    async fn session_by_hash(&self, token_hash: &str) -> Result<Option<Session>, StoreError> {
        Ok(keys::session_by_hash(self.reader(), token_hash).await?)
    }
}

async fn project_ids(store: &SqlStore, scope: Scope) -> Result<Vec<ProjectId>, Fault> {
    let sql = "SELECT id FROM project WHERE tenant_id = ? ORDER BY id";
    let rows = all(store.reader(), sql, [id(scope.tenant_id)]).await?;
    rows.iter().map(|row| Row { table: "project", row }.id("id")).collect()
}

async fn create_tenant(
    transaction: &DatabaseTransaction,
    tenant: &Tenant,
    project: &Project,
    owner: PrincipalId,
    owner_name: &str,
) -> Result<(), Fault> {
    let columns = [("id", id(tenant.id)), ("name", tenant.name.clone().into())];
    let inserted = insert(transaction, "tenant", &columns).await;
    inserted.map_err(|fault| fault.taken("the tenant exists"))?;
    let columns = [
        ("tenant_id", id(tenant.id)),
        ("id", id(project.id)),
        ("slug", project.slug.clone().into()),
        ("name", project.name.clone().into()),
        ("created_at", time(project.created_at)),
    ];
    insert(transaction, "project", &columns).await?;
    insert_principal(transaction, tenant.id, owner, PrincipalKind::User, owner_name).await?;
    set_role(transaction, Scope { tenant_id: tenant.id }, owner, project.id, ProjectRole::Owner).await
}

pub(super) async fn insert_principal(
    transaction: &DatabaseTransaction,
    tenant: domain::ids::TenantId,
    principal: PrincipalId,
    kind: PrincipalKind,
    principal_name: &str,
) -> Result<(), Fault> {
    let columns =
        [("tenant_id", id(tenant)), ("id", id(principal)), ("kind", name(kind)), ("name", principal_name.into())];
    let inserted = insert(transaction, "principal", &columns).await;
    inserted.map_err(|fault| fault.taken("a principal with this id exists"))
}

pub(super) async fn set_role(
    transaction: &DatabaseTransaction,
    scope: Scope,
    principal: PrincipalId,
    project: ProjectId,
    role: ProjectRole,
) -> Result<(), Fault> {
    let key = [("tenant_id", id(scope.tenant_id)), ("principal_id", id(principal)), ("project_id", id(project))];
    let saved = save(transaction, "project_role", &key, &[("role", role.as_str().into())]).await;
    saved.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })
}

async fn first_owner<C: ConnectionTrait>(db: &C) -> Result<Option<Principal>, Fault> {
    let sql = "SELECT r.tenant_id, r.principal_id FROM project_role r JOIN principal p ON p.tenant_id = r.tenant_id \
        AND p.id = r.principal_id WHERE r.role = ? AND p.kind = ? ORDER BY r.tenant_id, r.principal_id LIMIT 1";
    let values = [ProjectRole::Owner.as_str().into(), name(PrincipalKind::User)];
    let Some(row) = one(db, sql, values).await? else { return Ok(None) };
    let row = Row { table: "project_role", row: &row };
    Ok(Some(Principal { id: row.id("principal_id")?, tenant_id: row.id("tenant_id")?, project_id: None }))
}

async fn viewer(store: &SqlStore, principal: Principal) -> Result<Option<Viewer>, Fault> {
    let sql = "SELECT p.kind, p.name, t.name AS tenant_name FROM principal p JOIN tenant t ON t.id = p.tenant_id \
        WHERE p.tenant_id = ? AND p.id = ?";
    let Some(row) = one(store.reader(), sql, [id(principal.tenant_id), id(principal.id)]).await? else {
        return Ok(None);
    };
    let row = Row { table: "principal", row: &row };
    let first = list_projects(store, principal, PageRequest { first: 1, after: None }).await?;
    Ok(Some(Viewer {
        id: principal.id,
        kind: row.name("kind")?,
        name: row.text("name")?,
        tenant: Tenant { id: principal.tenant_id, name: row.text("tenant_name")? },
        default_project: first.rows.into_iter().next().map(|(_, project)| project),
    }))
}

async fn projects<C: ConnectionTrait>(db: &C, scope: Scope, ids: &[ProjectId]) -> Result<Vec<Project>, Fault> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT * FROM project WHERE tenant_id = ? AND id IN ({})", marks(ids.len()));
    let values = std::iter::once(id(scope.tenant_id)).chain(ids.iter().map(id));
    all(db, &sql, values).await?.iter().map(read_project).collect()
}

async fn list_projects(store: &SqlStore, principal: Principal, request: PageRequest) -> Result<Page<Project>, Fault> {
    let Some(after) = page::slug_key(&request) else { return Ok(page::cut(&request, Vec::new())) };
    let mut sql = "SELECT p.* FROM project p JOIN project_role r ON r.tenant_id = p.tenant_id AND r.project_id = p.id \
        WHERE p.tenant_id = ? AND r.principal_id = ? AND p.slug > ?"
        .to_owned();
    let mut values = vec![id(principal.tenant_id), id(principal.id), after.into()];
    if let Some(bound) = principal.project_id {
        sql.push_str(" AND p.id = ?");
        values.push(id(bound));
    }
    sql.push_str(" ORDER BY p.slug LIMIT ?");
    values.push(page::limit(&request).into());
    let rows = all(store.reader(), &sql, values).await?;
    let projects: Vec<Project> = rows.iter().map(read_project).collect::<Result<_, _>>()?;
    Ok(page::cut(&request, projects.into_iter().map(|project| (project.slug.clone(), project)).collect()))
}

fn read_project(row: &QueryResult) -> Result<Project, Fault> {
    let row = Row { table: "project", row };
    Ok(Project {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        slug: row.text("slug")?,
        name: row.text("name")?,
        created_at: row.time("created_at")?,
    })
}
