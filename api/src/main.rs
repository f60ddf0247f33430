//! The `vitrine` binary: one program, its roles are subcommands.

use std::process::ExitCode;

fn main() -> ExitCode {
    api::commands::run()
}
