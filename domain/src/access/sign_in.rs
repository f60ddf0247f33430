//! Signing in: a secret that somebody brings is turned into the principal that it belongs to.
//!
//! API keys, one-time codes and session cookies are kept as SHA-256 only: they are long and random, so a slow hash would
//! add nothing. Every answer to a wrong, used, revoked or expired secret is the same: none.

use std::time::Duration;

use data_encoding::BASE32_NOPAD;

use super::model::SignInCode;
use super::ports::IdentityStore;
use crate::artifact::sha256_hex;
use crate::clock::{Clock, Entropy, Timestamp};
use crate::ctx::Principal;
use crate::error::StoreError;

/// How long a one-time code can be used.
pub const CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a browser stays signed in.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Who came in, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedIn {
    /// The principal.
    pub principal: Principal,
    /// When its credential stops working; None for never.
    pub expires_at: Option<Timestamp>,
}

/// A session that was just opened.
pub struct OpenedSession {
    /// The cookie's value, which exists nowhere else.
    pub token: String,
    /// Who is signed in, and until when.
    pub signed_in: SignedIn,
}

/// The bearer of an API key.
pub async fn by_api_key(
    identity: &dyn IdentityStore,
    clock: &dyn Clock,
    secret: &str,
) -> Result<Option<SignedIn>, StoreError> {
    let key = identity.api_key_by_hash(&sha256_hex(secret.as_bytes())).await?;
    let is_valid = |expires_at: Option<Timestamp>| expires_at.is_none_or(|at| at > clock.now());
    Ok(key.filter(|key| key.revoked_at.is_none() && is_valid(key.expires_at)).map(|key| SignedIn {
        principal: Principal { id: key.principal_id, tenant_id: key.tenant_id, project_id: Some(key.project_id) },
        expires_at: key.expires_at,
    }))
}

/// The browser with this session cookie.
pub async fn by_session(
    identity: &dyn IdentityStore,
    clock: &dyn Clock,
    token: &str,
) -> Result<Option<SignedIn>, StoreError> {
    let session = identity.session_by_hash(&sha256_hex(token.as_bytes())).await?;
    Ok(session.filter(|session| session.expires_at > clock.now()).map(|session| SignedIn {
        principal: Principal { id: session.principal_id, tenant_id: session.tenant_id, project_id: None },
        expires_at: Some(session.expires_at),
    }))
}

/// Makes a one-time code that signs this principal in.
pub async fn issue_code(
    identity: &dyn IdentityStore,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    principal: Principal,
) -> Result<String, StoreError> {
    let code = random_text(entropy);
    let row = SignInCode {
        code_hash: sha256_hex(code.as_bytes()),
        principal_id: principal.id,
        tenant_id: principal.tenant_id,
        expires_at: clock.now().plus(CODE_LIFETIME),
    };
    identity.add_sign_in_code(&row).await?;
    Ok(code)
}

/// Uses a one-time code up and opens a session.
pub async fn redeem_code(
    identity: &dyn IdentityStore,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    code: &str,
) -> Result<Option<OpenedSession>, StoreError> {
    let (now, token) = (clock.now(), random_text(entropy));
    let (code_hash, token_hash) = (sha256_hex(code.as_bytes()), sha256_hex(token.as_bytes()));
    let session = identity.redeem_sign_in_code(&code_hash, now, &token_hash, now.plus(SESSION_LIFETIME)).await?;
    Ok(session.map(|session| OpenedSession {
        token,
        signed_in: SignedIn {
            principal: Principal { id: session.principal_id, tenant_id: session.tenant_id, project_id: None },
            expires_at: Some(session.expires_at),
        },
    }))
}

fn random_text(entropy: &dyn Entropy) -> String {
    let mut bytes = [0_u8; 32];
    entropy.fill(&mut bytes);
    BASE32_NOPAD.encode(&bytes).to_ascii_lowercase()
}
