//! The tools for files: the same on every connection, since they use only the file calls that every server has.

mod edit;
mod fault;
mod grep;
mod list;
mod pattern;
mod read;

use bytes::Bytes;

pub use edit::EditFile;
use fault::missing;
pub use grep::Grep;
pub use list::{FindFiles, ListFiles};
pub(super) use read::MAX_READ_BYTES;
pub use read::ReadFile;

use super::model::ToolResult;
use crate::agent::Claim;
use crate::sandbox::{EntryKind, KeptFile, Listing, LiveSandbox, SandboxError, WorkspaceEntry};

/// Deeper than any path can be.
const ANY_DEPTH: u32 = 2048;
/// Names that a note tells at most.
const MAX_NAMED: usize = 5;
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
        let (ran, path, done) = match self {
            Self::Read(read) => (read.run(&hands).await, read.path(), "read"),
            Self::Write { path, content } => (hands.write_new(path, content).await, path.as_str(), "written"),
            Self::Edit(edit) => (edit.run(&hands).await, edit.path(), "edited"),
            Self::List(list) => (list.run(&hands).await, list.path(), "listed"),
            Self::Find(find) => (find.run(&hands).await, find.path(), "searched"),
            Self::Grep(grep) => (grep.run(&hands).await, grep.path(), "searched"),
        };
        match ran {
            Ok(result) => Ok(result),
            Err(error) => Err(hands.explained(error, path, done).await),
        }
    }
}

/// What the tools reach the files of a sandbox with.
pub(super) struct Hands<'a> {
    pub claim: &'a Claim,
    pub sandbox: &'a LiveSandbox,
}

impl Hands<'_> {
    async fn download(&self, path: &str, offset: u64, limit: u64) -> Result<Bytes, SandboxError> {
        let sandboxes = &self.claim.ports.sandboxes;
        let read = sandboxes.download(&self.claim.call_context(), self.sandbox, path, offset, limit).await?;
        read.ok_or_else(|| missing(path))
    }

    async fn whole(&self, path: &str, limit: u64) -> Result<Option<Bytes>, SandboxError> {
        self.claim.ports.sandboxes.read_file(&self.claim.call_context(), self.sandbox, path, limit).await
    }

    async fn write_new(&self, path: &str, content: &str) -> Result<ToolResult, SandboxError> {
        let _alone = self.write_alone().await;
        let bytes = Bytes::from(content.to_owned());
        match self.writable(path).await? {
            // What could be run before can be run afterwards.
            Some(before) => self.write(path, before.mode, bytes).await?,
            None => {
                self.claim.ports.sandboxes.upload(&self.claim.call_context(), self.sandbox, path, bytes).await?;
            }
        }
        Ok(ToolResult::succeeded(format!("Wrote {} bytes to {path}.", content.len())))
    }

    async fn write(&self, path: &str, mode: u32, bytes: Bytes) -> Result<(), SandboxError> {
        let file = KeptFile::of(path, mode, &bytes);
        self.claim.ports.sandboxes.restore_file(&self.claim.call_context(), self.sandbox, &file, bytes).await
    }

    async fn entry(&self, path: &str) -> Result<Option<WorkspaceEntry>, SandboxError> {
        self.claim.ports.sandboxes.entry(&self.claim.call_context(), self.sandbox, path).await
    }

    /// What lies below a directory, in the order of the paths.
    async fn list(&self, path: &str, depth: u32) -> Result<Listing, SandboxError> {
        let sandboxes = &self.claim.ports.sandboxes;
        let listed = sandboxes.list_directory(&self.claim.call_context(), self.sandbox, path, depth).await?;
        let Some(mut listing) = listed else { return Err(self.no_directory(path).await) };
        listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listing)
    }

    /// The regular files below a directory whose names can be asked for, and what is to be said of the others.
    async fn files_below(&self, path: &str) -> Result<(Vec<WorkspaceEntry>, Notes), SandboxError> {
        let mut listing = self.list(path, ANY_DEPTH).await?;
        let mut notes = Notes::of(&listing);
        for (kind, why) in [
            (EntryKind::Hidden, "since the name holds a credential's value"),
            (EntryKind::Unnamed, "since the sandbox's server does not take the name"),
        ] {
            let count = listing.entries.iter().filter(|entry| entry.kind == kind).count();
            if count > 0 {
                notes.add(format!("left out, {why}: {count} entries"));
            }
        }
        listing.entries.retain(|entry| entry.kind == EntryKind::File);
        Ok((listing.entries, notes))
    }

    /// Waits until no other tool of this execution writes a file.
    async fn write_alone(&self) -> futures_util::lock::MutexGuard<'_, ()> {
        self.claim.sandbox.writing.lock().await
    }

    fn is_stopped(&self) -> bool {
        self.claim.signal.cause().is_some()
    }
}

/// What a result leaves out, and why; a note each.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    /// What is missing in a listing.
    fn of(listing: &Listing) -> Self {
        let mut notes = Self::default();
        if !listing.unlisted.is_empty() {
            let named = some_of(&listing.unlisted);
            notes.add(format!("not looked into, having too many entries or being unreadable: {named}"));
        }
        if listing.is_cut {
            let found = listing.entries.len();
            notes.add(format!("only the first {found} entries were looked at; give a path further down"));
        }
        notes
    }

    fn add(&mut self, note: String) {
        self.0.push(note);
    }

    /// The result with the notes behind it. What is noted is missing in it.
    fn under(self, result: ToolResult) -> ToolResult {
        let truncated = result.truncated || !self.0.is_empty();
        let text = self.0.into_iter().fold(result.text, |text, note| format!("{text}\n[{note}]"));
        ToolResult { text, truncated, ..result }
    }
}

/// A path for a line of a result: what would end the line, turn its direction or act on a terminal is shown as an escape.
fn on_a_line(path: &str) -> String {
    let is_seen_otherwise = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let shown = |c: char| if is_seen_otherwise(c) { c.escape_default().to_string() } else { c.to_string() };
    path.chars().map(shown).collect()
}

/// The first of these names, and how many more there are.
fn some_of(names: &[String]) -> String {
    let named = names.iter().take(MAX_NAMED).map(|name| on_a_line(name)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
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

    /// A file's name may hold what looks like another line.
    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(on_a_line("a\nb.txt  12\u{1b}[2J报\u{202f}"), "a\\nb.txt  12\\u{1b}[2J报\u{202f}");
        assert_eq!(on_a_line("\u{202e}fdp.exe"), "\\u{202e}fdp.exe");
    }

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
