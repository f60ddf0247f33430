//! Redaction of text that comes in pieces.

use std::borrow::Cow;
use std::sync::Arc;

use super::Redactor;
use super::needle::Probe;

/// A text on its way. What it gives out is the text without secrets, however it was cut into pieces.
pub struct RedactedStream {
    redactor: Arc<Redactor>,
    /// What may be the begin of a secret.
    held: String,
}

/// What a stream gives out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given<'a> {
    /// Text as it was.
    Text(&'a str),
    /// The name of a secret, in the place of a text with so many line ends.
    Mark { mark: &'a str, line_ends: usize },
}

impl<'a> Given<'a> {
    fn mark(mark: &'a str, secret: &str) -> Self {
        Self::Mark { mark, line_ends: line_ends(secret) }
    }

    const fn text(self) -> &'a str {
        match self {
            Self::Text(text) | Self::Mark { mark: text, .. } => text,
        }
    }
}

pub(super) fn line_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

impl RedactedStream {
    /// A stream that has not begun.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: String::new() }
    }

    /// Looks for what `redactor` finds from here on.
    pub fn follow(&mut self, redactor: Arc<Redactor>) {
        self.redactor = redactor;
    }

    /// Takes a piece; returns what can be given out.
    pub fn push<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        if self.redactor.is_empty() {
            return Cow::Borrowed(piece);
        }
        let mut clean = String::with_capacity(piece.len());
        self.take(piece, |given| clean.push_str(given.text()));
        Cow::Owned(clean)
    }

    /// Returns what was held back. Most of a secret, which only the end has cut off, is hidden like a whole one.
    pub fn finish(&mut self) -> String {
        let mut clean = String::new();
        self.end(|given| clean.push_str(given.text()));
        clean
    }

    /// As [`Self::push`], a part after another.
    pub(super) fn take(&mut self, piece: &str, mut give: impl FnMut(Given<'_>)) {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let (mut given, mut at) = (0, 0);
        while at < text.len() {
            match self.redactor.probe(text.as_bytes(), at) {
                Probe::Nothing => at += 1,
                // More must be known from here on.
                Probe::Begun { .. } | Probe::Found { may_grow: true, .. } => break,
                Probe::Found { end, mark, may_grow: false } => {
                    give(Given::Text(text.get(given..at).unwrap_or_default()));
                    give(Given::mark(mark, text.get(at..end).unwrap_or_default()));
                    (given, at) = (end, end);
                }
            }
        }
        give(Given::Text(text.get(given..at).unwrap_or_default()));
        self.held = text.get(at..).unwrap_or_default().to_owned();
    }

    /// As [`Self::finish`], a part after another.
    pub(super) fn end(&mut self, mut give: impl FnMut(Given<'_>)) {
        let mut text = std::mem::take(&mut self.held);
        // Behind what turns out to be no secret another one may begin.
        while let Some(first) = text.chars().next() {
            let end = match self.redactor.probe(text.as_bytes(), 0) {
                Probe::Found { end, mark, .. } => {
                    give(Given::mark(mark, text.get(..end).unwrap_or_default()));
                    end
                }
                Probe::Begun { is_telling: true, mark } => {
                    give(Given::mark(mark, &text));
                    text.len()
                }
                Probe::Begun { is_telling: false, .. } | Probe::Nothing => {
                    let end = first.len_utf8();
                    give(Given::Text(text.get(..end).unwrap_or_default()));
                    end
                }
            };
            text.drain(..end);
        }
    }
}
