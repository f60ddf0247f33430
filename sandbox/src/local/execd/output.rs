//! From bytes of a pipe to events of a stream.
//!
//! Rule: an event's text keeps its terminator (`\n`, `\r` or both), so the texts of a stream concatenated are its
//! output, invalid UTF-8 excepted, which becomes U+FFFD. A line of any length uses bounded memory. The older wire, which
//! takes terminators off, is there for those who test a client against it.

use serde::Serialize;

/// Longer lines are cut into several events.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// An event on the wire.
#[derive(Debug, Default, Serialize)]
pub struct Event<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    pub timestamp: i64,
}

#[derive(Debug, Serialize)]
pub struct ErrorInfo {
    pub ename: &'static str,
    pub evalue: String,
    pub traceback: Vec<String>,
}

impl Event<'_> {
    /// Appends the frame: compact JSON and a blank line.
    pub fn encode(&self, frames: &mut Vec<u8>) {
        let length = frames.len();
        if serde_json::to_writer(&mut *frames, self).is_err() {
            frames.truncate(length);
            return;
        }
        frames.extend_from_slice(b"\n\n");
    }
}

/// What becomes of the terminators of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    #[default]
    Kept,
    /// An event is a line without its terminator; an empty line is `\n`.
    Stripped,
}

impl Wire {
    /// Reads the name that a create request gives it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "kept" => Some(Self::Kept),
            "stripped" => Some(Self::Stripped),
            _ => None,
        }
    }
}

/// Takes the terminators off, where a `\r\n` may have been cut in two.
#[derive(Debug, Default)]
pub struct Stripper {
    after_return: bool,
}

impl Stripper {
    /// The text of the event for a piece, or `None` for the second half of a terminator.
    pub fn strip<'a>(&mut self, piece: &'a str) -> Option<&'a str> {
        let is_half = self.after_return && piece == "\n";
        self.after_return = piece.ends_with('\r');
        let text = piece.trim_end_matches(['\r', '\n']);
        (!is_half).then_some(if text.is_empty() { "\n" } else { text })
    }
}

/// The unfinished line of one stream.
#[derive(Debug, Default)]
pub struct Lines {
    pending: Vec<u8>,
    /// How much of it is known to hold no terminator.
    scanned: usize,
}

impl Lines {
    /// Takes bytes and hands out every piece that is complete.
    pub fn push(&mut self, bytes: &[u8], mut emit: impl FnMut(&str)) {
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(end) = self.next_end(start) {
            emit(&String::from_utf8_lossy(&self.pending[start..end]));
            start = end;
            self.scanned = end;
        }
        self.pending.drain(..start);
        self.scanned = self.pending.len();
    }

    /// Hands out what is left at the end of the stream.
    pub fn finish(&mut self, mut emit: impl FnMut(&str)) {
        if !self.pending.is_empty() {
            emit(&String::from_utf8_lossy(&self.pending));
        }
        self.pending.clear();
        self.scanned = 0;
    }

    fn next_end(&self, start: usize) -> Option<usize> {
        let from = self.scanned.max(start);
        let found = self.pending[from..].iter().position(|byte| matches!(byte, b'\n' | b'\r')).map(|at| from + at);
        if let Some(at) = found
            && at - start < MAX_LINE_BYTES
        {
            let is_pair = self.pending[at] == b'\r' && self.pending.get(at + 1) == Some(&b'\n');
            return Some(at + 1 + usize::from(is_pair));
        }
        (self.pending.len() - start >= MAX_LINE_BYTES)
            .then(|| start + cut(&self.pending[start..start + MAX_LINE_BYTES]))
    }
}

/// Where to cut so that no character is split: before an unfinished one at the end.
fn cut(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4).position(|byte| *byte & 0xC0 != 0x80);
    let Some(back) = last else { return bytes.len() };
    let lead = bytes.len() - 1 - back;
    let wanted = match bytes[lead] {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    };
    if bytes.len() - lead < wanted { lead } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::{Event, Lines, MAX_LINE_BYTES, Stripper};
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for chunk in chunks {
            lines.push(chunk, |text| found.push(text.to_owned()));
        }
        lines.finish(|text| found.push(text.to_owned()));
        found
    }

    #[test]
    fn keeps_terminators() {
        assert_eq!(split(&[b"a\n\nb"]), ["a\n", "\n", "b"]);
        assert_eq!(split(&[b"1%\r2%\r\nend"]), ["1%\r", "2%\r\n", "end"]);
        assert_eq!(split(&[b"par", b"tial\nx"]), ["partial\n", "x"]);
        assert_eq!(split(&["ü".as_bytes()[..1].as_ref(), "ü\n".as_bytes()[1..].as_ref()]), ["ü\n"]);
        assert_eq!(split(&[b"he\xff\x00\xfelo"]), ["he\u{fffd}\0\u{fffd}lo"]);
    }

    #[test]
    fn strips_terminators_for_the_older_wire() {
        let mut stripper = Stripper::default();
        let pieces = ["a\n", "\n", "1%\r", "\n", "\r", "b\r\n", "\r\n", "end"];
        let texts: Vec<_> = pieces.iter().filter_map(|piece| stripper.strip(piece)).collect();
        assert_eq!(texts, ["a", "\n", "1%", "\n", "b", "\n", "end"]);
    }

    #[test]
    fn cuts_endless_lines_between_characters() {
        let line = "é".repeat(MAX_LINE_BYTES);
        let pieces = split(&[b"x", line.as_bytes()]);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_LINE_BYTES));
        assert_eq!(pieces.concat(), format!("x{line}"));
    }

    #[test]
    fn frames_are_one_line() {
        let mut frames = Vec::new();
        Event { kind: "stdout", text: "a\n", timestamp: 7, ..Event::default() }.encode(&mut frames);
        assert_eq!(frames, b"{\"type\":\"stdout\",\"text\":\"a\\n\",\"timestamp\":7}\n\n");
    }

    proptest! {
        #[test]
        fn loses_nothing_however_it_is_chunked(text in "[a-zé\n\r]{0,60}", at in 0_usize..60) {
            let bytes = text.as_bytes();
            let at = at.min(bytes.len());
            prop_assert_eq!(split(&[&bytes[..at], &bytes[at..]]).concat(), text);
        }
    }
}
