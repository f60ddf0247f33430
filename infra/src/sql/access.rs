//! Facts for decisions about access, and the grants behind them.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, Value};

use super::SqlStore;
use super::fault::Fault;
use super::query::{execute, insert, one};
use super::rows::{Row, id, name, optional_id};
use domain::access::{AccessFacts, AccessStore, Action, Grant, PrincipalKind, ServiceIdentity, Target};
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::ids::{PrincipalId, ResourceId};

#[async_trait]
impl AccessStore for SqlStore {
    async fn facts(
        &self,
        principal: PrincipalId,
        action: Action,
        target: &Target,
    ) -> Result<Option<AccessFacts>, StoreError> {
        Ok(facts(self.reader(), principal, action, target).await?)
    }

    async fn grant(&self, grant: Grant) -> Result<(), StoreError> {
        self.write(move |transaction| Box::pin(add_grant(transaction, grant))).await
    }

    async fn revoke(&self, grant: Grant) -> Result<bool, StoreError> {
        self.write(move |transaction| Box::pin(remove_grant(transaction, grant))).await
    }

    async fn ensure_service_identity(
        &self,
        scope: Scope,
        identity: ServiceIdentity,
    ) -> Result<ServiceIdentity, StoreError> {
        self.write(move |transaction| Box::pin(ensure_service_identity(transaction, scope, identity))).await
    }

    async fn service_identity(&self, scope: Scope, agent: ResourceId) -> Result<Option<ServiceIdentity>, StoreError> {
        Ok(service_identity(self.reader(), scope, agent).await?)
    }
}

/// One statement: a decision must not see a role of before and a grant of after a change.
async fn facts<C: ConnectionTrait>(
    db: &C,
    principal: PrincipalId,
    action: Action,
    target: &Target,
) -> Result<Option<AccessFacts>, Fault> {
    let sql = "SELECT p.kind, r.role, (SELECT COUNT(*) FROM grant_row g WHERE g.tenant_id = p.tenant_id \
          AND g.principal_id = p.id AND g.action = ? AND g.resource_id = ?) AS grants \
        FROM principal p LEFT JOIN project_role r ON r.tenant_id = p.tenant_id AND r.principal_id = p.id \
          AND r.project_id = ? WHERE p.tenant_id = ? AND p.id = ?";
    let values = [
        action.as_str().into(),
        optional_id(target.resource_id),
        id(target.project_id),
        id(target.tenant_id),
        id(principal),
    ];
    let Some(row) = one(db, sql, values).await? else { return Ok(None) };
    let row = Row { table: "principal", row: &row };
    Ok(Some(AccessFacts {
        kind: row.name("kind")?,
        role: row.optional_name("role")?,
        has_grant: row.int::<u64>("grants")? > 0,
    }))
}

fn grant_key(grant: &Grant) -> [(&'static str, Value); 4] {
    [
        ("tenant_id", id(grant.tenant_id)),
        ("principal_id", id(grant.principal_id)),
        ("action", grant.action.as_str().into()),
        ("resource_id", id(grant.resource_id)),
    ]
}

async fn add_grant(transaction: &DatabaseTransaction, grant: Grant) -> Result<(), Fault> {
    let sql = "SELECT 1 AS one FROM grant_row \
        WHERE tenant_id = ? AND principal_id = ? AND action = ? AND resource_id = ?";
    if one(transaction, sql, grant_key(&grant).map(|(_, value)| value)).await?.is_some() {
        return Ok(());
    }
    let inserted = insert(transaction, "grant_row", &grant_key(&grant)).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })
}

async fn remove_grant(transaction: &DatabaseTransaction, grant: Grant) -> Result<bool, Fault> {
    let sql = "DELETE FROM grant_row WHERE tenant_id = ? AND principal_id = ? AND action = ? AND resource_id = ?";
    Ok(execute(transaction, sql, grant_key(&grant).map(|(_, value)| value)).await? == 1)
}

async fn ensure_service_identity(
    transaction: &DatabaseTransaction,
    scope: Scope,
    identity: ServiceIdentity,
) -> Result<ServiceIdentity, Fault> {
    if let Some(known) = service_identity(transaction, scope, identity.agent_id).await? {
        return Ok(known);
    }
    let principal = [
        ("tenant_id", id(scope.tenant_id)),
        ("id", id(identity.principal_id)),
        ("kind", name(PrincipalKind::ServiceIdentity)),
        ("name", id(identity.agent_id)),
    ];
    let inserted = insert(transaction, "principal", &principal).await;
    inserted.map_err(|fault| fault.taken("a principal with this id exists"))?;
    let columns = [
        ("tenant_id", id(scope.tenant_id)),
        ("agent_id", id(identity.agent_id)),
        ("principal_id", id(identity.principal_id)),
    ];
    let inserted = insert(transaction, "service_identity", &columns).await;
    inserted.map_err(|fault| if fault.is_unique_violation() { Fault::Again } else { fault })?;
    Ok(identity)
}

async fn service_identity<C: ConnectionTrait>(
    db: &C,
    scope: Scope,
    agent: ResourceId,
) -> Result<Option<ServiceIdentity>, Fault> {
    let sql = "SELECT principal_id FROM service_identity WHERE tenant_id = ? AND agent_id = ?";
    let Some(row) = one(db, sql, [id(scope.tenant_id), id(agent)]).await? else { return Ok(None) };
    let principal_id = Row { table: "service_identity", row: &row }.id("principal_id")?;
    Ok(Some(ServiceIdentity { principal_id, agent_id: agent }))
}
