//! What lies in `/workspace`, looked at and put back through the file calls that every OpenSandbox server has.

use std::collections::VecDeque;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::sandbox::{EntryKind, KeptDirectory, KeptFile, Listing, SandboxError, WorkspaceEntry};

use super::failure::failure;
use crate::opensandbox::{ByteRange, Download, Error, FileInfo, FileKind, FileMode, Sandbox, Upload, is_path};
use crate::runner::WORKSPACE;

/// Deeper than any path of 4096 bytes.
pub(super) const DEPTH: u32 = 2048;
/// Entries of a directory that is listed piece by piece.
const MAX_WALKED_ENTRIES: usize = 10_000;
/// Directories that are listed for it, a call each.
const MAX_WALKED_DIRECTORIES: usize = 1_000;
/// HTTP status of a part that begins behind the end of its file.
const RANGE_NOT_SATISFIABLE: u16 = 416;
/// Permission bits of what the server gives none for.
const DEFAULT_MODE: u32 = 0o755;

pub(super) async fn list(remote: &Sandbox) -> Result<Listing, SandboxError> {
    // The agent may have removed its own workspace.
    list_directory(remote, "", DEPTH).await.map(Option::unwrap_or_default)
}

/// None when there is no such directory.
pub(super) async fn list_directory(remote: &Sandbox, path: &str, depth: u32) -> Result<Option<Listing>, SandboxError> {
    match remote.list_directory(&absolute(path), depth).await {
        Ok(listed) => {
            let entries = listed.into_iter().filter_map(described).collect();
            Ok(Some(Listing { entries, ..Listing::default() }))
        }
        Err(error) if is_no_directory(&error) => Ok(None),
        // A directory in it that may not be read, or that has too many entries, is not told from the others.
        Err(Error::ServerFailed(_) | Error::ProtocolUnsupported(_)) => walk(remote, path, depth).await,
        Err(error) => Err(file_failure(&error)),
    }
}

/// Lists one directory after another, those further up first, and tells which ones could not be listed.
async fn walk(remote: &Sandbox, path: &str, depth: u32) -> Result<Option<Listing>, SandboxError> {
    let mut listing = Listing::default();
    let mut waiting = VecDeque::from([(path.to_owned(), depth)]);
    let mut asked = 0;
    while let Some((directory, depth)) = waiting.pop_front() {
        if listing.entries.len() >= MAX_WALKED_ENTRIES || asked == MAX_WALKED_DIRECTORIES {
            listing.is_cut = true;
            break;
        }
        asked += 1;
        match remote.list_directory(&absolute(&directory), 1).await {
            Ok(listed) => {
                let found = listing.entries.len();
                listing.entries.extend(listed.into_iter().filter_map(described));
                let below = listing.entries[found..].iter().filter(|entry| entry.kind == EntryKind::Directory);
                waiting.extend(below.filter(|_| depth > 1).map(|entry| (entry.path.clone(), depth - 1)));
            }
            Err(error) if is_no_directory(&error) && directory == path => return Ok(None),
            Err(error) if is_no_directory(&error) => {}
            Err(Error::ServerFailed(_) | Error::ProtocolUnsupported(_)) if directory != path => {
                listing.unlisted.push(directory);
            }
            Err(error) => return Err(file_failure(&error)),
        }
    }
    Ok(Some(listing))
}

/// None when there is nothing.
pub(super) async fn entry(remote: &Sandbox, path: &str) -> Result<Option<WorkspaceEntry>, SandboxError> {
    let path = absolute(path);
    match remote.file_info(&[&path]).await {
        // The server may write the path in its own way.
        Ok(mut found) => Ok(found.remove(&path).and_then(|info| described(FileInfo { path, ..info }))),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(file_failure(&error)),
    }
}

/// Reads at most `limit` bytes from `offset` on; None when there is no such file.
pub(super) async fn part(remote: &Sandbox, path: &str, offset: u64, limit: u64) -> Result<Option<Bytes>, SandboxError> {
    // A range that begins at the end of the file is refused by servers; there is nothing to ask for.
    match entry(remote, path).await? {
        None => return Ok(None),
        Some(entry) if entry.byte_size <= offset => return Ok(Some(Bytes::new())),
        Some(_) => {}
    }
    let range = Some(ByteRange { start: offset, length: Some(limit) });
    let mut content = Vec::new();
    match remote.download(&Download { path: absolute(path), range, max_bytes: limit }, &mut content).await {
        Ok(_) => Ok(Some(content.into())),
        Err(error) if is_missing(&error) => Ok(None),
        // It had a byte there a moment ago.
        Err(Error::Rejected(reply)) if reply.status == RANGE_NOT_SATISFIABLE => Err(failure(&Error::FileChanged)),
        Err(error) => Err(file_failure(&error)),
    }
}

/// Whether a path that was listed can be asked for. A name that is no UTF-8 arrives with the replacement character in it.
pub(super) fn can_be_asked_for(path: &str) -> bool {
    is_path(path) && !path.contains(char::REPLACEMENT_CHARACTER)
}

