//! What a model is told about each built-in tool.

use serde_json::{Value, json};

use super::catalogue::BuiltInTool;
use super::files::MAX_READ_BYTES;
use crate::model_call::ToolDefinition;

/// Name, description, properties and required ones.
type Contract = (&'static str, &'static str, Value, &'static [&'static str]);

pub(super) fn contract_of(tool: BuiltInTool) -> ToolDefinition {
    let (name, description, properties, required) = match tool {
        BuiltInTool::RunPython | BuiltInTool::RunJavaScript | BuiltInTool::RunShell => program(tool),
        BuiltInTool::ReadFile | BuiltInTool::ListFiles | BuiltInTool::Glob | BuiltInTool::Grep => reader(tool),
        BuiltInTool::Browse => browser(),
        BuiltInTool::WriteFile | BuiltInTool::EditFile | BuiltInTool::Note => writer(tool),
    };
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
    }
}

fn program(tool: BuiltInTool) -> Contract {
    match tool {
        BuiltInTool::RunPython => (
            "run_python",
            "Runs Python 3 source in the sandbox, in /workspace. Input files are in inputs/; files written to outputs/ become artifacts. Returns what it printed and its exit code.",
            json!({"code": text("Python source")}),
            &["code"],
        ),
        BuiltInTool::RunJavaScript => (
            "run_javascript",
            "Runs JavaScript source with Node in the sandbox, in /workspace. Returns what it printed and its exit code.",
            json!({"code": text("JavaScript source")}),
            &["code"],
        ),
        _ => (
            "run_shell",
            "Runs a shell command line in the sandbox, in /workspace. Returns what it printed and its exit code.",
            json!({"command": text("Shell command line")}),
            &["command"],
        ),
    }
}

fn reader(tool: BuiltInTool) -> Contract {
    match tool {
        BuiltInTool::ReadFile => (
            "read_file",
            "Reads a text file in the sandbox, below /workspace: all of it, some lines, or some bytes; at most 64 KiB at a time.",
            json!({
                "path": text("Path below /workspace"),
                "start_line": number(1, None, "First line, from 1"),
                "end_line": number(1, None, "Last line, included"),
                "offset": number(0, None, "First byte, in place of lines; 0 when left out"),
                "limit": number(1, Some(MAX_READ_BYTES), "Bytes at most, in place of lines"),
            }),
            &["path"],
        ),
        BuiltInTool::ListFiles => (
            "list_files",
            "Lists a directory in the sandbox, below /workspace, with sizes; directories end in a slash.",
            json!({
                "path": text("Directory; /workspace when left out"),
                "depth": number(1, Some(32), "Levels; 2 when left out"),
            }),
            &[],
        ),
        BuiltInTool::Glob => (
            "glob",
            "Finds files in the sandbox, below /workspace, by a pattern: * and ? within a name, ** over directories, [abc], {a,b}. A pattern without a slash is for the name in any directory.",
            json!({
                "pattern": text("Pattern, such as src/**/*.{js,ts}"),
                "path": text("Directory that the pattern starts from; /workspace when left out"),
            }),
            &["pattern"],
        ),
        _ => (
            "grep",
            "Finds lines in files of the sandbox, below /workspace, by a regular expression (without look-around and back references). Binary files are skipped.",
            json!({
                "pattern": text("Regular expression for a line"),
                "path": text("File or directory; /workspace when left out"),
                "glob": text("Only files that match this pattern, such as *.py"),
                "ignore_case": flag("Take upper and lower case for the same"),
                "context": number(0, Some(10), "Lines to show before and after; 0 when left out"),
                "max_matches": number(1, Some(500), "Matches at most; 100 when left out"),
            }),
            &["pattern"],
        ),
    }
}

fn browser() -> Contract {
    (
        "browse",
        "Opens a page in a headless browser in the sandbox: a file below /workspace, or a web address where the sandbox's network reaches it. Returns the text of the page; a screenshot or PDF goes to outputs/ and becomes an artifact.",
        json!({
            "url": text("Web address, http or https; or path in its place"),
            "path": text("HTML file below /workspace; or url in its place"),
            "as": {"type": "string", "enum": ["text", "screenshot", "pdf"], "description": "What to take; text when left out"},
            "save_as": text("Name of the file in outputs/ for a screenshot (.png) or PDF (.pdf); page.png or page.pdf when left out"),
            "width": number(200, Some(4000), "Width of the window; 1280 when left out"),
            "height": number(200, Some(4000), "Height of the window; 800 when left out"),
        }),
        &[],
    )
}

fn writer(tool: BuiltInTool) -> Contract {
    match tool {
        BuiltInTool::WriteFile => (
            "write_file",
            "Writes a text file in the sandbox, below /workspace; parents are made, an existing file is replaced.",
            json!({"path": text("Path below /workspace"), "content": text("The whole content")}),
            &["path", "content"],
        ),
        BuiltInTool::EditFile => (
            "edit_file",
            "Replaces an exact text in a file of the sandbox, below /workspace. It must stand there once, or as often as count says, or all is true; else nothing is changed. Returns a short diff.",
            json!({
                "path": text("Path below /workspace"),
                "old_text": text("The exact text with its white space, long enough to be the only one"),
                "new_text": text("What shall stand in its place"),
                "count": number(1, None, "How often old_text stands there; 1 when left out"),
                "all": flag("Replace it however often it stands there"),
            }),
            &["path", "old_text", "new_text"],
        ),
        _ => (
            "note",
            "Keeps a thought in the record of this execution. Has no other effect.",
            json!({"text": text("The thought")}),
            &["text"],
        ),
    }
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn flag(about: &str) -> Value {
    json!({"type": "boolean", "description": about})
}

fn number(least: u64, most: Option<u64>, about: &str) -> Value {
    let mut schema = json!({"type": "integer", "minimum": least, "description": about});
    if let Some(most) = most {
        schema["maximum"] = most.into();
    }
    schema
}
