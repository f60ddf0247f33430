//! Links to files: a sealed token that names the file and its end, and the route that serves it.
//!
//! A link needs no further credentials and works for one file until its time. What it serves never runs as a page of
//! ours: the answer forbids scripts, sniffing and framing.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use domain::artifact::{Artifact, ArtifactStore};
use domain::clock::{Clock, Timestamp};
use domain::ctx::Scope;
use domain::execution::ExecutionReader;
use domain::ids::{ArtifactId, TenantId};
use domain::resource::{SealedSecret, SecretError, SecretStore};
use serde::{Deserialize, Serialize};

use crate::graphql::ArtifactLinks;

const LABEL: &str = "artifact-link";
const CONTENT_SECURITY_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

#[derive(Serialize, Deserialize)]
struct Claim {
    tenant: TenantId,
    artifact: ArtifactId,
    expires_at: Timestamp,
}

/// Makes and serves links.
#[derive(Clone)]
pub struct Links {
    /// Seals the tokens.
    pub secrets: Arc<dyn SecretStore>,
    /// Rows.
    pub reader: Arc<dyn ExecutionReader>,
    /// Bytes.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl ArtifactLinks for Links {
    fn link(&self, tenant: TenantId, artifact: &Artifact, expires_at: Timestamp) -> Result<String, SecretError> {
        let claim = Claim { tenant, artifact: artifact.id, expires_at };
        // Ids and a number: it cannot fail to be written.
        let claim = serde_json::to_string(&claim).unwrap_or_default();
        let sealed = self.secrets.seal(LABEL, &claim)?;
        Ok(format!("/artifacts/{}?", data_encoding::BASE64URL_NOPAD.encode(sealed.0.as_bytes())))
    }
}

/// The route of the links.
pub fn router(links: Links) -> Router {
    Router::new().route("/artifacts/{token}", get(serve)).with_state(links)
}

async fn serve(State(links): State<Links>, Path(token): Path<String>, RawQuery(query): RawQuery) -> Response {
    let gone = (StatusCode::NOT_FOUND, "This link is not valid, or its time is over. Ask for a fresh one.");
    let Some(claim) = links.open(&token) else { return gone.into_response() };
    let scope = Scope { tenant_id: claim.tenant };
    let row = links.reader.artifact(scope, claim.artifact).await;
    let Ok(Some(artifact)) = row else { return gone.into_response() };
    match links.artifacts.get(scope, &artifact.sha256).await {
        Ok(Some(bytes)) => {
            let is_download = query.is_some_and(|query| query.split('&').any(|pair| pair == "download=1"));
            (headers(&artifact, is_download), Body::from(bytes)).into_response()
        }
        Ok(None) => gone.into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "The file store does not answer. Try again.").into_response(),
    }
}

impl Links {
    fn open(&self, token: &str) -> Option<Claim> {
        let sealed = data_encoding::BASE64URL_NOPAD.decode(token.as_bytes()).ok()?;
        let claim = self.secrets.open(LABEL, &SealedSecret(String::from_utf8(sealed).ok()?)).ok()?;
        let claim: Claim = serde_json::from_str(&claim).ok()?;
        (claim.expires_at > self.clock.now()).then_some(claim)
    }
}

fn headers(artifact: &Artifact, is_download: bool) -> [(header::HeaderName, HeaderValue); 5] {
    let value =
        |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let name = artifact.name.rsplit('/').next().unwrap_or_default();
    let disposition =
        format!("{}; filename*=UTF-8''{}", if is_download { "attachment" } else { "inline" }, encoded(name));
    [
        (header::CONTENT_TYPE, value(&with_charset(&artifact.media_type))),
        (header::CONTENT_DISPOSITION, value(&disposition)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
        (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=300")),
    ]
}

/// Programs write their texts in UTF-8; a browser would guess otherwise.
fn with_charset(media_type: &str) -> String {
    if media_type.starts_with("text/") { format!("{media_type}; charset=utf-8") } else { media_type.to_owned() }
}

/// The extended value of RFC 8187: everything but letters, digits and a few marks is percent-encoded UTF-8.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
