//! Command line: parses the arguments and hands over to one file per subcommand.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "vitrine", version, about = "Runs AI agents behind glass")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the GraphQL schema (SDL).
    Schema,
}

/// Runs the subcommand that was asked for; its exit code is the program's.
pub fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Schema => ExitCode::SUCCESS,
    }
}
