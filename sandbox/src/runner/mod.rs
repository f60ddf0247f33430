//! A runner turns a program in some language into files and one command of the sandbox.
//!
//! Source goes into a file and not into the command line: so it may be of any length, a traceback shows its lines, and
//! nothing of it appears in a process list. What a program finds in its environment is constructed. A runner knows
//! nothing of endpoints or output.

mod browser;
mod environment;
mod image;
mod launch;

pub use environment::Environment;
pub use image::{ImageFacts, survey};
pub use launch::{CAPTURED_BYTES, Capture};

use domain::sandbox::Program;

/// Where the files of programs go; outside of the workspace, so that they never become artifacts.
const PROGRAM_DIR: &str = "/tmp/vitrine";
/// Where programs run.
pub const WORKSPACE: &str = "/workspace";

/// A program, ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The directory of this run: its source, and its output as it was.
    pub dir: String,
    /// Path and content of the file that is to be written first.
    pub file: Option<(String, String)>,
    /// The program that the image must have.
    pub requires: &'static str,
    /// The program that is started, and its arguments.
    pub argv: Vec<String>,
    /// Variables that the language needs.
    pub variables: &'static [(&'static str, &'static str)],
}

impl Prepared {
    /// The words that run it with this environment.
    pub fn words(&self, mut environment: Environment, capture: Capture) -> Vec<String> {
        self.variables.iter().for_each(|(name, value)| environment.declare(name, value));
        let dir = (capture == Capture::InSandbox).then_some(self.dir.as_str());
        launch::words(&environment, dir, &self.argv)
    }

    /// Whether something is in its directory when it has run.
    pub fn leaves_files(&self, capture: Capture) -> bool {
        capture == Capture::InSandbox || self.file.is_some() || self.requires == browser::CHROMIUM
    }
}

/// The directory of the run of this name.
pub fn run_dir(name: &str) -> String {
    format!("{PROGRAM_DIR}/{name}")
}

/// Prepares a program; `name` is a file name of its own for this run, made of letters, digits, `_` and `-`.
pub fn prepare(program: &Program, name: &str) -> Prepared {
    let dir = run_dir(name);
    let argv = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    match program {
        Program::Python(source) => {
            let path = format!("{dir}/main.py");
            Prepared {
                requires: "python3",
                argv: argv(&["python3", "-u", &path]),
                file: Some((path, source.clone())),
                variables: &[
                    ("PYTHONPATH", WORKSPACE),
                    ("PYTHONIOENCODING", "utf-8"),
                    ("PYTHONDONTWRITEBYTECODE", "1"),
                ],
                dir,
            }
        }
        Program::JavaScript(source) => {
            let path = format!("{dir}/main.{}", if is_module(source) { "mjs" } else { "cjs" });
            Prepared {
                requires: "node",
                argv: argv(&["node", &path]),
                file: Some((path, source.clone())),
                variables: &[("NODE_PATH", "/workspace/node_modules")],
                dir,
            }
        }
        Program::Browse(page) => Prepared {
            requires: browser::CHROMIUM,
            argv: browser::arguments(page, &dir),
            file: None,
            variables: &[],
            dir,
        },
        Program::Shell(command) => {
            Prepared { requires: "bash", argv: argv(&["bash", "-c", command]), file: None, variables: &[], dir }
        }
    }
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
        assert_eq!(prepared.argv, ["python3", "-u", "/tmp/vitrine/tcl_1/main.py"]);
        assert_eq!(prepared.file, Some(("/tmp/vitrine/tcl_1/main.py".to_owned(), source.to_owned())));
        let words = prepared.words(Environment::default(), Capture::InSandbox);
        assert!(!words.iter().any(|word| word.contains("rm -rf")));
    }

    #[test]
    fn javascript_modules_and_scripts_are_told_apart() {
        let command = |source: &str| prepare(&Program::JavaScript(source.to_owned()), "x").argv[1].clone();
        assert!(command("import fs from 'node:fs'\n").ends_with("main.mjs"));
        assert!(command("const fs = require('fs')").ends_with("main.cjs"));
    }
}
