//! The demo, as data: an agent that audits the dependencies in a `Cargo.lock`, and the script that plays its model.

use domain::tool_call::BuiltInTool;

/// Name of the agent.
pub const AGENT: &str = "dependency-auditor";

/// The model name under which the script plays.
pub const MODEL: &str = "scripted-auditor";

/// The agent's instructions; they are meant for a real model just as well.
pub const INSTRUCTIONS: &str = include_str!("../../../demo/instructions.md");

/// The task of the demo execution.
pub const TASK: &str = include_str!("../../../demo/task.md");

/// Where the agent expects the lock file, below the workspace.
pub const INPUT_PATH: &str = "inputs/Cargo.lock";

/// The repository's own lock file, the demo's input.
pub const CARGO_LOCK: &[u8] = include_bytes!("../../../Cargo.lock");

/// The tools that the agent needs.
pub const TOOLS: &[BuiltInTool] = &[BuiltInTool::RunPython, BuiltInTool::RunShell, BuiltInTool::ReadFile];

/// The script, in TOML.
pub const SCRIPT: &str = include_str!("../../../demo/script.toml");

/// The files that the script names.
pub(super) fn file(name: &str) -> Option<&'static str> {
    match name {
        "first_try.py" => Some(include_str!("../../../demo/first_try.py")),
        "audit.py" => Some(include_str!("../../../demo/audit.py")),
        _ => None,
    }
}
