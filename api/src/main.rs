//! The `vitrine` binary: one program, its roles are subcommands.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run()
}
