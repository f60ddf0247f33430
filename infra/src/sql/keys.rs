//! API keys, one-time codes and browser sessions. Only hashes of secrets come here.

use sea_orm::{ConnectionTrait, DatabaseTransaction, QueryResult, Value};

use super::fault::Fault;
use super::identity::{insert_principal, set_role};
use super::query::{execute, insert, one};
use super::rows::{Row, id, optional_time, time};
use domain::access::{ApiKey, NewApiKey, PrincipalKind, Session, SignInCode};
use domain::clock::Timestamp;
use domain::ctx::Scope;
use domain::ids::ApiKeyId;

pub(super) async fn create_api_key(transaction: &DatabaseTransaction, new: &NewApiKey) -> Result<(), Fault> {
    let key = &new.key;
    insert_principal(transaction, key.tenant_id, key.principal_id, PrincipalKind::ApiKey, &key.name).await?;
    let scope = Scope { tenant_id: key.tenant_id };
    set_role(transaction, scope, key.principal_id, key.project_id, new.role).await?;
    let columns = [
        ("tenant_id", id(key.tenant_id)),
        ("id", id(key.id)),
        ("project_id", id(key.project_id)),
        ("principal_id", id(key.principal_id)),
        ("name", key.name.clone().into()),
        ("prefix", key.prefix.clone().into()),
        ("secret_hash", new.secret_hash.clone().into()),
        ("created_at", time(key.created_at)),
        ("expires_at", optional_time(key.expires_at)),
        ("revoked_at", optional_time(key.revoked_at)),
    ];
    let inserted = insert(transaction, "api_key", &columns).await;
    inserted.map_err(|fault| fault.taken("an API key with this id or secret exists"))
}

pub(super) async fn api_key_by_hash<C: ConnectionTrait>(db: &C, secret_hash: &str) -> Result<Option<ApiKey>, Fault> {
    let row = one(db, "SELECT * FROM api_key WHERE secret_hash = ?", [secret_hash.into()]).await?;
    row.as_ref().map(read_api_key).transpose()
}

pub(super) async fn api_key<C: ConnectionTrait>(db: &C, scope: Scope, key: ApiKeyId) -> Result<Option<ApiKey>, Fault> {
    let sql = "SELECT * FROM api_key WHERE tenant_id = ? AND id = ?";
    let row = one(db, sql, [id(scope.tenant_id), id(key)]).await?;
    row.as_ref().map(read_api_key).transpose()
}

pub(super) async fn revoke_api_key(
    transaction: &DatabaseTransaction,
    scope: Scope,
    key: ApiKeyId,
    at: Timestamp,
) -> Result<Option<ApiKey>, Fault> {
    let sql = "UPDATE api_key SET revoked_at = ? WHERE tenant_id = ? AND id = ? AND revoked_at IS NULL";
    execute(transaction, sql, [time(at), id(scope.tenant_id), id(key)]).await?;
    api_key(transaction, scope, key).await
}

fn read_api_key(row: &QueryResult) -> Result<ApiKey, Fault> {
    let row = Row { table: "api_key", row };
    Ok(ApiKey {
        id: row.id("id")?,
        tenant_id: row.id("tenant_id")?,
        project_id: row.id("project_id")?,
        principal_id: row.id("principal_id")?,
        name: row.text("name")?,
        prefix: row.text("prefix")?,
        created_at: row.time("created_at")?,
        expires_at: row.optional_time("expires_at")?,
        revoked_at: row.optional_time("revoked_at")?,
    })
}

pub(super) async fn add_sign_in_code(transaction: &DatabaseTransaction, code: &SignInCode) -> Result<(), Fault> {
    let columns = [
        ("code_hash", code.code_hash.clone().into()),
        ("tenant_id", id(code.tenant_id)),
        ("principal_id", id(code.principal_id)),
        ("expires_at", time(code.expires_at)),
    ];
    let inserted = insert(transaction, "sign_in_code", &columns).await;
    inserted.map_err(|fault| fault.taken("this sign-in code exists"))
}

/// The update uses the code up: of two that redeem it, one matches.
pub(super) async fn redeem_sign_in_code(
    transaction: &DatabaseTransaction,
    code_hash: String,
    now: Timestamp,
    token_hash: String,
    expires_at: Timestamp,
) -> Result<Option<Session>, Fault> {
    let code = Value::from(code_hash);
    let sql = "UPDATE sign_in_code SET used_at = ? WHERE code_hash = ? AND used_at IS NULL AND expires_at > ?";
    if execute(transaction, sql, [time(now), code.clone(), time(now)]).await? != 1 {
        return Ok(None);
    }
    let sql = "SELECT tenant_id, principal_id FROM sign_in_code WHERE code_hash = ?";
    let row = one(transaction, sql, [code]).await?.ok_or_else(|| Fault::corrupt("sign_in_code.code_hash"))?;
    let row = Row { table: "sign_in_code", row: &row };
    let session =
        Session { token_hash, principal_id: row.id("principal_id")?, tenant_id: row.id("tenant_id")?, expires_at };
    let columns = [
        ("token_hash", session.token_hash.clone().into()),
        ("tenant_id", id(session.tenant_id)),
        ("principal_id", id(session.principal_id)),
        ("expires_at", time(session.expires_at)),
    ];
    let inserted = insert(transaction, "browser_session", &columns).await;
    inserted.map_err(|fault| fault.taken("this session exists"))?;
    Ok(Some(session))
}

pub(super) async fn session_by_hash<C: ConnectionTrait>(db: &C, token_hash: &str) -> Result<Option<Session>, Fault> {
    let sql = "SELECT * FROM browser_session WHERE token_hash = ?";
    let Some(row) = one(db, sql, [token_hash.into()]).await? else { return Ok(None) };
    let row = Row { table: "browser_session", row: &row };
    Ok(Some(Session {
        token_hash: row.text("token_hash")?,
        principal_id: row.id("principal_id")?,
        tenant_id: row.id("tenant_id")?,
        expires_at: row.time("expires_at")?,
    }))
}
