//! Reads a transcript from JSON, and tells every fault with its place.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Expectation, Transcript, TranscriptCall};
use crate::error::InvalidInput;
use crate::loop_guard::Outcome;
use crate::resource::{LoopPolicy, PartialLoopPolicy};
use crate::tool_call::{BuiltInTool, SideEffect};

const MEMBERS: &[&str] = &["about", "policy", "expect", "calls"];
const POLICY_MEMBERS: &[&str] = &["onLoop", "maxIdenticalCalls", "maxRepeatedErrors", "maxCycles", "maxPolls"];
const CALL_MEMBERS: &[&str] = &["iteration", "tool", "arguments", "result", "error", "readOnly"];

type Members<'a> = BTreeMap<String, &'a RawValue>;

pub(super) fn parse(text: &str) -> Result<Transcript, Vec<InvalidInput>> {
    // Where the text is no JSON at all, the parser knows the place best.
    if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        return Err(vec![fault(&[], "MALFORMED", format!("the file must be one JSON object: {error}"))]);
    }
    let mut faults = Faults::default();
    let members = faults.object(&[], text, MEMBERS).unwrap_or_default();
    let transcript = Transcript {
        about: faults.optional(&members, &[], "about", "must be a text"),
        policy: faults.policy(&members),
        expect: faults.optional::<Expectation>(
            &members,
            &[],
            "expect",
            "must be an object with call, kind, period and iterations, as docs/loop-guard.md describes it",
        ),
        calls: faults.calls(&members),
    };
    if faults.0.is_empty() { Ok(transcript) } else { Err(faults.0) }
}

fn fault(path: &[&str], code: &'static str, message: impl Into<String>) -> InvalidInput {
    InvalidInput { path: path.iter().map(ToString::to_string).collect(), code, message: message.into() }
}

#[derive(Default)]
struct Faults(Vec<InvalidInput>);

impl Faults {
    fn add(&mut self, base: &[&str], name: &str, code: &'static str, message: impl Into<String>) {
        let path: Vec<&str> = base.iter().copied().chain([name]).collect();
        self.0.push(fault(&path, code, message));
    }

    /// The members of an object; those that nobody knows are faults.
    fn object<'a>(&mut self, path: &[&str], text: &'a str, known: &[&str]) -> Option<Members<'a>> {
        let Ok(members) = serde_json::from_str::<Members<'a>>(text) else {
            self.0.push(fault(path, "MALFORMED", format!("must be a JSON object with {}", known.join(", "))));
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(
                path,
                name,
                "UNKNOWN_FIELD",
                format!("is not known; remove it, or use one of {}", known.join(", ")),
            );
        }
        Some(members)
    }

    fn optional<T: DeserializeOwned>(
        &mut self,
        members: &Members<'_>,
        base: &[&str],
        name: &str,
        rule: &str,
    ) -> Option<T> {
        let raw = members.get(name)?;
        let value = serde_json::from_str(raw.get()).ok();
        if value.is_none() {
            self.add(base, name, "MALFORMED", rule);
        }
        value
    }

    fn policy(&mut self, members: &Members<'_>) -> LoopPolicy {
        let base = ["policy"];
        let Some(members) = members.get("policy").and_then(|raw| self.object(&base, raw.get(), POLICY_MEMBERS)) else {
            return LoopPolicy::default();
        };
        let mut threshold =
            |name| self.optional(&members, &base, name, "must be a whole number; leave it out for the default");
        let partial = PartialLoopPolicy {
            max_identical_calls: threshold("maxIdenticalCalls"),
            max_repeated_errors: threshold("maxRepeatedErrors"),
            max_cycles: threshold("maxCycles"),
            max_polls: threshold("maxPolls"),
            on_loop: self.optional(&members, &base, "onLoop", "must be WARN, BLOCK or STOP").unwrap_or_default(),
        };
        let policy = LoopPolicy::from(partial);
        self.0.extend(policy.validate(&base));
        policy
    }

    fn calls(&mut self, members: &Members<'_>) -> Vec<TranscriptCall> {
        let Some(raw) = members.get("calls") else {
            self.0.push(fault(
                &["calls"],
                "MISSING",
                "is missing; list the calls in the order in which they were asked for",
            ));
            return Vec::new();
        };
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            self.0.push(fault(&["calls"], "MALFORMED", "must be a list of calls"));
            return Vec::new();
        };
        let mut calls: Vec<TranscriptCall> = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let index = index.to_string();
            let base = ["calls", &index];
            let Some(call) = self.object(&base, item.get(), CALL_MEMBERS).and_then(|call| self.call(&base, &call))
            else {
                continue;
            };
            if calls.last().is_some_and(|before| before.iteration > call.iteration) {
                let rule = "must not be less than that of the call before; list the calls in their order";
                self.add(&base, "iteration", "OUT_OF_ORDER", rule);
            }
            calls.push(call);
        }
        calls
    }

    fn call(&mut self, base: &[&str], members: &Members<'_>) -> Option<TranscriptCall> {
        let iteration = self.required::<u32>(members, base, "iteration", "must be a whole number: 1, 2, 3, ...");
        let tool = self.required::<String>(members, base, "tool", "must be the tool's name, a text");
        if tool.as_ref().is_some_and(String::is_empty) {
            self.add(base, "tool", "MALFORMED", "must not be empty; write the tool's name");
        }
        let arguments = self.arguments(members, base);
        let is_read_only = self.optional(members, base, "readOnly", "must be true or false");
        let (result, error) = (members.get("result"), members.get("error"));
        if result.is_some() && error.is_some() {
            self.add(base, "error", "CONFLICT", "stands beside result; keep the one that the call came to");
        }
        let (tool, arguments) = (tool?, arguments?);
        let outcome = match (result, error) {
            (Some(result), _) => Some(Outcome::result(&text_of(result))),
            (None, Some(error)) => Some(Outcome::error(&text_of(error), &arguments)),
            (None, None) => None,
        };
        let is_known_read_only =
            || BuiltInTool::by_name(&tool).is_some_and(|tool| tool.side_effect() == SideEffect::ReadOnly);
        let is_read_only = is_read_only.unwrap_or_else(is_known_read_only);
        Some(TranscriptCall { iteration: iteration?, tool, arguments, outcome, is_read_only })
    }

    fn required<T: DeserializeOwned>(
        &mut self,
        members: &Members<'_>,
        base: &[&str],
        name: &str,
        rule: &str,
    ) -> Option<T> {
        if !members.contains_key(name) {
            self.add(base, name, "MISSING", format!("is missing; it {rule}"));
        }
        self.optional(members, base, name, rule)
    }

    /// An object, or a text that holds one as the model wrote it.
    fn arguments(&mut self, members: &Members<'_>, base: &[&str]) -> Option<String> {
        let Some(raw) = members.get("arguments") else {
            self.add(base, "arguments", "MISSING", "is missing; write {} for a call without arguments");
            return None;
        };
        if raw.get().starts_with('{') {
            return Some(raw.get().to_owned());
        }
        self.optional(members, base, "arguments", "must be a JSON object, or a text with what the model wrote")
    }
}

/// A text stands for itself, anything else for how it is written.
fn text_of(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}
