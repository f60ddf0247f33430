//! A path fault is a path that a tool cannot use as it is meant: it is told in the model's own terms, and never in the words
//! of the sandbox's server, which every server has others for.

use super::Hands;
use crate::sandbox::{EntryKind, SandboxError, WorkspaceEntry};

/// Directories on the way that are looked at for the reason.
const MAX_LOOKED_AT: usize = 32;

impl Hands<'_> {
    /// The regular file at a path. Nothing else is opened: a pipe would hold the call, and a device has no end.
    pub(in crate::tool_call) async fn regular(&self, path: &str) -> Result<WorkspaceEntry, SandboxError> {
        let entry = self.entry(path).await?.ok_or_else(|| missing(path))?;
        if entry.kind == EntryKind::File { Ok(entry) } else { Err(not_a_file(path, entry.kind)) }
    }

    /// The regular file at a path that is to be written; None when nothing is there.
    pub(in crate::tool_call) async fn writable(&self, path: &str) -> Result<Option<WorkspaceEntry>, SandboxError> {
        match self.entry(path).await? {
            Some(entry) if entry.kind != EntryKind::File => Err(not_a_file(path, entry.kind)),
            found => Ok(found),
        }
    }

    /// Refuses a path at which there is something else than a directory: a link to one leads out of where it seems to lie.
    pub(in crate::tool_call) async fn directory_or_nothing(&self, path: &str) -> Result<(), SandboxError> {
        match self.entry(path).await? {
            Some(entry) if entry.kind != EntryKind::Directory => Err(self.no_directory(path).await),
            Some(_) | None => Ok(()),
        }
    }

    /// Why there is no directory to list at a path.
    pub(super) async fn no_directory(&self, path: &str) -> SandboxError {
        let entry = if path.is_empty() { Ok(None) } else { self.entry(path).await };
        match entry {
            Ok(Some(entry)) => {
                let fix = match entry.kind {
                    EntryKind::File => "read it with read_file, or name the directory that it lies in",
                    EntryKind::Link => "name the directory that it leads to",
                    EntryKind::Directory | EntryKind::Special | EntryKind::Hidden | EntryKind::Unnamed => {
                        "name a directory"
                    }
                };
                fault("NOT_A_DIRECTORY", format!("{path} is {}; {fix}", entry.kind.words()))
            }
            Ok(None) => fault("DIRECTORY_NOT_FOUND", format!("there is no directory {}", shown(path))),
            Err(error) => error,
        }
    }

    /// The error of a call for this path, which could not be `done`, with the reason as far as it can be seen.
    pub(super) async fn explained(&self, error: SandboxError, path: &str, done: &str) -> SandboxError {
        if error.code != SandboxError::PATH_NOT_ACCESSIBLE {
            return error;
        }
        for (at, _) in path.match_indices('/').take(MAX_LOOKED_AT) {
            let above = &path[..at];
            match self.entry(above).await {
                Ok(Some(entry)) if matches!(entry.kind, EntryKind::File | EntryKind::Special) => {
                    let kind = entry.kind.words();
                    return fault("NOT_A_DIRECTORY", format!("{above} is {kind}, and {path} cannot lie in it"));
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let many = match done {
            "listed" | "searched" => ", or it has too many entries to be listed",
            _ => "",
        };
        let message = format!(
            "{} cannot be {done}: its permissions, or those of a directory on the way, do not allow it, a link on the \
             way leads nowhere, or the sandbox's server does not take the name{many}. Look with list_files, use \
             run_shell, or give another path.",
            shown(path)
        );
        fault(SandboxError::PATH_NOT_ACCESSIBLE, message)
    }
}

pub(super) fn missing(path: &str) -> SandboxError {
    fault("FILE_NOT_FOUND", format!("there is no file {path}"))
}

fn not_a_file(path: &str, kind: EntryKind) -> SandboxError {
    let fix = match kind {
        EntryKind::Directory => "name a file in it; list_files shows what there is",
        EntryKind::Link => "name the file that it leads to; `readlink -f` in run_shell shows it",
        EntryKind::File | EntryKind::Special | EntryKind::Hidden | EntryKind::Unnamed => "name a regular file",
    };
    fault("NOT_A_FILE", format!("{path} is {}; {fix}", kind.words()))
}

fn fault(code: &'static str, message: String) -> SandboxError {
    SandboxError { code, message, sandbox_lost: false }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "/workspace" } else { path }
}