fn described(info: FileInfo) -> Option<WorkspaceEntry> {
    let path = info.path.strip_prefix(WORKSPACE)?.strip_prefix('/')?.to_owned();
    let kind = match info.kind {
        _ if !can_be_asked_for(&info.path) => EntryKind::Unnamed,
        FileKind::File => EntryKind::File,
        FileKind::Directory => EntryKind::Directory,
        FileKind::Symlink => EntryKind::Link,
        FileKind::Other => EntryKind::Special,
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
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(file_failure(&error)),
    }
}

/// Writes a new file with the mode that the server gives it.
pub(super) async fn put(remote: &Sandbox, path: &str, bytes: Bytes) -> Result<(), SandboxError> {
    upload(remote, path, None, bytes).await
}

pub(super) async fn make_directory(remote: &Sandbox, directory: &KeptDirectory) -> Result<(), SandboxError> {
    let made = remote.make_directory(&absolute(&directory.path), FileMode(directory.mode)).await;
    made.map_err(|error| file_failure(&error))
}

pub(super) async fn write(remote: &Sandbox, file: &KeptFile, bytes: Bytes) -> Result<(), SandboxError> {
    upload(remote, &file.path, Some(FileMode(file.mode)), bytes).await
}

async fn upload(remote: &Sandbox, path: &str, mode: Option<FileMode>, bytes: Bytes) -> Result<(), SandboxError> {
    let upload = Upload { path: absolute(path), mode, size_bytes: bytes.len() as u64 };
    remote.upload(&upload, std::io::Cursor::new(bytes)).await.map_err(|error| file_failure(&error))
}

fn absolute(path: &str) -> String {
    if path.is_empty() { WORKSPACE.to_owned() } else { format!("{WORKSPACE}/{path}") }
}

/// Whether a file is missing, and not its sandbox.
fn is_missing(error: &Error) -> bool {
    matches!(error, Error::NotFound(reply) if !reply.has_code("SANDBOX_NOT_FOUND"))
}

/// Servers refuse to list a file or a link.
fn is_no_directory(error: &Error) -> bool {
    is_missing(error) || matches!(error, Error::Rejected(_))
}

/// What went wrong with a path. The server's own words stay here: they name its places and its system's errors.
fn file_failure(error: &Error) -> SandboxError {
    let told = failure(error);
    match told.code {
        "SANDBOX_FAILED" | "SANDBOX_REJECTED"
            if error.reply().is_some() || matches!(error, Error::RequestInvalid(_)) =>
        {
            let message = "the sandbox does not let this path be used so".to_owned();
            SandboxError { code: SandboxError::PATH_NOT_ACCESSIBLE, message, sandbox_lost: false }
        }
        _ => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opensandbox::Reply;

    /// A server says of a path what its system says, each in its own way: none of it is handed on.
    #[test]
    fn what_servers_say_of_a_path_is_one_code_without_their_words() {
        let reply = |status, code: &str, message: &str| Reply {
            status,
            code: Some(code.to_owned()),
            message: message.to_owned(),
            ..Reply::default()
        };
        for error in [
            Error::ServerFailed(reply(500, "RUNTIME_ERROR", "/workspace/a: Permission denied (os error 13)")),
            Error::ServerFailed(reply(500, "UNKNOWN", "lstat /workspace/a/b: not a directory")),
            Error::Rejected(reply(400, "INVALID_FILE", "open /workspace/a: is a directory")),
        ] {
            let told = file_failure(&error);
            assert_eq!((told.code, told.sandbox_lost), (SandboxError::PATH_NOT_ACCESSIBLE, false), "{error}");
            assert!(!told.message.contains("/workspace") && !told.message.contains("os error"), "{}", told.message);
        }
        let invalid = Error::RequestInvalid("path has a character that it cannot have".to_owned());
        assert_eq!(file_failure(&invalid).code, SandboxError::PATH_NOT_ACCESSIBLE);
        let full = file_failure(&Error::ServerFailed(reply(500, "RUNTIME_ERROR", "/x: No space left on device")));
        assert!(full.code == "SANDBOX_DISK_FULL" && !full.message.contains("/x"), "{full}");
        let silent = Error::ServerFailed(reply(503, "RUNTIME_ERROR", "the sandbox did not answer"));
        assert!(file_failure(&silent).sandbox_lost);
    }

    /// Frameworks use such names; the files below them are no less out of reach.
    #[test]
    fn what_cannot_be_asked_for_is_listed_as_such() {
        let kind = |path: &str, kind| {
            let path = format!("{WORKSPACE}/{path}");
            described(FileInfo { path, kind, size_bytes: 1, mode: None, modified_at: None }).unwrap().kind
        };
        assert_eq!(kind("a\nb", FileKind::File), EntryKind::File);
        for path in ["$id", "$id/page", "bad\u{fffd}"] {
            assert_eq!(kind(path, FileKind::File), EntryKind::Unnamed, "{path}");
            assert_eq!(kind(path, FileKind::Directory), EntryKind::Unnamed, "{path}");
        }
    }

    #[test]
    fn a_sandbox_that_is_gone_is_no_missing_file() {
        let not_found = |code: &str| Error::NotFound(Reply { code: Some(code.to_owned()), ..Reply::default() });
        assert!(is_missing(&not_found("FILE_NOT_FOUND")));
        assert!(!is_missing(&not_found("DOCKER::SANDBOX_NOT_FOUND")));
    }
}
