//! Reads a part of a file: some bytes, or some lines.

use super::super::arguments::Fault;
use super::super::fields::Fields;
use super::super::model::{ToolCallState, ToolResult};
use super::super::path::file_path;
use super::Hands;
use crate::sandbox::SandboxError;

/// Bytes that a model gets to read at one time.
pub(in crate::tool_call) const MAX_READ_BYTES: u64 = 64 * 1024;
/// Bytes that are looked through for a line.
const MAX_SCANNED_BYTES: u64 = 64 * 1024 * 1024;
const PIECE_BYTES: u64 = 256 * 1024;

/// A part of a file below `/workspace`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    path: String,
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Bytes { offset: u64, limit: u64 },
    Lines { first: u64, last: u64 },
}

impl ReadFile {
    pub(in crate::tool_call) fn parse(fields: &mut Fields) -> Result<Self, Fault> {
        let path = file_path("path", &fields.text("path")?)?;
        let offset = fields.integer("offset", 0..=u64::MAX)?;
        let limit = fields.integer("limit", 1..=MAX_READ_BYTES)?;
        let first = fields.integer("start_line", 1..=u64::MAX)?;
        let last = fields.integer("end_line", 1..=u64::MAX)?;
        let has_lines = first.is_some() || last.is_some();
        if has_lines && (offset.is_some() || limit.is_some()) {
            let message = "start_line: cannot stand beside offset and limit. Name lines or bytes, not both.";
            return Err(Fault::invalid(message));
        }
        if !has_lines {
            let part = Part::Bytes { offset: offset.unwrap_or(0), limit: limit.unwrap_or(MAX_READ_BYTES) };
            return Ok(Self { path, part });
        }
        let (first, last) = (first.unwrap_or(1), last.unwrap_or(u64::MAX));
        if last < first {
            return Err(Fault::invalid("end_line: must not be less than start_line. Exchange them."));
        }
        Ok(Self { path, part: Part::Lines { first, last } })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) async fn run(&self, hands: &Hands<'_>) -> Result<ToolResult, SandboxError> {
        let file = hands.regular(&self.path).await?;
        match self.part {
            Part::Bytes { offset, .. } if offset > 0 && offset >= file.byte_size => {
                let size = file.byte_size;
                Ok(ToolResult::succeeded(format!("[the file has {size} bytes, and none from offset {offset} on]")))
            }
            Part::Bytes { offset, limit } => self.bytes(hands, offset, limit).await,
            Part::Lines { first, last } => self.lines(hands, first, last).await,
        }
    }

    async fn bytes(&self, hands: &Hands<'_>, offset: u64, limit: u64) -> Result<ToolResult, SandboxError> {
        // One byte more tells whether there is more.
        let read = hands.download(&self.path, offset, limit + 1).await?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = read.len() > most;
        let mut bytes = &read[..read.len().min(most)];
        if has_more {
            bytes = without_half_a_character(bytes);
        }
        let next = offset + bytes.len() as u64;
        let more = has_more.then(|| format!("the file goes on; read it with offset {next}"));
        Ok(result(bytes, more))
    }

    async fn lines(&self, hands: &Hands<'_>, first: u64, last: u64) -> Result<ToolResult, SandboxError> {
        let mut wanted = WantedLines::new(first, last);
        let mut offset = 0;
        loop {
            let piece = hands.download(&self.path, offset, PIECE_BYTES).await?;
            wanted.take(&piece);
            // What is redacted in a piece may make it shorter, so that only an empty one is the end.
            offset += PIECE_BYTES;
            if piece.is_empty() || wanted.is_full() {
                return Ok(wanted.result(&self.path));
            }
            if offset >= MAX_SCANNED_BYTES {
                let message =
                    format!("{} is too large to look for lines behind its first 64 MiB; read it by offset", self.path);
                return Ok(ToolResult::ended(ToolCallState::Failed, "FILE_TOO_LARGE", message));
            }
        }
    }
}

/// Picks lines out of a file that comes in pieces.
struct WantedLines {
    first: u64,
    last: u64,
    /// The line that the next byte belongs to.
    line: u64,
    /// Whether a byte of that line was seen.
    has_begun: bool,
    bytes: Vec<u8>,
    is_cut: bool,
}

