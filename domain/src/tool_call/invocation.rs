//! An Invocation is what a tool call asks for, understood: its arguments are checked before anything starts.

use super::arguments::{Arguments, Fault, parse_strict};
use super::browse;
use super::catalogue::BuiltInTool;
use super::fields::Fields;
use super::files::{EditFile, FileTool, FindFiles, Grep, ListFiles, ReadFile};
use super::model::{ToolCallState, ToolResult};
use super::path::file_path;
use crate::agent::Claim;
use crate::sandbox::{Page, Program};

const MAX_NOTE_BYTES: usize = 16 * 1024;

/// What a tool call asks for, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Run a program in the sandbox.
    Run(Program),
    /// Look at files in the sandbox, or change them.
    Files(FileTool),
    /// Open a page in the browser of the sandbox.
    Browse(Page),
    /// Keep a thought.
    Note,
}

impl Invocation {
    /// The program that it runs.
    pub(super) const fn program(&self) -> Option<&Program> {
        match self {
            Self::Run(program) => Some(program),
            Self::Files(_) | Self::Browse(_) | Self::Note => None,
        }
    }

    /// Whether it needs the sandbox.
    pub const fn needs_sandbox(&self) -> bool {
        match self {
            Self::Run(_) | Self::Files(_) | Self::Browse(_) => true,
            Self::Note => false,
        }
    }

    /// Whether it may change what lies in the workspace.
    pub(crate) const fn changes_workspace(&self) -> bool {
        match self {
            Self::Run(_) | Self::Browse(_) => true,
            Self::Files(tool) => tool.changes_workspace(),
            Self::Note => false,
        }
    }

    /// The time limit of a program, as the pinned sandbox profile says.
    pub(crate) fn timeout_ms(&self, claim: &Claim) -> Option<u32> {
        match self {
            Self::Run(_) | Self::Browse(_) => Some(claim.pinned.get()?.sandbox.as_ref()?.profile.command_timeout_ms),
            Self::Files(_) | Self::Note => None,
        }
    }
}

/// Reads what a call asks for, or says why it is refused.
pub(crate) fn understand(allowed: &[String], name: &str, arguments: &str) -> Result<Invocation, ToolResult> {
    let refused = |code, message: String| ToolResult::ended(ToolCallState::Refused, code, message);
    let tool = BuiltInTool::by_name(name).filter(|_| allowed.iter().any(|tool| tool == name));
    let Some(tool) = tool else {
        return Err(refused("UNKNOWN_TOOL", format!("there is no such tool; there are {}", allowed.join(", "))));
    };
    let parsed = parse_strict(arguments).map_err(Fault::invalid).and_then(|arguments| invocation(tool, arguments));
    parsed.map_err(|Fault { code, message }| refused(code, format!("the arguments are not valid: {message}")))
}

fn invocation(tool: BuiltInTool, arguments: Arguments) -> Result<Invocation, Fault> {
    let mut fields = Fields::new(arguments);
    let invocation = match tool {
        BuiltInTool::RunPython => Invocation::Run(Program::Python(fields.text("code")?)),
        BuiltInTool::RunJavaScript => Invocation::Run(Program::JavaScript(fields.text("code")?)),
        BuiltInTool::RunShell => Invocation::Run(Program::Shell(command(&mut fields)?)),
        BuiltInTool::ReadFile => Invocation::Files(FileTool::Read(ReadFile::parse(&mut fields)?)),
        BuiltInTool::WriteFile => {
            let path = file_path("path", &fields.text("path")?)?;
            Invocation::Files(FileTool::Write { path, content: fields.text("content")? })
        }
        BuiltInTool::EditFile => Invocation::Files(FileTool::Edit(EditFile::parse(&mut fields)?)),
        BuiltInTool::ListFiles => Invocation::Files(FileTool::List(ListFiles::parse(&mut fields)?)),
        BuiltInTool::Glob => Invocation::Files(FileTool::Find(FindFiles::parse(&mut fields)?)),
        BuiltInTool::Grep => Invocation::Files(FileTool::Grep(Grep::parse(&mut fields)?)),
        BuiltInTool::Browse => Invocation::Browse(browse::parse(&mut fields)?),
        BuiltInTool::Note => {
            if fields.text("text")?.len() > MAX_NOTE_BYTES {
                return Err(Fault::invalid(format!("text: must be at most {MAX_NOTE_BYTES} bytes. Shorten it.")));
            }
            Invocation::Note
        }
    };
    fields.end()?;
    Ok(invocation)
}

fn command(fields: &mut Fields) -> Result<String, Fault> {
    let command = fields.text("command")?;
    if command.trim().is_empty() || command.contains('\0') {
        return Err(Fault::invalid("command: must not be empty and must hold no NUL. Give a shell command line."));
    }
    Ok(command)
}
