//! A Workspace is what lies in a sandbox's `/workspace`; a Manifest says what lay there when a tool call had ended.
//!
//! Kept are directories and regular files, each with its permission bits, a file by the digests of its bytes. Links,
//! pipes and devices are not: no call of the sandbox protocol makes them, so they could not come back. Times are not
//! kept either. What is not kept is counted, and whoever reads the workspace later is told.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::artifact::sha256_hex;
use crate::clock::Timestamp;

/// Files that a checkpoint holds at most, and as many directories.
pub const MAX_FILES: usize = 2_000;
/// Bytes of one file at most.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes of all files at most.
pub const MAX_TOTAL_BYTES: u64 = 128 * 1024 * 1024;

/// What an entry of the workspace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, which nobody followed.
    Link,
    /// A pipe, a socket or a device.
    Special,
    /// Anything whose name holds a credential's value: its path is told without it.
    Hidden,
    /// Anything whose name, or that of a directory above it, the sandbox's server does not take.
    Unnamed,
}

impl EntryKind {
    /// In words, for a message.
    pub const fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a link",
            Self::Special => "a special file",
            Self::Hidden => "an entry whose name holds a credential's value",
            Self::Unnamed => "an entry whose name the sandbox's server does not take",
        }
    }
}

/// An entry of the workspace, as the sandbox lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceEntry {
    /// Path below `/workspace`.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes.
    pub byte_size: u64,
    /// Permission bits.
    pub mode: u32,
    /// When its content was changed, by the sandbox's clock.
    pub modified_at: Option<Timestamp>,
}

/// What lies below a directory, as far as it could be listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// What was listed, in no order.
    pub entries: Vec<WorkspaceEntry>,
    /// Directories among it whose own content is missing: it has too many entries for the server, or may not be read.
    pub unlisted: Vec<String>,
    /// Whether the listing stopped at its bound, so that more may lie there.
    pub is_cut: bool,
}

/// A file in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Path below `/workspace`.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// BLAKE3 of the bytes: what comes back is compared with it.
    pub blake3: String,
    /// SHA-256 of the bytes: the artifact store keeps them under it.
    pub sha256: String,
}

impl KeptFile {
    /// What a manifest says of these bytes.
    pub fn of(path: &str, mode: u32, bytes: &Bytes) -> Self {
        Self {
            path: path.to_owned(),
            size: bytes.len() as u64,
            mode,
            blake3: blake3::hash(bytes).to_hex().to_string(),
            sha256: sha256_hex(bytes),
        }
    }

    /// Whether these are its bytes.
    pub fn has(&self, bytes: &Bytes) -> bool {
        bytes.len() as u64 == self.size && blake3::hash(bytes).to_hex().as_str() == self.blake3
    }
}

/// A directory in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDirectory {
    /// Path below `/workspace`.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
}

/// What lay in the workspace, in the order of the paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The directories, parents first.
    pub directories: Vec<KeptDirectory>,
    /// The files.
    pub files: Vec<KeptFile>,
}

/// The row that names a manifest, and how much of the workspace it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceCheckpoint {
    /// SHA-256 of the manifest as JSON, in the artifact store; None when nothing could be kept yet.
    pub manifest: Option<String>,
    /// Entries that it leaves out.
    pub left_out: u32,
    /// Whether the workspace could not be read after the last call, so that the manifest is of an earlier moment.
    pub is_stale: bool,
}

impl WorkspaceCheckpoint {
    /// Whether nothing of the workspace is missing.
    pub const fn is_whole(&self) -> bool {
        self.manifest.is_some() && self.left_out == 0 && !self.is_stale
    }

    /// What a new sandbox holds, for the model.
    pub fn describe(checkpoint: Option<&Self>) -> String {
        match checkpoint {
            None | Some(Self { manifest: None, .. }) => {
                "the workspace is a fresh one, with the input files and nothing else".to_owned()
            }
            Some(Self { is_stale: true, .. }) => {
                "the workspace is that of an earlier moment: what the last calls changed in it is lost".to_owned()
            }
            Some(Self { left_out: 0, .. }) => {
                "the files in the workspace are those from the end of the last finished tool call".to_owned()
            }
            Some(Self { left_out, .. }) => format!(
                "the files in the workspace are those from the end of the last finished tool call, but {left_out} are \
                 missing that could not be kept"
            ),
        }
    }
}
