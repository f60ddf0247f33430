//! Command line: parses the arguments and hands over to one file per subcommand.

mod demo;
mod doctor;
mod follow;
mod graphql_client;
mod loop_guard;
mod prices;
mod serve;
mod tools;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{Config, ConfigError, Overrides, environment};

#[derive(Parser)]
#[command(name = "vitrine", version, about = "Runs AI agents behind glass")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server: GraphQL API, Studio, worker and local sandbox runtime.
    Serve(ServeArgs),
    /// Start one demo execution on a running server and follow it to its end.
    Demo(DemoArgs),
    /// Print a link that signs a browser in to Studio once.
    StudioLink(ClientArgs),
    /// Run the local sandbox runtime alone.
    SandboxRuntime(SandboxRuntimeArgs),
    /// Run the scripted model alone: an OpenAI-compatible server that plays a written conversation.
    ScriptedModel(ScriptedModelArgs),
    /// Bring the database's schema up to date.
    Migrate(ConfigArgs),
    /// Print the GraphQL schema (SDL).
    Schema,
    /// Check or import a price file: what models cost.
    #[command(subcommand)]
    Prices(prices::PricesCommand),
    /// Check what Vitrine needs on this machine, and say how to mend what is missing.
    Doctor(ConfigArgs),
    /// Judge a transcript as the loop guard would: exit status 0 without a loop, 3 with one.
    LoopGuard(LoopGuardArgs),
}

#[derive(Args)]
struct ConfigArgs {
    /// Configuration file; vitrine.toml in the current directory when there is one.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Where the embedded data lie; ./.vitrine when nothing says otherwise.
    #[arg(long)]
    data_dir: Option<PathBuf>,
}

#[derive(Args)]
struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Address and port; 127.0.0.1:8080 when nothing says otherwise.
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// Written when the server is ready: JSON with url, graphql, apiKey (on the first start) and studio.
    #[arg(long)]
    ready_file: Option<PathBuf>,
}

#[derive(Args)]
struct ClientArgs {
    /// The data directory of a server on this machine.
    #[arg(long, default_value = ".vitrine")]
    data_dir: PathBuf,
}

#[derive(Args)]
struct DemoArgs {
    #[command(flatten)]
    client: ClientArgs,
    /// The ready file of the server; its API key is used when it holds one.
    #[arg(long)]
    ready_file: Option<PathBuf>,
    /// The lock file to audit; this program's own when left out.
    #[arg(long)]
    lock_file: Option<PathBuf>,
}

#[derive(Args)]
struct SandboxRuntimeArgs {
    /// Loopback address and port.
    #[arg(long)]
    listen: SocketAddr,
    /// File that holds the API key.
    #[arg(long)]
    api_key_file: PathBuf,
    /// Where sandboxes keep what they need.
    #[arg(long, default_value = ".vitrine-sandboxes")]
    state_dir: PathBuf,
    /// Process id of the parent: stop in order when it ends.
    #[arg(long)]
    die_with_parent: Option<u32>,
    /// Do not use cgroups, as if there were none.
    #[arg(long)]
    no_cgroups: bool,
}

#[derive(Args)]
struct ScriptedModelArgs {
    /// Loopback address and port.
    #[arg(long)]
    listen: SocketAddr,
    /// The script; the demo's when left out.
    #[arg(long)]
    script: Option<PathBuf>,
}

#[derive(Args)]
struct LoopGuardArgs {
    /// The transcript: JSON, as docs/loop-guard.md describes it; - for the standard input.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand that was asked for; its exit code is the program's.
pub fn run() -> ExitCode {
    // The first process inside a sandbox, started by the runtime. It forks, so nothing may run before it.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == sandbox::local::INIT_SUBCOMMAND) {
        return sandbox::local::init_main();
    }
    match Cli::parse().command {
        Command::Schema => tools::print(&crate::graphql::sdl()),
        Command::Serve(args) => serve::run(args),
        Command::Demo(args) => demo::run(args),
        Command::StudioLink(args) => tools::studio_link(&args),
        Command::SandboxRuntime(args) => tools::sandbox_runtime(args),
        Command::ScriptedModel(args) => tools::scripted_model(args),
        Command::Migrate(args) => tools::migrate(args),
        Command::Prices(command) => prices::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::LoopGuard(args) => loop_guard::run(&args),
    }
}

fn load(args: ConfigArgs, listen: Option<SocketAddr>) -> Result<Config, ConfigError> {
    Config::load(Overrides { file: args.config, data_dir: args.data_dir, listen }, &environment())
}
