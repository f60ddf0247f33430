//! Chooses the scenario and lays the due turn out.

use serde_json::{Map, Value};

use super::built_in;
use super::captures::{Values, fill};
use super::reply::{Reply, ReplyBuilder};
use super::request::ChatRequest;
use super::script::{Scenario, Script};

/// Why a request gets an error instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }
}

/// What a request is answered with.
#[derive(Debug)]
pub(super) enum Answer {
    Reply(Reply),
    /// Not even headers come.
    Silence,
}

impl Script {
    /// The name of the scenario that plays for this request.
    pub(super) fn scenario_name(&self, request: &ChatRequest) -> String {
        let built_in = built_in::NAMES.iter().find(|name| **name == request.model);
        let scripted = self.scenario(request).map(|scenario| scenario.name.clone());
        scripted.or_else(|| built_in.map(|name| (*name).to_owned())).unwrap_or_else(|| "unknown".to_owned())
    }

    /// The reply that is due. The same request gets the same reply.
    pub(super) fn answer(&self, request: &ChatRequest) -> Result<Answer, Refusal> {
        if let Some(scenario) = self.scenario(request) {
            return scenario.reply(request).map(Answer::Reply);
        }
        built_in::answer(request).unwrap_or_else(|| {
            let message = format!("no scenario for model `{}` and this task", request.model);
            Err(Refusal::new(404, "model_not_found", message))
        })
    }

    /// The scenario that names words of the task goes before the one that plays for any.
    fn scenario(&self, request: &ChatRequest) -> Option<&Scenario> {
        let task = request.task();
        let mut scenarios: Vec<_> = self.scenarios.iter().filter(|scenario| scenario.model == request.model).collect();
        scenarios.sort_by_key(|scenario| scenario.task_contains.is_none());
        scenarios.into_iter().find(|scenario| scenario.task_contains.as_ref().is_none_or(|words| task.contains(words)))
    }
}

impl Scenario {
    fn reply(&self, request: &ChatRequest) -> Result<Reply, Refusal> {
        let number = request.turn();
        let Some(turn) = self.turns.get(number) else {
            let message = format!("scenario `{}` has no turn {}", self.name, number + 1);
            return Err(Refusal::new(500, "script_over", message));
        };
        let results = request.results_before(number);
        if let Some(words) = turn.expect.iter().find(|words| !results.iter().any(|result| result.contains(*words))) {
            let message = format!("the tool results do not hold `{words}`, as turn {} expects", number + 1);
            return Err(Refusal::new(500, "unexpected_result", message));
        }
        let values = self.values_at(number, request);
        let fill =
            |text: &str| fill(text, &values).map_err(|missing| Refusal::new(500, "missing_value", missing.to_string()));
        let mut reply = ReplyBuilder::new(self.pace, number).text(&fill(&turn.text)?);
        for call in &turn.tool_calls {
            let mut arguments = Map::new();
            for (name, value) in &call.arguments {
                arguments.insert(name.clone(), fill_value(value, &fill)?);
            }
            arguments.extend(call.files.iter().map(|(name, text)| (name.clone(), Value::String(text.clone()))));
            reply = reply.call(&call.tool, &Value::Object(arguments).to_string());
        }
        Ok(reply.build(request.max_output_tokens()))
    }

    /// What has been captured up to and at this turn.
    fn values_at(&self, number: usize, request: &ChatRequest) -> Values {
        let mut values = Values::new();
        for (number, turn) in self.turns.iter().enumerate().take(number + 1) {
            let results = request.results_before(number);
            for capture in &turn.captures {
                capture.read(&results, &mut values);
            }
        }
        values
    }
}

fn fill_value(value: &Value, fill: &impl Fn(&str) -> Result<String, Refusal>) -> Result<Value, Refusal> {
    Ok(match value {
        Value::String(text) => Value::String(fill(text)?),
        Value::Array(items) => Value::Array(items.iter().map(|item| fill_value(item, fill)).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let filled = members.iter().map(|(name, value)| Ok((name.clone(), fill_value(value, fill)?)));
            Value::Object(filled.collect::<Result<_, Refusal>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}
