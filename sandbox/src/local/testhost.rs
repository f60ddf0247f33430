//! The host program of the local runtime's integration tests: the runtime alone, and its init.

use std::io::Write;
use std::process::ExitCode;

use sandbox::local::{Cgroups, INIT_SUBCOMMAND, RuntimeOptions, bind, init_main};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some(INIT_SUBCOMMAND) => init_main(),
        Some("runtime") => match run(&arguments) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => complain(&error.to_string()),
        },
        _ => {
            complain("usage: runtime --listen A --api-key-file F --state-dir D [--no-cgroups] [--die-with-parent PID]")
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let value = |name: &str| arguments.iter().skip_while(|word| *word != name).nth(1);
    let required = |name: &str| value(name).ok_or(format!("{name} is missing"));
    let options = RuntimeOptions {
        listen: required("--listen")?.parse()?,
        api_key: std::fs::read_to_string(required("--api-key-file")?)?.trim().to_owned().into(),
        state_dir: required("--state-dir")?.into(),
        cgroups: if arguments.iter().any(|word| word == "--no-cgroups") { Cgroups::Off } else { Cgroups::Auto },
        die_with_parent: value("--die-with-parent").map(|pid| pid.parse()).transpose()?,
    };
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tokio.block_on(async {
        let runtime = bind(options).await?;
        writeln!(std::io::stdout(), "{}", runtime.url())?;
        let shutdown = CancellationToken::new();
        let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let stop = shutdown.clone();
        let serving = runtime.serve(shutdown);
        tokio::pin!(serving);
        tokio::select! {
            outcome = &mut serving => return Ok(outcome?),
            _ = terminate.recv() => stop.cancel(),
        }
        Ok(serving.await?)
    })
}

fn complain(problem: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{problem}");
    ExitCode::FAILURE
}
