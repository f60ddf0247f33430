//! Searches files for lines that match an expression.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::super::arguments::Fault;
use super::super::fields::Fields;
use super::super::model::{ToolCallState, ToolResult};
use super::super::path::directory_path;
use super::pattern::{Case, Glob, LinePattern};
use super::{Hands, Lines, Notes, on_a_line, some_of};
use crate::sandbox::{EntryKind, SandboxError, WorkspaceEntry};

const MAX_CONTEXT: u64 = 10;
const MAX_MATCHES: u64 = 500;
const DEFAULT_MATCHES: u64 = 100;
/// Larger files are not searched.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes that are searched in one call.
const MAX_SEARCHED_BYTES: u64 = 64 * 1024 * 1024;
/// Files that are read at one time.
const AT_ONCE: usize = 8;
/// A longer line is shown up to here.
const MAX_LINE_BYTES: usize = 500;
/// A NUL within so many bytes makes a file a binary one.
const PROBED_BYTES: usize = 8 * 1024;

/// A search below `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grep {
    pattern: LinePattern,
    path: String,
    filter: Option<Glob>,
    context: usize,
    most: usize,
}

impl Grep {
    pub(in crate::tool_call) fn parse(fields: &mut Fields) -> Result<Self, Fault> {
        let text = fields.text("pattern")?;
        let path = directory_path("path", &fields.optional_text("path")?.unwrap_or_default())?;
        let filter = fields.optional_text("glob")?.map(|glob| Glob::parse("glob", &glob, &path)).transpose()?;
        let case = if fields.flag("ignore_case")? { Case::Ignored } else { Case::Counts };
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let context = fields.integer("context", 0..=MAX_CONTEXT)?.unwrap_or(0);
        let most = fields.integer("max_matches", 1..=MAX_MATCHES)?.unwrap_or(DEFAULT_MATCHES);
        let pattern = LinePattern::parse("pattern", &text, case)?;
        Ok(Self { pattern, path, filter, context: number(context), most: number(most) })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) async fn run(&self, hands: &Hands<'_>) -> Result<ToolResult, SandboxError> {
        let (files, notes) = self.files(hands).await?;
        let mut search = Search { notes, ..Search::default() };
        let mut left = MAX_SEARCHED_BYTES;
        for some in files.chunks(AT_ONCE) {
            if search.matches >= self.most {
                break;
            }
            if hands.is_stopped() {
                return Ok(ToolResult::ended(ToolCallState::Cancelled, "CANCELLED", "stopped with the execution"));
            }
            let is_searched = |file: &WorkspaceEntry| file.byte_size <= MAX_FILE_BYTES.min(left);
            let (some, large): (Vec<_>, Vec<_>) = some.iter().partition(|file| is_searched(file));
            search.too_large.extend(large.into_iter().map(|file| file.path.clone()));
            left = left.saturating_sub(some.iter().map(|file| file.byte_size).sum());
            let read = join_all(some.iter().map(|file| hands.whole(&file.path, MAX_FILE_BYTES))).await;
            for (file, bytes) in some.into_iter().zip(read) {
                match bytes {
                    Ok(Some(bytes)) => search.look_through(self, &file.path, &bytes),
                    // It went away or grew meanwhile, or may not be read.
                    Ok(None) => {}
                    Err(error) if error.sandbox_lost => return Err(error),
                    Err(error) if error.code == SandboxError::SECRET_IN_FILE => search.secret.push(file.path.clone()),
                    Err(_) => search.unreadable.push(file.path.clone()),
                }
            }
        }
        Ok(search.result(self.most))
    }

