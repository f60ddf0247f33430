//! A Transcript is a run as a file tells it: a policy, and calls with their outcomes. The same guard judges it that
//! judges a running execution, so that a policy can be tuned on what happened before.
//!
//! Numbers in arguments keep all their digits: arguments are never parsed and printed again.

use super::finding::{Finding, Verdict};
use super::guard::{Call, LoopGuard};
use super::outcome::Outcome;
use crate::error::InvalidInput;
use crate::resource::{LoopAction, LoopPolicy};
use crate::tool_call::fingerprint;

mod parse;

/// A run that is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// What it is, for people.
    pub about: Option<String>,
    /// How it is judged.
    pub policy: LoopPolicy,
    /// What the author expects, for the corpus.
    pub expect: Option<Expectation>,
    /// The calls, in the order in which they were asked for.
    pub calls: Vec<TranscriptCall>,
}

/// The finding that the author expects first.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// Number of the call that is caught, from 1.
    pub call: usize,
    /// Its kind.
    pub kind: super::LoopKind,
    /// How many calls make one round.
    pub period: u32,
    /// The iterations of the matched calls, oldest first.
    pub iterations: Vec<u32>,
}

/// A call in a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptCall {
    /// The iteration whose reply asked for it.
    pub iteration: u32,
    /// Tool name.
    pub tool: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
    /// What it came to; None when the transcript ends before.
    pub outcome: Option<Outcome>,
    /// Whether the tool changes nothing.
    pub is_read_only: bool,
}

/// A call that was caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caught {
    /// Its number, from 1.
    pub call: usize,
    /// Its iteration.
    pub iteration: u32,
    /// The loop that it is part of.
    pub finding: Finding,
}

/// What the guard says of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How many calls were judged; with a policy that stops, no call behind the first loop.
    pub judged: usize,
    /// How many of them ran.
    pub ran: usize,
    /// The calls that were caught.
    pub caught: Vec<Caught>,
}

impl Report {
    /// Whether the first call that was caught is the one that the author expects, with the same evidence.
    pub fn begins_with(&self, expected: &Expectation) -> bool {
        self.caught.first().is_some_and(|Caught { call, finding, .. }| {
            let found = (*call, finding.kind, finding.period, &finding.iterations);
            found == (expected.call, expected.kind, expected.period, &expected.iterations)
        })
    }
}

impl Transcript {
    /// Reads a file. All faults are told, each with its field, the rule and the fix.
    pub fn parse(text: &str) -> Result<Self, Vec<InvalidInput>> {
        parse::parse(text)
    }

    /// Judges it as the loop would have.
    pub fn judge(&self) -> Report {
        let mut guard = LoopGuard::default();
        let mut report = Report { judged: 0, ran: 0, caught: Vec::new() };
        for reply in self.calls.chunk_by(|a, b| a.iteration == b.iteration) {
            let before = report.caught.len();
            let fates: Vec<_> =
                reply.iter().zip(0..).map(|(call, at)| self.meet(&mut guard, call, at, &mut report)).collect();
            report.ran += fates.iter().filter(|is_run| **is_run).count();
            if self.policy.on_loop == LoopAction::Stop && report.caught.len() > before {
                return report;
            }
            for ((call, ordinal), is_run) in reply.iter().zip(0..).zip(fates) {
                if let Some(outcome) = call.outcome.clone().filter(|_| is_run) {
                    guard.note(call.iteration, ordinal, outcome);
                }
            }
        }
        report
    }

    /// Judges one call; whether it runs.
    fn meet(&self, guard: &mut LoopGuard, call: &TranscriptCall, ordinal: u32, report: &mut Report) -> bool {
        let is_stopped = self.policy.on_loop == LoopAction::Stop
            && report.caught.last().is_some_and(|caught| caught.iteration == call.iteration);
        if is_stopped {
            return false;
        }
        report.judged += 1;
        let judged = Call {
            tool: &call.tool,
            fingerprint: &fingerprint(&call.tool, &call.arguments),
            iteration: call.iteration,
            ordinal,
            is_read_only: call.is_read_only,
        };
        match guard.judge(&judged, &self.policy) {
            Verdict::Proceed | Verdict::Pardoned(_) => true,
            Verdict::Loop(finding) => {
                report.caught.push(Caught { call: report.judged, iteration: call.iteration, finding });
                self.policy.on_loop == LoopAction::Warn
            }
        }
    }
}
