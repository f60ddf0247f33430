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
    // The agent may have removed its own workspace.
    Ok(list_directory(remote, "", DEPTH).await?.unwrap_or_default())
}

/// None when there is no such directory.
pub(super) async fn list_directory(
    remote: &Sandbox,
    path: &str,
    depth: u32,
) -> Result<Option<Vec<WorkspaceEntry>>, SandboxError> {
    match remote.list_directory(&absolute(path), depth).await {
        Ok(listed) => Ok(Some(listed.into_iter().filter_map(described).collect())),
        // Servers refuse to list a file or a link.
        Err(Error::NotFound(_)) => Ok(None),
        Err(Error::Rejected(_)) if !path.is_empty() => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

/// None when there is nothing.
pub(super) async fn entry(remote: &Sandbox, path: &str) -> Result<Option<WorkspaceEntry>, SandboxError> {
    let path = absolute(path);
    match remote.file_info(&[&path]).await {
        // The server may write the path in its own way.
        Ok(mut found) => Ok(found.remove(&path).and_then(|info| described(FileInfo { path, ..info }))),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}

fn described(info: FileInfo) -> Option<WorkspaceEntry> {
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
    let request = Download { path: absolute(path), range: None, max_bytes: limit };
    let mut content = Vec::new();
    let mut downloaded = remote.download(&request, &mut content).await;
    if matches!(downloaded, Err(Error::FileChanged)) {
        content.clear();
        downloaded = remote.download(&request, &mut content).await;
    }
    match downloaded {
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
    if path.is_empty() { WORKSPACE.to_owned() } else { format!("{WORKSPACE}/{path}") }
}