    /// The files below the path; the path itself when it is a file.
    async fn files(&self, hands: &Hands<'_>) -> Result<(Vec<WorkspaceEntry>, Notes), SandboxError> {
        let entry = if self.path.is_empty() { None } else { hands.entry(&self.path).await? };
        if let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::File) {
            return Ok((vec![entry], Notes::default()));
        }
        let (mut files, notes) = hands.files_below(&self.path).await?;
        if let Some(filter) = &self.filter {
            files.retain(|file| filter.is_match(&file.path, &self.path));
        }
        Ok((files, notes))
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Search {
    lines: Vec<String>,
    matches: usize,
    binary: Vec<String>,
    too_large: Vec<String>,
    unreadable: Vec<String>,
    /// Files that hold a credential's value.
    secret: Vec<String>,
    /// What else is left out.
    notes: Notes,
}

impl Search {
    fn look_through(&mut self, grep: &Grep, path: &str, bytes: &[u8]) {
        if self.matches >= grep.most {
            return;
        }
        if bytes[..bytes.len().min(PROBED_BYTES)].contains(&0) {
            self.binary.push(path.to_owned());
            return;
        }
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // What comes behind the last line end is no line.
        let count = lines.len() - usize::from(lines.last().is_some_and(|last| last.is_empty()));
        let matching =
            (0..count).filter(|at| grep.pattern.is_match(lines[*at].strip_suffix(b"\r").unwrap_or(lines[*at])));
        let matching: BTreeSet<usize> = matching.take(grep.most - self.matches).collect();
        self.matches += matching.len();
        let around = |at: &usize| at.saturating_sub(grep.context)..(at + grep.context + 1).min(count);
        let shown: BTreeSet<usize> = matching.iter().flat_map(around).collect();
        let path = on_a_line(path);
        let mut last = None;
        for at in shown {
            let is_gap = last.is_some_and(|last| at > last + 1) || (last.is_none() && !self.lines.is_empty());
            if is_gap && grep.context > 0 {
                self.lines.push("--".to_owned());
            }
            last = Some(at);
            let mark = if matching.contains(&at) { ':' } else { '-' };
            self.lines.push(format!("{path}{mark}{}{mark}{}", at + 1, shown_line(lines[at])));
        }
    }

    fn result(self, most: usize) -> ToolResult {
        let is_cut = self.matches >= most;
        let result = Lines::of("lines", usize::MAX, self.lines.into_iter()).result("(no line matches)");
        let truncated = result.truncated || is_cut || !self.notes.0.is_empty();
        let mut notes = self.notes;
        if is_cut {
            notes.add(format!("stopped at {most} matches; there may be more"));
        }
        for (why, files) in [
            ("being binary", self.binary),
            ("being larger than 4 MiB, or beyond 64 MiB in all", self.too_large),
            ("holding a credential's value", self.secret),
            ("being unreadable", self.unreadable),
        ] {
            if !files.is_empty() {
                notes.add(format!("not searched, {why}: {}", some_of(&files)));
            }
        }
        ToolResult { truncated, ..notes.under(result) }
    }
}

fn shown_line(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= MAX_LINE_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    format!("{} [{} bytes more]", String::from_utf8_lossy(&line[..MAX_LINE_BYTES]), line.len() - MAX_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(pattern: &str, context: usize, most: usize, files: &[(&str, &[u8])]) -> String {
        let pattern = LinePattern::parse("pattern", pattern, Case::Counts).unwrap();
        let grep = Grep { pattern, path: String::new(), filter: None, context, most };
        let mut search = Search::default();
        files.iter().for_each(|(path, bytes)| search.look_through(&grep, path, bytes));
        search.result(most).text
    }

    #[test]
    fn matches_have_path_line_and_context() {
        let file: &[u8] = b"a\nb\nc\nhit\r\nd\ne\nhit\nf\n";
        assert_eq!(search("hit$", 0, 9, &[("x.txt", file)]), "x.txt:4:hit\nx.txt:7:hit");
        assert_eq!(
            search("hit", 1, 9, &[("x", file), ("y", b"hit")]),
            "x-3-c\nx:4:hit\nx-5-d\nx-6-e\nx:7:hit\nx-8-f\n--\ny:1:hit"
        );
        assert_eq!(search("none", 0, 9, &[("x", file)]), "(no line matches)");
        // The end of a file is no empty line.
        assert_eq!(search("^$", 0, 9, &[("x", b"a\n")]), "(no line matches)");
    }

    #[test]
    fn a_search_stops_at_its_bound_and_says_so() {
        let file = b"hit\n".repeat(10);
        let text = search("hit", 0, 3, &[("x", &file), ("y", &file)]);
        assert_eq!(text, "x:1:hit\nx:2:hit\nx:3:hit\n[stopped at 3 matches; there may be more]");
        let long = [b"hit".to_vec(), b"x".repeat(1000)].concat();
        assert!(search("hit", 0, 9, &[("x", &long)]).ends_with("x [503 bytes more]"));
    }

    #[test]
    fn binary_files_are_skipped_with_a_note_and_other_bytes_are_shown() {
        let text = search("hit", 0, 9, &[("x.bin", b"hit\0"), ("y", b"hit \xff")]);
        assert_eq!(text, "y:1:hit \u{fffd}\n[not searched, being binary: x.bin]");
    }
}
