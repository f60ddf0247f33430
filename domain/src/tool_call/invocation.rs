//! An Invocation is what a tool call asks for, understood: its arguments are checked before anything starts.

use serde::Deserialize;

use super::arguments::parse_strict;
use super::catalogue::BuiltInTool;
use super::model::{ToolCallState, ToolResult};
use crate::agent::Claim;
use crate::sandbox::Program;

const MAX_READ_BYTES: u64 = 64 * 1024;
const MAX_NOTE_BYTES: usize = 16 * 1024;

/// What a tool call asks for, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Run a program in the sandbox.
    Run(Program),
    /// Write a file in the sandbox.
    WriteFile {
        /// Path below `/workspace`.
        path: String,
        /// The whole content.
        content: String,
    },
    /// Read a file in the sandbox.
    ReadFile {
        /// Path below `/workspace`.
        path: String,
        /// First byte.
        offset: u64,
        /// Bytes at most.
        limit: u64,
    },
    /// Keep a thought.
    Note,
}

impl Invocation {
    /// The program that it runs.
    pub(super) const fn program(&self) -> Option<&Program> {
        match self {
            Self::Run(program) => Some(program),
            Self::WriteFile { .. } | Self::ReadFile { .. } | Self::Note => None,
        }
    }

    /// Whether it needs the sandbox.
    pub const fn needs_sandbox(&self) -> bool {
        match self {
            Self::Run(_) | Self::WriteFile { .. } | Self::ReadFile { .. } => true,
            Self::Note => false,
        }
    }

    /// Whether it may change what lies in the workspace.
    pub(crate) const fn changes_workspace(&self) -> bool {
        match self {
            Self::Run(_) | Self::WriteFile { .. } => true,
            Self::ReadFile { .. } | Self::Note => false,
        }
    }

    /// The time limit of a program, as the pinned sandbox profile says.
    pub(crate) fn timeout_ms(&self, claim: &Claim) -> Option<u32> {
        match self {
            Self::Run(_) => Some(claim.pinned.get()?.sandbox.as_ref()?.profile.command_timeout_ms),
            Self::WriteFile { .. } | Self::ReadFile { .. } | Self::Note => None,
        }
    }
}

/// Reads what a call asks for, or says why it is refused.
pub(crate) fn understand(allowed: &[String], name: &str, arguments: &str) -> Result<Invocation, ToolResult> {
    let refused = |code, message: String| Err(ToolResult::ended(ToolCallState::Refused, code, message));
    let tool = BuiltInTool::by_name(name).filter(|_| allowed.iter().any(|tool| tool == name));
    let Some(tool) = tool else {
        return refused("UNKNOWN_TOOL", format!("there is no such tool; there are {}", allowed.join(", ")));
    };
    match parse_strict(arguments).and_then(|map| invocation(tool, serde_json::Value::Object(map))) {
        Ok(invocation) => Ok(invocation),
        Err(fault) => refused("INVALID_TOOL_ARGUMENTS", format!("the arguments are not valid: {fault}")),
    }
}

fn invocation(tool: BuiltInTool, arguments: serde_json::Value) -> Result<Invocation, String> {
    fn read<T: serde::de::DeserializeOwned>(arguments: serde_json::Value) -> Result<T, String> {
        serde_json::from_value(arguments).map_err(|error| error.to_string())
    }
    match tool {
        BuiltInTool::RunPython => read(arguments).map(|Code { code }| Invocation::Run(Program::Python(code))),
        BuiltInTool::RunJavaScript => read(arguments).map(|Code { code }| Invocation::Run(Program::JavaScript(code))),
        BuiltInTool::RunShell => read(arguments).map(|Command { command }| Invocation::Run(Program::Shell(command))),
        BuiltInTool::WriteFile => {
            let WriteFile { path, content } = read(arguments)?;
            Ok(Invocation::WriteFile { path: workspace_path(&path)?, content })
        }
        BuiltInTool::ReadFile => {
            let ReadFile { path, offset, limit } = read(arguments)?;
            Ok(Invocation::ReadFile { path: workspace_path(&path)?, offset, limit: limit.clamp(1, MAX_READ_BYTES) })
        }
        BuiltInTool::Note => match read(arguments)? {
            Note { text } if text.len() <= MAX_NOTE_BYTES => Ok(Invocation::Note),
            Note { .. } => Err(format!("text must be at most {MAX_NOTE_BYTES} bytes")),
        },
    }
}

/// A path below `/workspace`, without the ways out.
fn workspace_path(path: &str) -> Result<String, String> {
    let below = path.strip_prefix("/workspace/").unwrap_or(path);
    let is_clean = below.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.len() <= 255);
    if is_clean && !below.chars().any(char::is_control) && below.len() <= 4096 {
        return Ok(below.to_owned());
    }
    Err("INVALID_PATH: path must lie below /workspace and have no empty part, . or ..".to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
    #[serde(default)]
    offset: u64,
    #[serde(default = "most")]
    limit: u64,
}

const fn most() -> u64 {
    MAX_READ_BYTES
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    text: String,
}
