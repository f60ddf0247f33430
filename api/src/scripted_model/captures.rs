//! Values that are read from tool results, and the placeholders that they fill.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Reads values from the last line of the tool results that begins with `line`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Capture {
    /// How the line begins.
    pub(super) line: String,
    /// The placeholder that gets the rest of the line as it is.
    pub(super) rest: Option<String>,
    /// Placeholder to JSON pointer into the rest of the line.
    #[serde(default)]
    pub(super) values: BTreeMap<String, String>,
}

/// A placeholder that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script has no value for {{{{{placeholder}}}}}: {reason}")]
pub(super) struct MissingValue {
    pub(super) placeholder: String,
    pub(super) reason: String,
}

/// What is known at a turn: a text for each placeholder, or why there is none.
pub(super) type Values = BTreeMap<String, Result<String, String>>;

impl Capture {
    pub(super) fn placeholders(&self) -> impl Iterator<Item = &String> {
        self.values.keys().chain(&self.rest)
    }

    /// Adds what this capture finds in the results.
    pub(super) fn read(&self, results: &[String], values: &mut Values) {
        let lines = results.iter().flat_map(|result| result.lines());
        let rest = lines.filter_map(|line| line.strip_prefix(&self.line)).next_back();
        let rest = rest.ok_or_else(|| format!("no line of the tool results begins with `{}`", self.line));
        if let Some(placeholder) = &self.rest {
            values.insert(placeholder.clone(), rest.clone().map(str::to_owned));
        }
        let json = rest.and_then(|rest| {
            serde_json::from_str::<Value>(rest).map_err(|_| format!("the line behind `{}` is no JSON", self.line))
        });
        for (placeholder, pointer) in &self.values {
            let value = json.as_ref().map_err(String::clone).and_then(|json| {
                let value = json.pointer(pointer).ok_or_else(|| format!("the JSON has nothing at `{pointer}`"))?;
                render(value).ok_or_else(|| format!("what the JSON has at `{pointer}` cannot be printed"))
            });
            values.insert(placeholder.clone(), value);
        }
    }
}

/// Texts, numbers and flags as they are; lists of them line by line.
fn render(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(items) => {
            let lines: Option<Vec<String>> =
                items.iter().map(|item| if item.is_array() { None } else { render(item) }).collect();
            lines.map(|lines| lines.join("\n"))
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// The text with every `{{name}}` filled.
pub(super) fn fill(text: &str, values: &Values) -> Result<String, MissingValue> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = next_placeholder(rest) {
        let missing = |reason: &str| MissingValue { placeholder: name.to_owned(), reason: reason.to_owned() };
        let value = values.get(name).ok_or_else(|| missing("nothing captures it"))?;
        filled.push_str(before);
        filled.push_str(value.as_ref().map_err(|reason| missing(reason))?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The names of all placeholders of a text.
pub(super) fn placeholders(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, name, after)) = next_placeholder(rest) {
        names.push(name);
        rest = after;
    }
    names
}

fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name.trim(), after))
}
