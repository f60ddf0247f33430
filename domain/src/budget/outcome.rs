//! A LimitOutcome says what a limit that is hit does to the execution: it stops it, or it ends it with an error item.
//!
//! Either way no further call starts, what is under way settles, and the StopReason names the limit and the step. The
//! difference is what the caller gets: after a stop nothing, after an error item something to go on with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::Limit;

/// What a limit that is hit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LimitOutcome {
    /// The execution ends as `STOPPED`.
    #[default]
    Stop,
    /// The execution ends as `SUCCEEDED` and hands on an error item, so that its caller goes on.
    ErrorItem,
}

/// The outcome of each limit for which one was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Limit, LimitOutcome>", into = "BTreeMap<Limit, LimitOutcome>")]
pub struct LimitOutcomes([Option<LimitOutcome>; Limit::ALL.len()]);

impl LimitOutcomes {
    /// No choice: every limit stops.
    pub const NONE: Self = Self([None; Limit::ALL.len()]);

    /// The outcome of a limit: a stop where none was chosen.
    pub const fn of(&self, limit: Limit) -> LimitOutcome {
        match self.0[limit as usize] {
            Some(outcome) => outcome,
            None => LimitOutcome::Stop,
        }
    }

    /// With this outcome for this limit.
    #[must_use]
    pub const fn with(mut self, limit: Limit, outcome: LimitOutcome) -> Self {
        self.0[limit as usize] = Some(outcome);
        self
    }

    /// The outcomes that are chosen here, and where none is, those of `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index].or(others.0[index])))
    }

    /// Whether none was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The choices, in the order of the limits.
    pub fn chosen(&self) -> impl Iterator<Item = (Limit, LimitOutcome)> + '_ {
        Limit::ALL.into_iter().filter_map(|limit| Some((limit, self.0[limit as usize]?)))
    }
}

impl From<BTreeMap<Limit, LimitOutcome>> for LimitOutcomes {
    fn from(chosen: BTreeMap<Limit, LimitOutcome>) -> Self {
        chosen.into_iter().fold(Self::default(), |outcomes, (limit, outcome)| outcomes.with(limit, outcome))
    }
}

impl From<LimitOutcomes> for BTreeMap<Limit, LimitOutcome> {
    fn from(outcomes: LimitOutcomes) -> Self {
        outcomes.chosen().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_stops_where_nothing_else_was_chosen() {
        let outcomes = LimitOutcomes::default().with(Limit::Cost, LimitOutcome::ErrorItem);
        let items: Vec<_> =
            Limit::ALL.into_iter().filter(|limit| outcomes.of(*limit) == LimitOutcome::ErrorItem).collect();
        assert_eq!(items, [Limit::Cost]);
    }

    #[test]
    fn a_choice_to_stop_holds_against_another_choice() {
        let start = LimitOutcomes::default().with(Limit::Cost, LimitOutcome::Stop);
        let agent = LimitOutcomes::default()
            .with(Limit::Cost, LimitOutcome::ErrorItem)
            .with(Limit::Tokens, LimitOutcome::ErrorItem);
        let both = start.or(agent);
        assert_eq!((both.of(Limit::Cost), both.of(Limit::Tokens)), (LimitOutcome::Stop, LimitOutcome::ErrorItem));
    }

    #[test]
    fn choices_are_stored_by_the_name_of_the_limit() {
        let outcomes = LimitOutcomes::default().with(Limit::ErrorsPerTool, LimitOutcome::ErrorItem);
        let text = serde_json::to_string(&outcomes).unwrap();
        assert_eq!(text, r#"{"ERRORS_PER_TOOL":"ERROR_ITEM"}"#);
        assert_eq!(serde_json::from_str::<LimitOutcomes>(&text).unwrap(), outcomes);
    }
}
