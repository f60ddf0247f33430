//! Replaces an exact text in a file, as often as was expected and not otherwise.

use std::ops::Range;

use bytes::Bytes;

use super::super::arguments::Fault;
use super::super::fields::Fields;
use super::super::model::{ToolCallState, ToolResult};
use super::super::path::file_path;
use super::Hands;
use crate::sandbox::SandboxError;

/// Larger files are not edited in this way.
const MAX_EDITED_BYTES: u64 = 8 * 1024 * 1024;
const MAX_DIFF_BYTES: usize = 4 * 1024;
const MAX_HUNKS: usize = 3;
/// Unchanged lines before and after a change.
const CONTEXT_LINES: usize = 2;

/// An exact replacement in a file below `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFile {
    path: String,
    old: String,
    new: String,
    expected: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    All,
    Times(u64),
}

impl EditFile {
    pub(in crate::tool_call) fn parse(fields: &mut Fields) -> Result<Self, Fault> {
        let path = file_path("path", &fields.text("path")?)?;
        let (old, new) = (fields.text("old_text")?, fields.text("new_text")?);
        let times = fields.integer("count", 1..=1_000_000)?;
        let expected = match (fields.flag("all")?, times) {
            (true, Some(_)) => return Err(Fault::invalid("count: cannot stand beside all. Leave one of them out.")),
            (true, None) => Expected::All,
            (false, times) => Expected::Times(times.unwrap_or(1)),
        };
        if old.is_empty() {
            return Err(Fault::invalid("old_text: must not be empty. Use write_file for a new file."));
        }
        if old == new {
            return Err(Fault::invalid("new_text: is the same as old_text. Give the text that shall stand there."));
        }
        Ok(Self { path, old, new, expected })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) async fn run(&self, hands: &Hands<'_>) -> Result<ToolResult, SandboxError> {
        // Edits of one reply run side by side, and may be of the same file.
        let _alone = hands.write_alone().await;
        let failed = |code, message| Ok(ToolResult::ended(ToolCallState::Failed, code, message));
        let entry = hands.regular(&self.path).await?;
        let Some(before) = hands.whole(&self.path, MAX_EDITED_BYTES).await? else {
            let message = format!("{} is larger than 8 MiB, or went away; use a program", self.path);
            return failed("FILE_TOO_LARGE", message);
        };
        let found = occurrences(&before, &self.old);
        if let Some(problem) = self.problem(found.len() as u64) {
            return failed("EDIT_NOT_APPLIED", problem);
        }
        let after = replaced(&before, &found, self.new.as_bytes());
        let diff = diff(&before, &found, &self.new);
        hands.write(&self.path, entry.mode, after).await?;
        let times = if found.len() == 1 { "once".to_owned() } else { format!("{} times", found.len()) };
        Ok(ToolResult::succeeded(format!("Replaced {times} in {}.\n{diff}", self.path)))
    }

    fn problem(&self, found: u64) -> Option<String> {
        let path = &self.path;
        match (found, self.expected) {
            (0, _) => Some(format!(
                "old_text was found 0 times in {path}; nothing was changed. It must be the exact text with its white \
                 space: read the file first."
            )),
            (found, Expected::Times(expected)) if found != expected => Some(format!(
                "old_text was found {found} times in {path}, expected was {expected}; nothing was changed. Give more of \
                 the text around it, or count: {found}, or all: true."
            )),
            (_, Expected::All | Expected::Times(_)) => None,
        }
    }
}

/// Where `old` stands, from the start on and without overlap. Being text itself, it stands only where there is text.
fn occurrences(text: &[u8], old: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut offset = 0;
    for chunk in text.utf8_chunks() {
        let places = chunk.valid().match_indices(old);
        found.extend(places.map(|(at, _)| offset + at..offset + at + old.len()));
        offset += chunk.valid().len() + chunk.invalid().len();
    }
    found
}

fn replaced(text: &[u8], found: &[Range<usize>], new: &[u8]) -> Bytes {
    let mut after = Vec::with_capacity(text.len());
    let mut from = 0;
    for range in found {
        after.extend_from_slice(&text[from..range.start]);
        after.extend_from_slice(new);
        from = range.end;
    }
    after.extend_from_slice(&text[from..]);
    after.into()
}

