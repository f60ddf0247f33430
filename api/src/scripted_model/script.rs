//! The file format of scripts: read, checked as a whole, and never half valid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::built_in;
use super::captures::{Capture, placeholders};
use super::demo;
use super::reply::Pace;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The text does not follow the format; the message says where.
    #[error("the script does not follow the format: {0}")]
    Malformed(String),
    /// The format is followed, but the script makes no sense.
    #[error("scenario `{scenario}`: {problem}")]
    Invalid {
        /// The scenario's name.
        scenario: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A checked script.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    scenarios: Vec<Scenario>,
}

/// One conversation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: String,
    /// The request's model.
    pub(super) model: String,
    /// Words that the task must hold.
    pub(super) task_contains: Option<String>,
    #[serde(default)]
    pub(super) pace: Pace,
    pub(super) turns: Vec<Turn>,
}

/// One reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// Words that the tool results before this turn must hold.
    #[serde(default)]
    pub(super) expect: Vec<String>,
    #[serde(default)]
    pub(super) captures: Vec<Capture>,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) tool_calls: Vec<ScriptedCall>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// Argument to file; read when the script is, after which this is the argument's text.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
}

impl Script {
    /// The demo's script, as it is built in.
    pub fn demo() -> Result<Self, ScriptError> {
        Self::parse_toml(demo::SCRIPT, |name| {
            demo::file(name).map(str::to_owned).ok_or_else(|| ScriptError::Unreadable {
                path: PathBuf::from(name),
                source: std::io::ErrorKind::NotFound.into(),
            })
        })
    }

    /// Reads a script file: JSON when its name ends in `.json`, else TOML. Files that it names lie beside it.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let read = |path: PathBuf| match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text),
            Err(source) => Err(ScriptError::Unreadable { path, source }),
        };
        let text = read(path.to_owned())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let read_beside = |name: &str| read(folder.join(name));
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            Self::parse_json(&text, read_beside)
        } else {
            Self::parse_toml(&text, read_beside)
        }
    }

    /// Reads a script from TOML; `read_file` finds the files that it names.
    pub fn parse_toml(
        text: &str,
        read_file: impl Fn(&str) -> Result<String, ScriptError>,
    ) -> Result<Self, ScriptError> {
        let file = toml::from_str(text).map_err(|error| ScriptError::Malformed(error.to_string()))?;
        Self::check(file, read_file)
    }

    /// Reads a script from JSON; `read_file` finds the files that it names.
    pub fn parse_json(
        text: &str,
        read_file: impl Fn(&str) -> Result<String, ScriptError>,
    ) -> Result<Self, ScriptError> {
        let file = serde_json::from_str(text).map_err(|error| ScriptError::Malformed(error.to_string()))?;
        Self::check(file, read_file)
    }

    fn check(file: ScriptFile, read_file: impl Fn(&str) -> Result<String, ScriptError>) -> Result<Self, ScriptError> {
        if file.scenarios.is_empty() {
            return Err(ScriptError::Malformed("there is no scenario".to_owned()));
        }
        let mut script = Self { scenarios: file.scenarios };
        let mut chosen_by = BTreeSet::new();
        for scenario in &mut script.scenarios {
            let name = scenario.name.clone();
            let invalid = |problem: String| ScriptError::Invalid { scenario: name.clone(), problem };
            scenario.check().map_err(invalid)?;
            if !chosen_by.insert((scenario.model.clone(), scenario.task_contains.clone())) {
                return Err(invalid("another scenario is chosen by the same model and words".to_owned()));
            }
            let calls = scenario.turns.iter_mut().flat_map(|turn| &mut turn.tool_calls);
            for content in calls.flat_map(|call| call.files.values_mut()) {
                *content = read_file(content)?;
            }
        }
        Ok(script)
    }
}

impl Scenario {
    fn check(&self) -> Result<(), String> {
        if built_in::NAMES.contains(&self.model.as_str()) {
            return Err(format!("model `{}` is built in", self.model));
        }
        if self.turns.is_empty() {
            return Err("there is no turn".to_owned());
        }
        let mut known = BTreeSet::new();
        for (number, turn) in self.turns.iter().enumerate() {
            let at = |problem: String| format!("turn {}: {problem}", number + 1);
            if turn.text.is_empty() && turn.tool_calls.is_empty() {
                return Err(at("it has neither text nor tool calls".to_owned()));
            }
            for capture in &turn.captures {
                capture.check().map_err(at)?;
                known.extend(capture.placeholders().map(String::as_str));
            }
            turn.check(&known).map_err(at)?;
        }
        Ok(())
    }
}

impl Capture {
    fn check(&self) -> Result<(), String> {
        if self.line.is_empty() {
            return Err("a capture needs the beginning of its line".to_owned());
        }
        if self.placeholders().next().is_none() {
            return Err(format!("the capture of `{}` has neither `rest` nor `values`", self.line));
        }
        match self.values.iter().find(|(_, pointer)| !pointer.is_empty() && !pointer.starts_with('/')) {
            Some((name, pointer)) => Err(format!("`{pointer}`, the pointer of `{name}`, does not begin with `/`")),
            None => Ok(()),
        }
    }
}

impl Turn {
    fn check(&self, known: &BTreeSet<&str>) -> Result<(), String> {
        let arguments = self.tool_calls.iter().flat_map(|call| call.arguments.values());
        let texts = arguments.map(Value::to_string).chain([self.text.clone()]);
        for text in texts {
            if let Some(name) = placeholders(&text).into_iter().find(|name| !known.contains(name)) {
                return Err(format!("nothing captures {{{{{name}}}}}"));
            }
        }
        for call in &self.tool_calls {
            if let Some(name) = call.files.keys().find(|name| call.arguments.contains_key(*name)) {
                return Err(format!("argument `{name}` of `{}` is given twice", call.tool));
            }
        }
        Ok(())
    }
}
