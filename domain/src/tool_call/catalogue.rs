//! The tools that come with Vitrine: their names, and what repeating them would do.

use super::contract::contract_of;
use super::model::SideEffect;
use crate::model_call::ToolDefinition;

/// Names of all built-in tools.
pub const KNOWN_TOOLS: &[&str] = &[
    "run_python",
    "run_javascript",
    "run_shell",
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "glob",
    "grep",
    "browse",
    "note",
];

/// A tool that comes with Vitrine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInTool {
    /// Runs Python source in the sandbox.
    RunPython,
    /// Runs JavaScript source in the sandbox.
    RunJavaScript,
    /// Runs a shell command line in the sandbox.
    RunShell,
    /// Reads a part of a file in the sandbox.
    ReadFile,
    /// Writes a file in the sandbox.
    WriteFile,
    /// Replaces an exact text in a file in the sandbox.
    EditFile,
    /// Lists a directory in the sandbox.
    ListFiles,
    /// Finds files in the sandbox by their paths.
    Glob,
    /// Finds lines in files of the sandbox.
    Grep,
    /// Opens a page in the browser of the sandbox.
    Browse,
    /// Keeps a thought; has no effect but its record.
    Note,
}

/// Whether the tool of this name works in a sandbox.
pub fn needs_sandbox(name: &str) -> bool {
    BuiltInTool::by_name(name).is_some_and(|tool| tool != BuiltInTool::Note)
}

impl BuiltInTool {
    /// Version of all built-in contracts; part of what a tool call records.
    pub const VERSION: &'static str = "2";

    /// The tool of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "run_python" => Some(Self::RunPython),
            "run_javascript" => Some(Self::RunJavaScript),
            "run_shell" => Some(Self::RunShell),
            "read_file" => Some(Self::ReadFile),
            "write_file" => Some(Self::WriteFile),
            "edit_file" => Some(Self::EditFile),
            "list_files" => Some(Self::ListFiles),
            "glob" => Some(Self::Glob),
            "grep" => Some(Self::Grep),
            "browse" => Some(Self::Browse),
            "note" => Some(Self::Note),
            _ => None,
        }
    }

    /// What repeating it would do.
    pub const fn side_effect(self) -> SideEffect {
        match self {
            Self::Note | Self::ReadFile | Self::ListFiles | Self::Glob | Self::Grep => SideEffect::ReadOnly,
            // It replaces the whole file, so that a second time changes nothing.
            Self::WriteFile => SideEffect::Idempotent,
            // An edit finds its own result the second time, and may do to that what it did before.
            Self::EditFile | Self::RunPython | Self::RunJavaScript | Self::RunShell | Self::Browse => {
                SideEffect::SandboxOnly
            }
        }
    }

    /// What the model is told about it.
    pub fn definition(self) -> ToolDefinition {
        contract_of(self)
    }
}
