//! Lists what lies in a directory, and finds files by their paths.

use super::super::arguments::Fault;
use super::super::fields::Fields;
use super::super::model::ToolResult;
use super::super::path::directory_path;
use super::pattern::Glob;
use super::{Hands, Lines, Notes, on_a_line};
use crate::sandbox::{EntryKind, SandboxError, WorkspaceEntry};

const MAX_DEPTH: u64 = 32;
const DEFAULT_DEPTH: u64 = 2;
/// Entries that a model gets to read.
const MAX_ENTRIES: usize = 500;

/// A directory below `/workspace`, down to some depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFiles {
    path: String,
    depth: u32,
}

impl ListFiles {
    pub(in crate::tool_call) fn parse(fields: &mut Fields) -> Result<Self, Fault> {
        let path = directory_path("path", &fields.optional_text("path")?.unwrap_or_default())?;
        let depth = fields.integer("depth", 1..=MAX_DEPTH)?.unwrap_or(DEFAULT_DEPTH);
        Ok(Self { path, depth: u32::try_from(depth).unwrap_or(u32::MAX) })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) async fn run(&self, hands: &Hands<'_>) -> Result<ToolResult, SandboxError> {
        let listing = hands.list(&self.path, self.depth).await?;
        let lines = Lines::of("entries", MAX_ENTRIES, listing.entries.iter().map(line_of));
        Ok(Notes::of(&listing).under(lines.result("(empty)")))
    }
}

fn line_of(entry: &WorkspaceEntry) -> String {
    let path = on_a_line(&entry.path);
    match entry.kind {
        EntryKind::Directory => format!("{path}/"),
        EntryKind::File => format!("{path}  {}", entry.byte_size),
        EntryKind::Link | EntryKind::Special | EntryKind::Hidden | EntryKind::Unnamed => {
            format!("{path}  ({})", entry.kind.words())
        }
    }
}

/// Files whose paths match a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindFiles {
    path: String,
    pattern: Glob,
}

impl FindFiles {
    pub(in crate::tool_call) fn parse(fields: &mut Fields) -> Result<Self, Fault> {
        let text = fields.text("pattern")?;
        let path = directory_path("path", &fields.optional_text("path")?.unwrap_or_default())?;
        let pattern = Glob::parse("pattern", &text, &path)?;
        Ok(Self { path, pattern })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) async fn run(&self, hands: &Hands<'_>) -> Result<ToolResult, SandboxError> {
        let (files, notes) = hands.files_below(&self.path).await?;
        let found = files.iter().map(|file| file.path.as_str());
        let found = found.filter(|path| self.pattern.is_match(path, &self.path));
        Ok(notes.under(Lines::of("files", MAX_ENTRIES, found.map(on_a_line)).result("(no file matches)")))
    }
}