impl WantedLines {
    fn new(first: u64, last: u64) -> Self {
        Self { first, last, line: 1, has_begun: false, bytes: Vec::new(), is_cut: false }
    }

    fn take(&mut self, piece: &[u8]) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.is_full() {
                return;
            }
            if (self.first..=self.last).contains(&self.line) {
                let room = usize::try_from(MAX_READ_BYTES).unwrap_or(usize::MAX) - self.bytes.len();
                self.is_cut = line.len() > room;
                self.bytes.extend_from_slice(&line[..line.len().min(room)]);
            }
            let is_ended = line.last() == Some(&b'\n');
            self.has_begun = !is_ended;
            self.line += u64::from(is_ended && !self.is_cut);
        }
    }

    fn is_full(&self) -> bool {
        self.line > self.last || self.is_cut
    }

    fn result(&self, path: &str) -> ToolResult {
        let lines = self.line - u64::from(!self.has_begun);
        if lines < self.first && !self.is_cut {
            let message = format!("{path} has {lines} lines, and so no line {}", self.first);
            return ToolResult::ended(ToolCallState::Failed, "NO_SUCH_LINE", message);
        }
        if !self.is_cut {
            return result(&self.bytes, None);
        }
        // Whole lines, if there is one, so that reading on misses and repeats nothing.
        let whole = self.bytes.iter().rposition(|byte| *byte == b'\n').map(|at| &self.bytes[..=at]);
        let line = self.line;
        match whole {
            Some(whole) => result(whole, Some(format!("cut here; read on with start_line {line}"))),
            None => {
                let more = format!("line {line} is longer than {MAX_READ_BYTES} bytes; read it by offset");
                result(without_half_a_character(&self.bytes), Some(more))
            }
        }
    }
}

fn result(bytes: &[u8], more: Option<String>) -> ToolResult {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lossy = text.contains(char::REPLACEMENT_CHARACTER);
    let mut result = ToolResult { truncated: more.is_some(), lossy, ..ToolResult::succeeded(text) };
    if lossy {
        result.note("not all of it is text; each byte that is none is shown as U+FFFD");
    }
    if let Some(more) = more {
        result.note(&more);
    }
    result
}

/// Bytes that were cut somewhere, up to the end of the last whole character.
fn without_half_a_character(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u64, last: u64, pieces: &[&[u8]]) -> ToolResult {
        let mut wanted = WantedLines::new(first, last);
        pieces.iter().for_each(|piece| wanted.take(piece));
        wanted.result("a.txt")
    }

    #[test]
    fn lines_are_counted_over_the_borders_of_pieces() {
        let pieces: &[&[u8]] = &[b"one\ntw", b"o\nthr", b"ee\nfour"];
        for (first, last, expected) in [
            (1, 1, "one\n"),
            (2, 3, "two\nthree\n"),
            (4, 4, "four"),
            (3, u64::MAX, "three\nfour"),
            (1, 100, "one\ntwo\nthree\nfour"),
        ] {
            assert_eq!(lines(first, last, pieces).text, expected, "{first}-{last}");
        }
        for (first, pieces) in [(5, pieces), (3, &[b"a\nb\n".as_slice()][..]), (1, &[b"".as_slice()][..])] {
            let result = lines(first, u64::MAX, pieces);
            assert_eq!(result.error.as_ref().unwrap().0, "NO_SUCH_LINE", "{}", result.text);
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_behind_a_line_and_says_where_to_go_on() {
        let long = [b"x".repeat(40_000), b"\n".to_vec(), b"y".repeat(40_000), b"\n".to_vec()].concat();
        let result = lines(1, u64::MAX, &[&long]);
        assert!(result.truncated && result.text.ends_with("x\n[cut here; read on with start_line 2]"));
        let endless = b"z".repeat(200_000);
        assert!(lines(1, 9, &[&endless]).text.ends_with("[line 1 is longer than 65536 bytes; read it by offset]"));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(without_half_a_character("aé".as_bytes().split_last().unwrap().1), b"a");
        assert_eq!(without_half_a_character(b"a\xffb"), b"a\xffb");
    }
}
