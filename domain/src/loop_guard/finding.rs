//! A Finding is a loop with its evidence: which kind, which calls, in which iterations.

use serde::{Deserialize, Serialize};

/// The kinds of loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LoopKind {
    /// The same call with unchanged results.
    RepeatedCall,
    /// A tool gives the same error again and again.
    RepeatedError,
    /// Two to five calls in the same order, with unchanged results.
    Cycle,
    /// The same call more often than polling may.
    PollLimit,
}

/// A loop that was found, and the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Its kind.
    pub kind: LoopKind,
    /// How many calls make one round; 1 but for a cycle.
    pub period: u32,
    /// How many rounds there were; the call that is judged completes the last one.
    pub count: u32,
    /// The tools of one round, in their order.
    pub tools: Vec<String>,
    /// The iterations of the matched calls, oldest first: one entry a call, the newest [`Self::MOST_ITERATIONS`].
    pub iterations: Vec<u32>,
}

impl Finding {
    /// Entries that the evidence holds at most.
    pub const MOST_ITERATIONS: usize = 100;

    /// What was found, as a clause for people and for the model.
    pub fn sentence(&self) -> String {
        let Self { count, period, .. } = self;
        let tool = self.tools.first().map_or("the tool", String::as_str);
        let places = self.places();
        match self.kind {
            LoopKind::RepeatedCall => {
                format!("{tool} was called {count} times with equal arguments and unchanged results ({places})")
            }
            LoopKind::RepeatedError => format!("{tool} failed {count} times with the same error ({places})"),
            LoopKind::Cycle => {
                let tools = self.tools.join(", ");
                format!("the same {period} calls ({tools}) came {count} times with unchanged results ({places})")
            }
            LoopKind::PollLimit => {
                format!("{tool} was called {count} times with equal arguments, more often than polling may ({places})")
            }
        }
    }

    /// The iterations, each once.
    fn places(&self) -> String {
        let mut distinct = self.iterations.clone();
        distinct.dedup();
        let word = if distinct.len() == 1 { "iteration" } else { "iterations" };
        format!("{word} {}", distinct.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// What the guard thinks of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Let it run.
    Proceed,
    /// It is part of a loop: the policy decides.
    Loop(Finding),
    /// It is part of a loop that a person let pass beforehand.
    Pardoned(Finding),
}

impl Verdict {
    /// What was found, whatever becomes of it.
    pub const fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Proceed => None,
            Self::Loop(finding) | Self::Pardoned(finding) => Some(finding),
        }
    }
}
