//! The memory of one execution.

use std::collections::{HashMap, HashSet};

use super::detect::find;
use super::finding::{LoopKind, Verdict};
use super::outcome::Outcome;
use crate::resource::LoopPolicy;

/// A call that is about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// Tool name.
    pub tool: &'a str,
    /// The same for equal tools and arguments.
    pub fingerprint: &'a str,
    /// The iteration whose reply asks for it.
    pub iteration: u32,
    /// Its place in the reply.
    pub ordinal: u32,
    /// Whether the tool changes nothing. A call of it that was not made before is work only when its outcome is new.
    pub is_read_only: bool,
}

/// A call that the guard has seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub tool: String,
    pub fingerprint: String,
    pub iteration: u32,
    ordinal: u32,
    is_read_only: bool,
    /// Whether this very call was not made before.
    pub is_first: bool,
    /// Whether it brought the execution on. Until its iteration is over one hopes so of a first call.
    pub is_work: bool,
    pub outcome: Option<Outcome>,
    pub caught: Option<LoopKind>,
}

/// The memory of one execution. It survives in the stored calls: feed them again, in their order, after a recovery.
#[derive(Debug, Default)]
pub struct LoopGuard {
    seen: Vec<Seen>,
    /// How many of them belong to iterations that are over.
    settled: usize,
    /// Every call that was made, and what it came to last.
    calls_made: HashMap<String, Option<Outcome>>,
    /// Every outcome that a tool had.
    outcomes_had: HashSet<(String, Outcome)>,
    judged: u32,
    pardons: u32,
}

impl LoopGuard {
    /// Judges a call before it is made, and remembers it.
    pub fn judge(&mut self, call: &Call<'_>, policy: &LoopPolicy) -> Verdict {
        if self.seen.last().is_some_and(|last| last.iteration != call.iteration) {
            self.settle();
        }
        self.judged = self.judged.saturating_add(1);
        let is_first = !self.calls_made.contains_key(call.fingerprint);
        if is_first {
            self.calls_made.insert(call.fingerprint.to_owned(), None);
        }
        self.seen.push(Seen {
            tool: call.tool.to_owned(),
            fingerprint: call.fingerprint.to_owned(),
            iteration: call.iteration,
            ordinal: call.ordinal,
            is_read_only: call.is_read_only,
            is_first,
            is_work: is_first,
            outcome: None,
            caught: None,
        });
        let Some(finding) = find(&self.seen, policy) else { return Verdict::Proceed };
        if let Some(last) = self.seen.last_mut() {
            last.caught = Some(finding.kind);
            last.is_work = false;
        }
        match self.pardons.checked_sub(1) {
            Some(left) => {
                self.pardons = left;
                Verdict::Pardoned(finding)
            }
            None => Verdict::Loop(finding),
        }
    }

    /// Notes what a judged call came to. Outcomes of one iteration may come in any order.
    pub fn note(&mut self, iteration: u32, ordinal: u32, outcome: Outcome) {
        let unsettled = self.seen.get_mut(self.settled..).unwrap_or_default();
        let place = unsettled.iter_mut().find(|seen| (seen.iteration, seen.ordinal) == (iteration, ordinal));
        if let Some(seen) = place {
            seen.outcome = Some(outcome);
        }
    }

    /// How many calls it has judged since the execution began.
    pub const fn calls(&self) -> u32 {
        self.judged
    }

    /// Forgets what it has seen, and lets the next findings pass.
    pub fn forgive(&mut self, pardons: u32) {
        *self = Self { judged: self.judged, pardons, ..Self::default() };
    }

    /// Says of each call of the iterations that are over whether it was work, in the order in which they were asked for.
    fn settle(&mut self) {
        for seen in self.seen.iter_mut().skip(self.settled) {
            let Some(outcome) = seen.outcome.clone() else {
                seen.is_work = false;
                continue;
            };
            let is_new_outcome = self.outcomes_had.insert((seen.tool.clone(), outcome.clone()));
            let last = self.calls_made.insert(seen.fingerprint.clone(), Some(outcome.clone())).flatten();
            seen.is_work = if outcome.is_error() {
                is_new_outcome
            } else if last.is_none() {
                is_new_outcome || !seen.is_read_only
            } else {
                last != Some(outcome)
            };
        }
        self.settled = self.seen.len();
    }
}