/// The first changes with the lines around them, as a diff shows them.
fn diff(before: &[u8], found: &[Range<usize>], new: &str) -> String {
    let mut lines = Vec::new();
    for range in found.iter().take(MAX_HUNKS) {
        let start = before[..range.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = before[range.end..].iter().position(|byte| *byte == b'\n').map_or(before.len(), |at| range.end + at);
        let number = before[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
        lines.push(format!("@@ line {number} @@"));
        let context: Vec<_> =
            text(&before[..start]).lines().rev().take(CONTEXT_LINES).map(|line| format!(" {line}")).collect();
        lines.extend(context.into_iter().rev());
        lines.extend(text(&before[start..end]).lines().map(|line| format!("-{line}")));
        let changed = format!("{}{new}{}", text(&before[start..range.start]), text(&before[range.end..end]));
        lines.extend(changed.lines().map(|line| format!("+{line}")));
        let after = before.get(end + 1..).unwrap_or_default();
        lines.extend(text(after).lines().take(CONTEXT_LINES).map(|line| format!(" {line}")));
    }
    let mut shown = lines.join("\n");
    if shown.len() > MAX_DIFF_BYTES {
        shown.truncate(shown.floor_char_boundary(MAX_DIFF_BYTES));
        shown.push_str("\n[the diff goes on]");
    }
    match found.len().checked_sub(MAX_HUNKS) {
        None | Some(0) => shown,
        Some(more) => format!("{shown}\n[and {more} more]"),
    }
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, expected: Expected) -> EditFile {
        EditFile { path: "a.txt".to_owned(), old: old.to_owned(), new: new.to_owned(), expected }
    }

    #[test]
    fn an_edit_is_applied_only_when_the_count_is_what_was_expected() {
        for (found, expected, is_applied) in [
            (1, Expected::Times(1), true),
            (0, Expected::Times(1), false),
            (0, Expected::All, false),
            (2, Expected::Times(1), false),
            (1, Expected::Times(2), false),
            (2, Expected::Times(2), true),
            (7, Expected::All, true),
        ] {
            let problem = edit("a", "b", expected).problem(found);
            assert_eq!(problem.is_none(), is_applied, "{found} {expected:?}");
            if let Some(problem) = problem {
                assert!(problem.contains(&format!("found {found} times")), "{problem}");
            }
        }
    }

    #[test]
    fn occurrences_are_exact_and_do_not_overlap() {
        let starts = |text: &[u8], old: &str| -> Vec<usize> {
            let found = occurrences(text, old);
            assert!(found.iter().all(|range| &text[range.clone()] == old.as_bytes()));
            found.into_iter().map(|range| range.start).collect()
        };
        assert_eq!(starts(b"aaaa", "aa"), [0, 2]);
        assert_eq!(starts(b"a.b axb", "a.b"), [0]);
        assert_eq!(starts("x\u{e9}\r\n".as_bytes(), "\u{e9}\r\n"), [1]);
        assert_eq!(starts(b"\xff(\xfe", "("), [1]);
        assert_eq!(starts(b"\xe2a\xe2\x82a", "a"), [1, 4]);
        assert_eq!(replaced(b"\xffab\xfeab", &[1..3, 4..6], b"-").as_ref(), b"\xff-\xfe-");
    }

    #[test]
    fn a_diff_shows_the_lines_that_changed_and_some_around_them() {
        let before = b"1\n2\n3\nold here\n5\n6\n7\n";
        let found = occurrences(before, "old");
        assert_eq!(diff(before, &found, "new\nand"), "@@ line 4 @@\n 2\n 3\n-old here\n+new\n+and here\n 5\n 6");
        let many = b"x\n".repeat(10);
        assert!(diff(&many, &occurrences(&many, "x"), "y").ends_with("[and 7 more]"));
        let long = "z".repeat(10_000);
        assert!(diff(long.as_bytes(), &occurrences(long.as_bytes(), &long), "y").ends_with("goes on]"));
    }
}
