//! The Known differences are a checked-in list, each entry with its reason and a reference.
//!
//! In `operation`, `field`, `ours` and `theirs` a `*` stands for any text.

use std::path::Path;

use serde::Deserialize;

use super::Difference;
use crate::Result;

/// The list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Fields that a client reports otherwise.
    #[serde(default, rename = "difference")]
    pub differences: Vec<KnownDifference>,
    /// Calls or arguments that a client does not have.
    #[serde(default, rename = "gap")]
    pub gaps: Vec<Gap>,
}

/// A difference that is right.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDifference {
    operation: String,
    /// The clients that report so.
    clients: Vec<String>,
    field: String,
    ours: String,
    theirs: String,
    why: String,
    reference: String,
}

/// A call that a client does not have.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gap {
    client: String,
    call: String,
    why: String,
}

impl Known {
    /// Reads the list. Every entry needs its reason.
    pub fn read(path: &Path) -> Result<Self> {
        let known: Self = toml::from_str(&std::fs::read_to_string(path)?)?;
        for entry in &known.differences {
            if entry.why.is_empty() || entry.reference.is_empty() || entry.clients.is_empty() {
                return Err(format!("an entry needs why, reference and clients: {entry:?}").into());
            }
        }
        match known.gaps.iter().find(|gap| gap.why.is_empty()) {
            Some(gap) => Err(format!("an entry needs why: {gap:?}").into()),
            None => Ok(known),
        }
    }
}

/// Which entries have matched something, for each of their clients.
pub struct Matches<'a> {
    known: &'a Known,
    differences: Vec<Vec<bool>>,
    gaps: Vec<bool>,
}

impl<'a> Matches<'a> {
    /// None so far.
    pub fn new(known: &'a Known) -> Self {
        let differences = known.differences.iter().map(|entry| vec![false; entry.clients.len()]).collect();
        Self { known, differences, gaps: vec![false; known.gaps.len()] }
    }

    /// Whether the list has this difference.
    pub fn difference(&mut self, found: &Difference) -> bool {
        let mut is_known = false;
        for (entry, matched) in self.known.differences.iter().zip(&mut self.differences) {
            let client = entry.clients.iter().position(|client| *client == found.client);
            let fits = is_like(&entry.operation, &found.operation)
                && is_like(&entry.field, &found.field)
                && is_like(&entry.ours, &found.ours)
                && is_like(&entry.theirs, &found.theirs);
            if let (Some(client), true) = (client, fits) {
                matched[client] = true;
                is_known = true;
            }
        }
        is_known
    }

    /// Whether the list has this gap.
    pub fn gap(&mut self, client: &str, call: &str) -> bool {
        let found = self.known.gaps.iter().position(|gap| gap.client == client && gap.call == call);
        found.map(|at| self.gaps[at] = true).is_some()
    }

    /// The entries that have matched nothing.
    pub fn stale(&self) -> Vec<String> {
        let mut stale = Vec::new();
        for (entry, matched) in self.known.differences.iter().zip(&self.differences) {
            for (client, _) in entry.clients.iter().zip(matched).filter(|(_, matched)| !**matched) {
                let (operation, field) = (&entry.operation, &entry.field);
                stale.push(format!("An entry that matches no difference any more: {operation} / {client} / {field}"));
            }
        }
        let gaps = self.known.gaps.iter().zip(&self.gaps).filter(|(_, matched)| !**matched);
        stale.extend(
            gaps.map(|(gap, _)| format!("An entry that matches no gap any more: {} / {}", gap.client, gap.call)),
        );
        stale
    }
}

/// Whether `text` is `pattern`, in which each `*` stands for any text.
fn is_like(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| is_like(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text) in
            [("a", "a"), ("*", ""), ("*", "报告"), ("a*c", "abc"), ("a*c", "ac"), ("*.*.x", "a.b.c.x")]
        {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("a", "ab"), ("a*c", "abd"), ("", "a"), ("*b", "ba")] {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }
}
