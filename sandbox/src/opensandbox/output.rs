//! Output is what a command wrote, put together again from the events that carry it.
//!
//! There are two wires, and nothing on them says which it is. On the newer one the text of an event keeps its line
//! terminator; on the older one it is stripped, and a blank line is the text `"\n"`. One command, run once per sandbox,
//! tells them apart.
//!
//! Rule: text comes out as it was written. What the older wire does not carry cannot come back: a lone carriage return
//! arrives as a line feed, and the last line arrives without its terminator. There the output goes to files, which are
//! read while the command runs ([`super::output_files`]), and the joining here is for what a shell says before that.

use async_trait::async_trait;

pub use super::stream::OutputStream;

/// Takes a command's output while it is running.
///
/// The next piece is read only after the last one was taken, so a slow sink slows the command down.
#[async_trait]
pub trait OutputSink: Send {
    /// Takes a piece of text, never empty. Pieces of one stream are in order; between the two streams there is none.
    async fn output(&mut self, stream: OutputStream, text: &str);
}

/// A sink that keeps both streams, for small outputs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

#[async_trait]
impl OutputSink for Captured {
    async fn output(&mut self, stream: OutputStream, text: &str) {
        match stream {
            OutputStream::Stdout => self.stdout.push_str(text),
            OutputStream::Stderr => self.stderr.push_str(text),
        }
    }
}

/// How the text of an output event relates to what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputWire {
    /// Texts are joined as they are.
    Kept,
    /// Each text is a line without its terminator; `"\n"` is a blank line.
    Stripped,
}

impl OutputWire {
    /// Its name in [`super::SUPPORTED`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Stripped => "stripped",
        }
    }
}

/// What execd of a sandbox can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExecdWire {
    pub output: OutputWire,
    pub takes_argv: bool,
}

impl ExecdWire {
    /// What goes with a wire that is known beforehand: both came with the same version.
    pub fn known(output: OutputWire) -> Self {
        Self { output, takes_argv: output == OutputWire::Kept }
    }
}

/// What the probe prints, as a shell command.
pub(super) const PROBE_COMMAND: &str = r"printf 'a\n\nb'";

impl OutputWire {
    /// What the texts of the probe's events say; `None` when they fit neither wire.
    pub(super) fn from_probe(texts: &[String]) -> Option<Self> {
        let joined = texts.concat();
        match texts {
            _ if joined == "a\n\nb" => Some(Self::Kept),
            [a, blank, b] if (a.as_str(), blank.as_str(), b.as_str()) == ("a", "\n", "b") => Some(Self::Stripped),
            _ => None,
        }
    }
}

/// Puts the texts of one command together.
#[derive(Debug)]
pub(super) struct Joiner {
    wire: OutputWire,
    has_open_line: [bool; 2],
}

impl Joiner {
    pub fn new(wire: OutputWire) -> Self {
        Self { wire, has_open_line: [false; 2] }
    }

    /// What the text of the next event adds to `stream`.
    pub fn join(&mut self, stream: OutputStream, text: String) -> String {
        match self.wire {
            OutputWire::Kept => text,
            OutputWire::Stripped => self.join_line(stream, text),
        }
    }

    /// A line's terminator is known to have been there only when another line follows.
    fn join_line(&mut self, stream: OutputStream, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let is_open = &mut self.has_open_line[usize::from(stream == OutputStream::Stderr)];
        let before = if *is_open { "\n" } else { "" };
        *is_open = text != "\n";
        format!("{before}{text}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(wire: OutputWire, texts: &[&str]) -> String {
        let mut joiner = Joiner::new(wire);
        texts.iter().map(|text| joiner.join(OutputStream::Stdout, (*text).to_owned())).collect()
    }

    /// The older wire, as its server makes it: split at terminators, a blank line is sent as `"\n"`.
    fn strip(text: &str) -> Vec<String> {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let last = lines.pop().unwrap();
        let mut events: Vec<String> =
            lines.iter().map(|line| if line.is_empty() { "\n".into() } else { (*line).into() }).collect();
        events.extend((!last.is_empty()).then(|| last.to_owned()));
        events
    }

    #[test]
    fn tells_the_wires_apart() {
        let probe = |texts: &[&str]| OutputWire::from_probe(&texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(probe(&["a\n", "\n", "b"]), Some(OutputWire::Kept));
        assert_eq!(probe(&["a\n\nb"]), Some(OutputWire::Kept));
        assert_eq!(probe(&["a", "\n", "b"]), Some(OutputWire::Stripped));
        assert_eq!(probe(&["a", "b"]), None);
        assert_eq!(probe(&[]), None);
    }

    #[test]
    fn reproduces_blank_lines_on_both_wires() {
        for text in ["a\n\nb", "\n\na", "a\n\n\n\nb\nc", "a", ""] {
            let kept: Vec<&str> = text.split_inclusive('\n').collect();
            assert_eq!(joined(OutputWire::Kept, &kept), text);
            let stripped = strip(text);
            assert_eq!(joined(OutputWire::Stripped, &stripped.iter().map(String::as_str).collect::<Vec<_>>()), text);
        }
    }

    #[test]
    fn keeps_the_streams_apart() {
        let mut joiner = Joiner::new(OutputWire::Stripped);
        assert_eq!(joiner.join(OutputStream::Stdout, "a".into()), "a");
        assert_eq!(joiner.join(OutputStream::Stderr, "x".into()), "x");
        assert_eq!(joiner.join(OutputStream::Stdout, "b".into()), "\nb");
    }

    proptest! {
        #[test]
        fn loses_only_the_last_terminator_on_the_older_wire(text in "[ab\n]{0,40}") {
            let stripped = strip(&text);
            let back = joined(OutputWire::Stripped, &stripped.iter().map(String::as_str).collect::<Vec<_>>());
            let is_blank_end = text.ends_with("\n\n") || text == "\n";
            let expected = if is_blank_end { text.as_str() } else { text.strip_suffix('\n').unwrap_or(&text) };
            prop_assert_eq!(back, expected);
        }
    }
}
