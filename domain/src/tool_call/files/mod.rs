//! The tools for files: the same on every connection, since they use only the file calls that every server has.

mod edit;
mod grep;
mod list;
mod pattern;
mod read;

use bytes::Bytes;

pub use edit::EditFile;
pub use grep::Grep;
pub use list::{FindFiles, ListFiles};
pub(super) use read::MAX_READ_BYTES;
pub use read::ReadFile;

use super::model::{ToolCallState, ToolResult};
use crate::agent::Claim;
use crate::sandbox::{EntryKind, KeptFile, LiveSandbox, SandboxError, WorkspaceEntry};

/// Deeper than any path can be.
const ANY_DEPTH: u32 = 2048;
/// Bytes of lines that a model gets to read.
const MAX_LINES_BYTES: usize = 24 * 1024;

/// A tool for files, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileTool {
    /// Read a part of a file.
    Read(ReadFile),
    /// Write a whole file.
    Write {
        /// Path below `/workspace`.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Replace an exact text in a file.
    Edit(EditFile),
    /// List a directory.
    List(ListFiles),
    /// Find files by their paths.
    Find(FindFiles),
    /// Search files for lines.
    Grep(Grep),
}

impl FileTool {
    /// Whether it may change what lies in the workspace.
    pub(super) const fn changes_workspace(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Edit(_) => true,
            Self::Read(_) | Self::List(_) | Self::Find(_) | Self::Grep(_) => false,
        }
    }

    pub(super) async fn run(&self, claim: &Claim, sandbox: &LiveSandbox) -> Result<ToolResult, SandboxError> {
        let hands = Hands { claim, sandbox };
        match self {
            Self::Read(read) => read.run(&hands).await,
            Self::Write { path, content } => {
                let _alone = hands.write_alone().await;
                let bytes = Bytes::from(content.clone());
                claim.ports.sandboxes.upload(&claim.call_context(), sandbox, path, bytes).await?;
                Ok(ToolResult::succeeded(format!("Wrote {} bytes to {path}.", content.len())))
            }
            Self::Edit(edit) => edit.run(&hands).await,
            Self::List(list) => list.run(&hands).await,
            Self::Find(find) => find.run(&hands).await,
            Self::Grep(grep) => grep.run(&hands).await,
        }
    }
}

/// What the tools reach the files of a sandbox with.
struct Hands<'a> {
    claim: &'a Claim,
    sandbox: &'a LiveSandbox,
}

impl Hands<'_> {
    async fn download(&self, path: &str, offset: u64, limit: u64) -> Result<Option<Bytes>, SandboxError> {
        let sandboxes = &self.claim.ports.sandboxes;
        sandboxes.download(&self.claim.call_context(), self.sandbox, path, offset, limit).await
    }

    async fn whole(&self, path: &str, limit: u64) -> Result<Option<Bytes>, SandboxError> {
        self.claim.ports.sandboxes.read_file(&self.claim.call_context(), self.sandbox, path, limit).await
    }

    async fn write(&self, path: &str, mode: u32, bytes: Bytes) -> Result<(), SandboxError> {
        let file = KeptFile::of(path, mode, &bytes);
        self.claim.ports.sandboxes.restore_file(&self.claim.call_context(), self.sandbox, &file, bytes).await
    }

    async fn entry(&self, path: &str) -> Result<Option<WorkspaceEntry>, SandboxError> {
        self.claim.ports.sandboxes.entry(&self.claim.call_context(), self.sandbox, path).await
    }

    /// What lies below a directory, in the order of the paths; None when it is none.
    async fn list(&self, path: &str, depth: u32) -> Result<Option<Vec<WorkspaceEntry>>, SandboxError> {
        let sandboxes = &self.claim.ports.sandboxes;
        let mut listed = sandboxes.list_directory(&self.claim.call_context(), self.sandbox, path, depth).await?;
        if let Some(entries) = &mut listed {
            entries.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(listed)
    }

    /// The regular files below a directory whose names can be asked for.
    async fn files_below(&self, path: &str) -> Result<Option<Vec<WorkspaceEntry>>, SandboxError> {
        let mut listed = self.list(path, ANY_DEPTH).await?;
        if let Some(entries) = &mut listed {
            entries.retain(|entry| entry.kind == EntryKind::File && !entry.path.contains(char::REPLACEMENT_CHARACTER));
        }
        Ok(listed)
    }

    /// Waits until no other tool of this execution writes a file.
    async fn write_alone(&self) -> futures_util::lock::MutexGuard<'_, ()> {
        self.claim.sandbox.writing.lock().await
    }

    fn is_stopped(&self) -> bool {
        self.claim.signal.cause().is_some()
    }

    fn missing(&self, path: &str) -> ToolResult {
        ToolResult::ended(ToolCallState::Failed, "FILE_NOT_FOUND", format!("there is no file {path}"))
    }

    fn missing_directory(&self, path: &str) -> ToolResult {
        let name = if path.is_empty() { "/workspace" } else { path };
        ToolResult::ended(ToolCallState::Failed, "DIRECTORY_NOT_FOUND", format!("there is no directory {name}"))
    }
}

/// Lines of a result, bounded in number and bytes.
struct Lines {
    text: String,
    left_out: usize,
    what: &'static str,
}

impl Lines {
    fn of(what: &'static str, most: usize, lines: impl Iterator<Item = String>) -> Self {
        let mut bounded = Self { text: String::new(), left_out: 0, what };
        for (at, line) in lines.enumerate() {
            let is_over = at >= most || bounded.text.len() + line.len() > MAX_LINES_BYTES;
            if is_over || bounded.left_out > 0 {
                bounded.left_out += 1;
                continue;
            }
            if !bounded.text.is_empty() {
                bounded.text.push('\n');
            }
            bounded.text.push_str(&line);
        }
        bounded
    }

    fn result(self, when_empty: &str) -> ToolResult {
        let Self { text, left_out, what } = self;
        let text = match (text.is_empty(), left_out) {
            (true, 0) => when_empty.to_owned(),
            (_, 0) => text,
            (_, left_out) => format!("{text}\n[{left_out} {what} more]"),
        };
        let lossy = text.contains(char::REPLACEMENT_CHARACTER);
        ToolResult { truncated: left_out > 0, lossy, ..ToolResult::succeeded(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_in_number_and_in_bytes() {
        let lines =
            |most, line: &str| Lines::of("files", most, std::iter::repeat_n(line.to_owned(), 40)).result("none");
        assert_eq!(lines(2, "a").text, "a\na\n[38 files more]");
        let long = lines(40, &"x".repeat(1000));
        assert!(long.truncated && long.text.ends_with("x\n[16 files more]"), "{}", long.text);
        assert_eq!(Lines::of("files", 2, std::iter::empty()).result("none").text, "none");
    }
}
