//! An IssuedCredential says that a credential was in a sandbox: for which tool call, from when and until when.
//!
//! It is stored before the file is written, so that none is there without a record, and holds no secret.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{ResourceId, SandboxId, ToolCallId, VersionId};

/// The shortest secret that can be told from ordinary text when it comes back.
pub const SHORTEST_SECRET_BYTES: usize = 8;
/// The longest secret that goes into a sandbox.
pub const LONGEST_SECRET_BYTES: usize = 4096;

/// Why a credential was taken out of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RevokedBecause {
    /// The tool call ended.
    CallEnded,
    /// Its time was over.
    Expired,
    /// It could not be put there, or not be taken away again, and the sandbox was given up.
    Failed,
    /// The sandbox ended.
    SandboxEnded,
}

/// A credential in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCredential {
    /// The tool call whose program may use it.
    pub call: ToolCallId,
    /// Name of its file; unique within the call.
    pub name: String,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The credential.
    pub credential: ResourceId,
    /// The version whose secret it was.
    pub version: VersionId,
    /// When it was put there.
    pub issued_at: Timestamp,
    /// When the file is removed at the latest.
    pub expires_at: Timestamp,
    /// When it was taken away, and why.
    pub revoked: Option<(Timestamp, RevokedBecause)>,
}
