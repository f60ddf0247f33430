//! An API key lets a program in: 32 random bytes that are shown once and stored as their hash.

use std::sync::Arc;

use data_encoding::BASE32_NOPAD;

use super::authorizer::Authorizer;
use super::model::{Action, ApiKey, NewApiKey, ProjectRole, Target};
use super::ports::IdentityStore;
use super::refusal::{Refusal, fault, require};
use crate::artifact::sha256_hex;
use crate::clock::Timestamp;
use crate::ctx::OpContext;
use crate::ids::{ApiKeyId, PrincipalId, ProjectId};
use crate::resource::validate_name;

/// How every key begins, so that leak scanners can know it.
pub const SECRET_PREFIX: &str = "vit_";
/// Characters of a secret that are kept to recognise it by.
const SHOWN_CHARACTERS: usize = 10;

/// What API keys need from outside.
#[derive(Clone)]
pub struct ApiKeyPorts {
    /// Keeps keys.
    pub identity: Arc<dyn IdentityStore>,
    /// Says who may hand them out.
    pub authorizer: Arc<Authorizer>,
}

/// The key that is wanted.
#[derive(Debug, Clone)]
pub struct CreateApiKey {
    /// The project that it is bound to.
    pub project_id: ProjectId,
    /// For people.
    pub name: String,
    /// What its bearer may do.
    pub role: ProjectRole,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
}

/// A new key with its secret, which exists nowhere else.
pub struct CreatedApiKey {
    /// The row.
    pub key: ApiKey,
    /// The secret.
    pub secret: String,
}

/// Makes a key; needs `manageAccess` on its project.
pub async fn create_api_key(
    op: &OpContext,
    ports: &ApiKeyPorts,
    request: CreateApiKey,
) -> Result<CreatedApiKey, Refusal> {
    let target = Target { tenant_id: op.principal.tenant_id, project_id: request.project_id, resource_id: None };
    require(op, &ports.authorizer, Action::ManageAccess, &target, &["projectId"]).await?;
    let now = op.clock.now();
    let mut faults: Vec<_> = validate_name(&request.name).err().into_iter().collect();
    if request.expires_at.is_some_and(|at| at <= now) {
        faults.push(fault(&["expiresAt"], "OUT_OF_RANGE", "must lie in the future; leave it out for a key that stays"));
    }
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    let secret = generate_secret(op);
    let key = ApiKey {
        id: ApiKeyId::generate(op.clock.as_ref(), op.entropy.as_ref()),
        tenant_id: op.principal.tenant_id,
        project_id: request.project_id,
        principal_id: PrincipalId::generate(op.clock.as_ref(), op.entropy.as_ref()),
        name: request.name,
        prefix: secret.chars().take(SHOWN_CHARACTERS).collect(),
        created_at: now,
        expires_at: request.expires_at,
        revoked_at: None,
    };
    let new = NewApiKey { key, secret_hash: sha256_hex(secret.as_bytes()), role: request.role };
    ports.identity.create_api_key(&new).await?;
    Ok(CreatedApiKey { key: new.key, secret })
}

/// Ends a key at once; ending it again changes nothing.
pub async fn revoke_api_key(op: &OpContext, ports: &ApiKeyPorts, id: ApiKeyId) -> Result<ApiKey, Refusal> {
    let path = ["apiKeyId"];
    let missing = || Refusal::not_found(&path);
    let key = ports.identity.api_key(op.scope(), id).await?.ok_or_else(missing)?;
    let target = Target { tenant_id: key.tenant_id, project_id: key.project_id, resource_id: None };
    require(op, &ports.authorizer, Action::ManageAccess, &target, &path).await.map_err(|refusal| match refusal {
        // Who may not manage access may not learn which keys there are.
        Refusal::Faults(_) => missing(),
        other @ (Refusal::Store(_) | Refusal::Seal(_)) => other,
    })?;
    ports.identity.revoke_api_key(op.scope(), id, op.clock.now()).await?.ok_or_else(missing)
}

fn generate_secret(op: &OpContext) -> String {
    let mut bytes = [0_u8; 32];
    op.entropy.fill(&mut bytes);
    format!("{SECRET_PREFIX}{}", BASE32_NOPAD.encode(&bytes).to_ascii_lowercase())
}
