//! How the loop guard judges, and what it does: a part of an agent's version.
//!
//! Each kind of loop has a threshold of its own. A threshold that is left out has its default, or that of identical
//! calls where this is greater: whoever wrote a policy before there were other kinds, and allowed many identical calls,
//! is not stopped by them.

use serde::{Deserialize, Serialize};

use crate::error::InvalidInput;

const DEFAULT_IDENTICAL_CALLS: u32 = 3;
const DEFAULT_REPEATED_ERRORS: u32 = 3;
const DEFAULT_CYCLES: u32 = 3;
const DEFAULT_POLLS: u32 = 10;
/// As good as never.
const GREATEST: u32 = 1_000_000;

/// What to do when the loop guard sees a loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LoopAction {
    /// Tell the model.
    Warn,
    /// Do not run the call, and tell the model.
    Block,
    /// End the execution.
    #[default]
    Stop,
}

/// How the loop guard judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "PartialLoopPolicy")]
pub struct LoopPolicy {
    /// What it does.
    pub on_loop: LoopAction,
    /// The Nth identical call with unchanged results is a loop when nothing new was done in between.
    pub max_identical_calls: u32,
    /// When a tool has given the same error in N iterations, and nothing new was done in between, its next call is a loop.
    pub max_repeated_errors: u32,
    /// A cycle of 2 to 5 calls with unchanged results is a loop when it is completed for the Nth time.
    pub max_cycles: u32,
    /// An identical call may be made N times although its results change, when nothing else that is new is done in
    /// between; and N times with unchanged results, whatever is done in between.
    pub max_polls: u32,
}

/// A policy as people and earlier versions write it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialLoopPolicy {
    /// See [`LoopPolicy::on_loop`]; STOP when left out.
    #[serde(default)]
    pub on_loop: LoopAction,
    /// See [`LoopPolicy::max_identical_calls`].
    pub max_identical_calls: Option<u32>,
    /// See [`LoopPolicy::max_repeated_errors`].
    pub max_repeated_errors: Option<u32>,
    /// See [`LoopPolicy::max_cycles`].
    pub max_cycles: Option<u32>,
    /// See [`LoopPolicy::max_polls`].
    pub max_polls: Option<u32>,
}

impl From<PartialLoopPolicy> for LoopPolicy {
    fn from(partial: PartialLoopPolicy) -> Self {
        let identical = partial.max_identical_calls.unwrap_or(DEFAULT_IDENTICAL_CALLS);
        Self {
            on_loop: partial.on_loop,
            max_identical_calls: identical,
            max_repeated_errors: partial.max_repeated_errors.unwrap_or(DEFAULT_REPEATED_ERRORS.max(identical)),
            max_cycles: partial.max_cycles.unwrap_or(DEFAULT_CYCLES.max(identical)),
            max_polls: partial.max_polls.unwrap_or(DEFAULT_POLLS.max(identical)),
        }
    }
}

impl Default for LoopPolicy {
    fn default() -> Self {
        PartialLoopPolicy::default().into()
    }
}

impl LoopPolicy {
    /// Checks the thresholds; the policy stands at `base` in the input.
    pub fn validate(&self, base: &[&str]) -> Vec<InvalidInput> {
        let thresholds = [
            ("maxIdenticalCalls", self.max_identical_calls),
            ("maxRepeatedErrors", self.max_repeated_errors),
            ("maxCycles", self.max_cycles),
            ("maxPolls", self.max_polls),
        ];
        thresholds
            .into_iter()
            .filter(|(_, value)| !(2..=GREATEST).contains(value))
            .map(|(field, _)| InvalidInput {
                path: base.iter().copied().chain([field]).map(str::to_owned).collect(),
                code: "OUT_OF_RANGE",
                message: format!("must be from 2 to {GREATEST}; leave it out for the default"),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> LoopPolicy {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_policy_that_was_stored_before_there_were_other_kinds_reads() {
        let old = read(r#"{"onLoop":"WARN","maxIdenticalCalls":3}"#);
        assert_eq!(old, LoopPolicy { on_loop: LoopAction::Warn, ..LoopPolicy::default() });
        let generous = read(r#"{"onLoop":"STOP","maxIdenticalCalls":1000000}"#);
        assert_eq!(
            (generous.max_cycles, generous.max_repeated_errors, generous.max_polls),
            (1_000_000, 1_000_000, 1_000_000)
        );
    }

    #[test]
    fn a_policy_reads_back_as_it_was_written() {
        let policy = LoopPolicy { max_cycles: 4, max_polls: 50, max_repeated_errors: 2, ..LoopPolicy::default() };
        assert_eq!(read(&serde_json::to_string(&policy).unwrap()), policy);
    }

    #[test]
    fn each_threshold_is_checked_under_its_own_name() {
        let policy = LoopPolicy {
            on_loop: LoopAction::Stop,
            max_identical_calls: 1,
            max_repeated_errors: 0,
            max_cycles: 1_000_001,
            max_polls: 2,
        };
        let faults = policy.validate(&["spec", "loopPolicy"]);
        let fields: Vec<_> = faults.iter().map(|fault| fault.path.join(".")).collect();
        assert_eq!(
            fields,
            ["spec.loopPolicy.maxIdenticalCalls", "spec.loopPolicy.maxRepeatedErrors", "spec.loopPolicy.maxCycles"]
        );
        assert!(LoopPolicy::default().validate(&[]).is_empty());
    }
}
