//! The tools that come with Vitrine: their names, their contracts, and what repeating them would do.

use serde_json::{Value, json};

use super::model::SideEffect;
use crate::model_call::ToolDefinition;

/// Names of all built-in tools.
pub const KNOWN_TOOLS: &[&str] = &["run_python", "run_javascript", "run_shell", "write_file", "read_file", "note"];

/// A tool that comes with Vitrine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInTool {
    /// Runs Python source in the sandbox.
    RunPython,
    /// Runs JavaScript source in the sandbox.
    RunJavaScript,
    /// Runs a shell command line in the sandbox.
    RunShell,
    /// Writes a file in the sandbox.
    WriteFile,
    /// Reads a file in the sandbox.
    ReadFile,
    /// Keeps a thought; has no effect but its record.
    Note,
}

/// Whether the tool of this name works in a sandbox.
pub fn needs_sandbox(name: &str) -> bool {
    BuiltInTool::by_name(name).is_some_and(|tool| tool != BuiltInTool::Note)
}

impl BuiltInTool {
    /// Version of all built-in contracts; part of what a tool call records.
    pub const VERSION: &'static str = "1";

    /// The tool of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "run_python" => Some(Self::RunPython),
            "run_javascript" => Some(Self::RunJavaScript),
            "run_shell" => Some(Self::RunShell),
            "write_file" => Some(Self::WriteFile),
            "read_file" => Some(Self::ReadFile),
            "note" => Some(Self::Note),
            _ => None,
        }
    }

    /// What repeating it would do.
    pub const fn side_effect(self) -> SideEffect {
        match self {
            Self::Note | Self::ReadFile => SideEffect::ReadOnly,
            // It replaces the whole file, so that a second time changes nothing.
            Self::WriteFile => SideEffect::Idempotent,
            Self::RunPython | Self::RunJavaScript | Self::RunShell => SideEffect::SandboxOnly,
        }
    }

    /// What the model is told about it.
    pub fn definition(self) -> ToolDefinition {
        let (name, description, properties, required) = self.contract();
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            }),
        }
    }

    fn contract(self) -> (&'static str, &'static str, Value, &'static [&'static str]) {
        let text = |about: &str| json!({"type": "string", "description": about});
        match self {
            Self::RunPython => (
                "run_python",
                "Runs Python 3 source in the sandbox, in /workspace. Input files are in inputs/; files written to outputs/ become artifacts. Returns what it printed and its exit code.",
                json!({"code": text("Python source")}),
                &["code"],
            ),
            Self::RunJavaScript => (
                "run_javascript",
                "Runs JavaScript source with Node in the sandbox, in /workspace. Returns what it printed and its exit code.",
                json!({"code": text("JavaScript source")}),
                &["code"],
            ),
            Self::RunShell => (
                "run_shell",
                "Runs a shell command line in the sandbox, in /workspace. Returns what it printed and its exit code.",
                json!({"command": text("Shell command line")}),
                &["command"],
            ),
            Self::WriteFile => (
                "write_file",
                "Writes a text file in the sandbox, below /workspace; parents are made, an existing file is replaced.",
                json!({"path": text("Path below /workspace"), "content": text("The whole content")}),
                &["path", "content"],
            ),
            Self::ReadFile => (
                "read_file",
                "Reads a text file in the sandbox, below /workspace, at most 64 KiB at a time.",
                json!({
                    "path": text("Path below /workspace"),
                    "offset": {"type": "integer", "minimum": 0, "description": "First byte; 0 when left out"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 65536, "description": "Bytes at most"},
                }),
                &["path"],
            ),
            Self::Note => (
                "note",
                "Keeps a thought in the record of this execution. Has no other effect.",
                json!({"text": text("The thought")}),
                &["text"],
            ),
        }
    }
}
