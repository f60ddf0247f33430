//! A Redactor takes secrets out of whatever comes back from a sandbox, in plain text and in the usual encodings.
//!
//! It finds a secret as it is and in other letter case, percent-encoded, JSON-escaped, as base64 at any of its three
//! alignments and in both alphabets, and as hexadecimal; the long ones also when they are wrapped into lines. Text comes in
//! pieces, cut anywhere: only what may be the begin of a secret is held back. It is no barrier against a program that hides
//! what it prints; that no secret reaches a program without need is the business of the profile.

mod needle;
mod output;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use needle::{Needle, Probe};
pub use output::RedactedOutput;
pub use stream::RedactedStream;

/// Finds a fixed set of secrets. `Debug` does not show them.
#[derive(Clone, Default)]
pub struct Redactor {
    needles: Vec<Needle>,
    /// The bytes that a match may begin with.
    begins: Begins,
}

#[derive(Clone)]
struct Begins([bool; 256]);

impl Default for Begins {
    fn default() -> Self {
        Self([false; 256])
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.needles.len()).finish_non_exhaustive()
    }
}

/// Where a secret was found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found<'a> {
    bytes: Range<usize>,
    mark: &'a str,
}

impl Redactor {
    /// Looks for one more secret; what is found is replaced by its name. White space at its ends is left out: a program
    /// that reads it from a file often drops the line end.
    pub fn add(&mut self, name: &str, secret: &str) {
        let secret = secret.trim();
        let needle = Needle::new(name, secret);
        if secret.is_empty() || self.needles.contains(&needle) {
            return;
        }
        needle.begins(|byte| self.begins.0[usize::from(byte)] = true);
        self.needles.push(needle);
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// How many bytes a secret has at most in any of its forms: what a part of a text needs on both sides.
    pub fn reach(&self) -> usize {
        self.needles.iter().map(Needle::reach).max().unwrap_or(0)
    }

    /// A whole text without secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() || !self.is_in(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        let mut stream = RedactedStream::new(self.clone().into());
        let mut clean = stream.push(text).into_owned();
        clean.push_str(&stream.finish());
        Cow::Owned(clean)
    }

    /// Whether a secret is in these bytes.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.next(bytes, 0).is_some()
    }

    /// The part `range` of these bytes without secrets; one that lies across an edge is taken out as a whole.
    pub fn part(&self, bytes: &[u8], range: Range<usize>) -> Vec<u8> {
        let range = range.start.min(bytes.len())..range.end.min(bytes.len());
        let mut clean = Vec::with_capacity(range.len());
        let mut at = 0;
        while let Some(found) = self.next(bytes, at) {
            clean.extend_from_slice(within(bytes, at..found.bytes.start, &range));
            if found.bytes.start < range.end && found.bytes.end > range.start {
                clean.extend_from_slice(found.mark.as_bytes());
            }
            at = found.bytes.end;
        }
        clean.extend_from_slice(within(bytes, at..bytes.len(), &range));
        clean
    }

    /// The first secret at or behind `from`, in bytes to which nothing is added.
    fn next(&self, bytes: &[u8], from: usize) -> Option<Found<'_>> {
        (from..bytes.len()).find_map(|at| match self.probe(bytes, at) {
            Probe::Found { end, mark, .. } => Some(Found { bytes: at..end, mark }),
            Probe::Begun { .. } | Probe::Nothing => None,
        })
    }

    /// Whether a secret begins at `at`: the longest that is there as a whole, or whether more bytes could make one.
    fn probe(&self, bytes: &[u8], at: usize) -> Probe<'_> {
        if !bytes.get(at).is_some_and(|byte| self.begins.0[usize::from(*byte)]) {
            return Probe::Nothing;
        }
        self.needles.iter().fold(Probe::Nothing, |best, needle| best.better(needle.probe(bytes, at)))
    }
}

/// What of `part` lies in `range`.
fn within<'a>(bytes: &'a [u8], part: Range<usize>, range: &Range<usize>) -> &'a [u8] {
    let (start, end) = (part.start.max(range.start), part.end.min(range.end));
    bytes.get(start..end).unwrap_or_default()
}
