//! An Artifact is a file that belongs to an execution: given to it, or left by it.
//!
//! The bytes lie in the artifact store under their SHA-256, once per tenant; the row says what they are. A text that is
//! too long for a row lies there as well, as a blob without a row.

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::ctx::Scope;
use crate::error::StoreError;
use crate::ids::{ArtifactId, ExecutionId, ToolCallId};

/// Texts up to this many bytes stay in their row.
pub const INLINE_TEXT_BYTES: usize = 16 * 1024;

/// What an artifact is to its execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ArtifactKind {
    /// Given with the start call; put into `/workspace/inputs`.
    Input,
    /// Left in `/workspace/outputs`.
    Output,
    /// What a program printed, where the log holds only a part of it.
    Printed,
}

/// A file's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its id.
    pub id: ArtifactId,
    /// The execution that it belongs to.
    pub execution_id: ExecutionId,
    /// Input or output.
    pub kind: ArtifactKind,
    /// Path below `inputs/` or `outputs/`.
    pub name: String,
    /// Media type, guessed from the name.
    pub media_type: String,
    /// Size in bytes.
    pub byte_size: u64,
    /// Hexadecimal SHA-256 of the bytes.
    pub sha256: String,
    /// The tool call after which it was found.
    pub tool_call_id: Option<ToolCallId>,
    /// When it was stored.
    pub created_at: Timestamp,
}

/// A text that is kept in its row when short, and in the artifact store when long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoredText {
    /// The text itself.
    Inline(String),
    /// Where it lies.
    #[serde(rename_all = "camelCase")]
    Blob {
        /// Hexadecimal SHA-256.
        sha256: String,
        /// Size in bytes.
        byte_size: u64,
    },
}

impl StoredText {
    /// No text.
    pub const fn empty() -> Self {
        Self::Inline(String::new())
    }
}

/// Keeps bytes under their SHA-256, for executions and for as long as one that put them is there.
///
/// An execution puts every blob that it names itself, also one that is there already: what nobody has put since the oldest
/// execution was started is used by none.
#[async_trait]
pub trait ArtifactStore: Send + Sync {
    /// Stores the bytes durably and returns their hexadecimal SHA-256. Storing the same bytes again is cheap.
    async fn put(&self, scope: Scope, bytes: Bytes) -> Result<String, StoreError>;

    /// Begins bytes that come in pieces. Nothing of them is stored before they are kept.
    async fn begin(&self, scope: Scope) -> Result<Box<dyn ArtifactDraft>, StoreError>;

    /// Removes the blobs of a tenant that nobody has put since this moment; says how many. Some that were put up to an
    /// hour before it may stay.
    async fn remove_unused(&self, scope: Scope, since: Timestamp) -> Result<u64, StoreError>;

    /// The bytes with this SHA-256, verified; None when there are none in this tenant.
    async fn get(&self, scope: Scope, sha256: &str) -> Result<Option<Bytes>, StoreError>;
}

/// Bytes on their way into the artifact store, a piece at a time and never whole in memory. Dropped, they leave nothing.
#[async_trait]
pub trait ArtifactDraft: Send {
    /// Takes the next piece.
    async fn write(&mut self, piece: Bytes) -> Result<(), StoreError>;

    /// Stores what was written durably.
    async fn keep(self: Box<Self>) -> Result<Blob, StoreError>;
}

/// Bytes in the artifact store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Hexadecimal SHA-256.
    pub sha256: String,
    /// Size in bytes.
    pub byte_size: u64,
}

/// Keeps a text: in the row when it is short, else in the artifact store.
pub async fn store_text(store: &dyn ArtifactStore, scope: Scope, text: String) -> Result<StoredText, StoreError> {
    if text.len() <= INLINE_TEXT_BYTES {
        return Ok(StoredText::Inline(text));
    }
    let byte_size = text.len() as u64;
    let sha256 = store.put(scope, Bytes::from(text)).await?;
    Ok(StoredText::Blob { sha256, byte_size })
}

/// Reads a text back, wherever it lies.
pub async fn load_text(store: &dyn ArtifactStore, scope: Scope, text: &StoredText) -> Result<String, StoreError> {
    let sha256 = match text {
        StoredText::Inline(text) => return Ok(text.clone()),
        StoredText::Blob { sha256, .. } => sha256,
    };
    let missing = || StoreError::Corrupt { what: format!("blob {sha256}") };
    let bytes = store.get(scope, sha256).await?.ok_or_else(missing)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| missing())
}

/// Hexadecimal SHA-256 of some bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The media type that a file's name suggests; what we do not know is a plain sequence of bytes.
pub fn media_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "csv" => "text/csv",
        "gif" => "image/gif",
        "htm" | "html" => "text/html",
        "jpeg" | "jpg" => "image/jpeg",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "log" | "py" | "rs" | "sh" | "toml" | "txt" | "yaml" | "yml" => "text/plain",
        "md" => "text/markdown",
        "pdf" => "application/pdf",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "xml" => "application/xml",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}
