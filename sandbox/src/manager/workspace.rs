//! What lies in `/workspace`, looked at and put back through the file calls that every OpenSandbox server has.

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::sandbox::{EntryKind, KeptDirectory, KeptFile, SandboxError, WorkspaceEntry};

use super::failure::failure;
use crate::opensandbox::{Download, Error, FileInfo, FileKind, FileMode, Sandbox, Upload};
use crate::runner::WORKSPACE;

/// Deeper than any path of 4096 bytes.
const DEPTH: u32 = 2048;
/// Permission bits of what the server gives none for.
const DEFAULT_MODE: u32 = 0o755;

pub(super) async fn list(remote: &Sandbox) -> Result<Vec<WorkspaceEntry>, SandboxError> {
    match remote.list_directory(WORKSPACE, DEPTH).await {
        Ok(listed) => Ok(listed.into_iter().filter_map(entry).collect()),
        // The agent may have removed its own workspace.
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        Err(error) => Err(failure(&error)),
    }
}

fn entry(info: FileInfo) -> Option<WorkspaceEntry> {
    let path = info.path.strip_prefix(WORKSPACE)?.strip_prefix('/')?.to_owned();
    let kind = match info.kind {
        FileKind::File => EntryKind::File,
        FileKind::Directory => EntryKind::Directory,
        FileKind::Symlink | FileKind::Other => EntryKind::Other,
    };
    let modified_at = info.modified_at.and_then(|at| i64::try_from(at.unix_timestamp_nanos() / 1000).ok());
    Some(WorkspaceEntry {
        path,
        kind,
        byte_size: info.size_bytes,
        mode: info.mode.map_or(DEFAULT_MODE, |mode| mode.0),
        modified_at: modified_at.map(Timestamp::from_micros),
    })
}

pub(super) async fn read(remote: &Sandbox, path: &str, limit: u64) -> Result<Option<Bytes>, SandboxError> {
    let mut content = Vec::new();
    let request = Download { path: absolute(path), range: None, max_bytes: limit };
    match remote.download(&request, &mut content).await {
        Ok(downloaded) if downloaded.is_truncated => Ok(None),
        Ok(_) => Ok(Some(content.into())),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

pub(super) async fn make_directory(remote: &Sandbox, directory: &KeptDirectory) -> Result<(), SandboxError> {
    let made = remote.make_directory(&absolute(&directory.path), FileMode(directory.mode)).await;
    made.map_err(|error| failure(&error))
}

pub(super) async fn write(remote: &Sandbox, file: &KeptFile, bytes: Bytes) -> Result<(), SandboxError> {
    let mode = Some(FileMode(file.mode));
    let upload = Upload { path: absolute(&file.path), mode, size_bytes: bytes.len() as u64 };
    remote.upload(&upload, std::io::Cursor::new(bytes)).await.map_err(|error| failure(&error))
}

fn absolute(path: &str) -> String {
    format!("{WORKSPACE}/{path}")
}
