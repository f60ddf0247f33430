//! Where each effective limit of an execution comes from; stored with it, so that it can be shown later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model::{Limit, Limits};

/// Who set a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LimitSource {
    /// Nobody: it holds where nobody sets one, so that nothing runs for ever.
    Default,
    /// An account of the tenant.
    Tenant,
    /// An account of the project.
    Project,
    /// The agent's version, or an account of the agent.
    Agent,
    /// The start call.
    Start,
}

/// The source of each of an execution's own limits that is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LimitSources(BTreeMap<Limit, LimitSource>);

impl LimitSources {
    /// Who set this limit; None where it is not set, and in executions of the time before sources were stored.
    pub fn of(&self, limit: Limit) -> Option<LimitSource> {
        self.0.get(&limit).copied()
    }
}

/// Of each limit the tightest, `defaults` where nobody sets one, and who set what. Of equal ones the first source counts.
pub fn effective(set: &[(LimitSource, Limits)], defaults: Limits) -> (Limits, LimitSources) {
    let limits = set.iter().fold(Limits::default(), |tightest, (_, limits)| tightest.tightest(*limits)).or(defaults);
    let values = limits.values();
    let source_of = |limit: Limit, value: u64| {
        let is_it =
            |limits: &Limits| limits.values().iter().any(|(other, _, set)| *other == limit && *set == Some(value));
        set.iter().find(|(_, limits)| is_it(limits)).map_or(LimitSource::Default, |(source, _)| *source)
    };
    let sources = values.iter().filter_map(|(limit, _, value)| Some((*limit, source_of(*limit, (*value)?))));
    (limits, LimitSources(sources.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::NanoUsd;

    #[test]
    fn each_limit_names_the_source_of_the_tightest() {
        let agent = Limits { max_tokens: Some(100), max_iterations: Some(5), ..Limits::default() };
        let start =
            Limits { max_tokens: Some(50), max_cost: Some(NanoUsd(9)), max_iterations: Some(5), ..Limits::default() };
        let defaults = Limits { max_iterations: Some(3), max_model_calls: Some(7), ..Limits::default() };
        let (limits, sources) = effective(&[(LimitSource::Agent, agent), (LimitSource::Start, start)], defaults);
        assert_eq!(limits, agent.tightest(start).or(defaults));
        assert_eq!(sources.of(Limit::Tokens), Some(LimitSource::Start));
        assert_eq!(sources.of(Limit::Cost), Some(LimitSource::Start));
        assert_eq!(sources.of(Limit::Iterations), Some(LimitSource::Agent));
        assert_eq!(sources.of(Limit::ModelCalls), Some(LimitSource::Default));
        assert_eq!(sources.of(Limit::ToolCalls), None);
        let stored = serde_json::to_string(&sources).unwrap();
        assert_eq!(serde_json::from_str::<LimitSources>(&stored).unwrap(), sources);
    }
}
