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
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let (clean, rest) = self.clean(&text);
        self.held = text.get(rest..).unwrap_or_default().to_owned();
        Cow::Owned(clean)
    }

    /// Returns what was held back. Most of a secret, which only the end has cut off, is hidden like a whole one.
    pub fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.held);
        let mut clean = String::new();
        // Behind what turns out to be no secret another one may begin.
        while let Some(first) = text.chars().next() {
            match self.redactor.probe(text.as_bytes(), 0) {
                Probe::Found { end, mark, .. } => {
                    clean.push_str(mark);
                    text.drain(..end);
                }
                Probe::Begun { is_telling: true, mark } => {
                    clean.push_str(mark);
                    text.clear();
                }
                Probe::Begun { is_telling: false, .. } | Probe::Nothing => {
                    clean.push(first);
                    text.drain(..first.len_utf8());
                }
            }
        }
        clean
    }

    /// The text up to the place from which on more must be known, and that place.
    fn clean(&self, text: &str) -> (String, usize) {
        let mut clean = String::with_capacity(text.len());
        let (mut copied, mut at) = (0, 0);
        while at < text.len() {
            match self.redactor.probe(text.as_bytes(), at) {
                Probe::Nothing => at += 1,
                Probe::Begun { .. } | Probe::Found { may_grow: true, .. } => break,
                Probe::Found { end, mark, may_grow: false } => {
                    clean.push_str(text.get(copied..at).unwrap_or_default());
                    clean.push_str(mark);
                    (copied, at) = (end, end);
                }
            }
        }
        clean.push_str(text.get(copied..at).unwrap_or_default());
        (clean, at)
    }
}
