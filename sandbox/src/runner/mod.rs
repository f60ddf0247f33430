//! A runner turns a program in some language into files and one command line of the sandbox.
//!
//! Source goes into a file and not into the command line: so it may be of any length, a traceback shows its lines, and
//! nothing of it appears in a process list. The command is shell text over names that are ours, which every execd
//! understands. A runner knows nothing of endpoints or output.

use std::collections::BTreeMap;

use domain::sandbox::Program;

/// Where the files of programs go; outside of the workspace, so that they never become artifacts.
const PROGRAM_DIR: &str = "/tmp/vitrine";
/// Where programs run.
pub const WORKSPACE: &str = "/workspace";

/// A program, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Path and content of the file that is to be written first.
    pub file: Option<(String, String)>,
    /// Shell text.
    pub command: String,
    /// Environment beside the sandbox's own.
    pub env: BTreeMap<String, String>,
}

/// Prepares a program; `name` is a file name of its own for this run, made of letters, digits, `_` and `-`.
pub fn prepare(program: &Program, name: &str) -> Prepared {
    let dir = format!("{PROGRAM_DIR}/{name}");
    match program {
        Program::Python(source) => Prepared {
            command: format!("exec python3 -u {dir}/main.py"),
            file: Some((format!("{dir}/main.py"), source.clone())),
            env: [("PYTHONPATH", WORKSPACE), ("PYTHONIOENCODING", "utf-8"), ("PYTHONDONTWRITEBYTECODE", "1")]
                .map(owned)
                .into(),
        },
        Program::JavaScript(source) => {
            let extension = if is_module(source) { "mjs" } else { "cjs" };
            Prepared {
                command: format!("exec node {dir}/main.{extension}"),
                file: Some((format!("{dir}/main.{extension}"), source.clone())),
                env: [("NODE_PATH", "/workspace/node_modules")].map(owned).into(),
            }
        }
        Program::Shell(command) => Prepared { command: command.clone(), file: None, env: BTreeMap::new() },
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Whether the source uses the syntax of modules.
fn is_module(source: &str) -> bool {
    source.lines().map(str::trim_start).any(|line| line.starts_with("import ") || line.starts_with("export "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_goes_into_a_file_and_never_into_the_command() {
        let source = "print('$(rm -rf /)`id`')";
        let prepared = prepare(&Program::Python(source.to_owned()), "tcl_1");
        assert_eq!(prepared.command, "exec python3 -u /tmp/vitrine/tcl_1/main.py");
        assert_eq!(prepared.file, Some(("/tmp/vitrine/tcl_1/main.py".to_owned(), source.to_owned())));
    }

    #[test]
    fn javascript_modules_and_scripts_are_told_apart() {
        let command = |source: &str| prepare(&Program::JavaScript(source.to_owned()), "x").command;
        assert!(command("import fs from 'node:fs'\n").ends_with("main.mjs"));
        assert!(command("const fs = require('fs')").ends_with("main.cjs"));
    }
}
