//! The small subcommands, and what all of them share: printing, failing, logging, a runtime.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use sandbox::local::{Cgroups, RuntimeOptions};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use super::graphql_client::Client;
use super::{ClientArgs, ConfigArgs, SandboxRuntimeArgs, ScriptedModelArgs, load};
use crate::config::environment;
use crate::scripted_model::{Script, ScriptedModel, ScriptedModelOptions};
use crate::wiring::{WiringError, open_store};

/// Prints a text and a line end.
pub(super) fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Says what went wrong, with its causes.
pub(super) fn fail(error: &dyn Error) -> ExitCode {
    let mut text = format!("vitrine: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("\n  because: {error}"));
        cause = error.source();
    }
    // There is nothing to be done about a closed standard error.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    ExitCode::FAILURE
}

/// Structured logs on the standard error, filtered by `VITRINE_LOG`.
pub(super) fn start_logging() {
    let environment = environment();
    let filter = environment.get("VITRINE_LOG").map_or("warn,api=info", String::as_str);
    // Where it was not checked with the configuration, a wrong one must not silence the program.
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// Runs a future on a fresh runtime; its error is the program's.
pub(super) fn on_runtime(work: impl Future<Output = Result<(), WiringError>>) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error),
    }
}

pub(super) fn studio_link(args: &ClientArgs) -> ExitCode {
    on_runtime(async {
        let link = Client::local(&args.data_dir)?.studio_link("/").await?;
        print(&link);
        Ok(())
    })
}

pub(super) fn sandbox_runtime(args: SandboxRuntimeArgs) -> ExitCode {
    start_logging();
    on_runtime(async move {
        let api_key = std::fs::read_to_string(&args.api_key_file)
            .map_err(|error| format!("--api-key-file {}: {error}", args.api_key_file.display()))?;
        let options = RuntimeOptions {
            listen: args.listen,
            api_key: api_key.trim().into(),
            state_dir: args.state_dir,
            cgroups: if args.no_cgroups { Cgroups::Off } else { Cgroups::Auto },
            die_with_parent: args.die_with_parent,
        };
        let runtime = sandbox::local::bind(options).await?;
        print(&runtime.url().to_string());
        Ok(runtime.serve(stop_on_signal()).await?)
    })
}

pub(super) fn scripted_model(args: ScriptedModelArgs) -> ExitCode {
    start_logging();
    on_runtime(async move {
        if !args.listen.ip().is_loopback() {
            return Err("the scripted model serves only this machine; give --listen a loopback address".into());
        }
        let script = match args.script {
            None => Script::demo()?,
            Some(path) => Script::load(&path)?,
        };
        let model = ScriptedModel::bind(ScriptedModelOptions { listen: args.listen, script }).await?;
        print(&model.url());
        Ok(model.serve(stop_on_signal()).await?)
    })
}

pub(super) fn migrate(args: ConfigArgs) -> ExitCode {
    let config = match load(args, None) {
        Ok(config) => config,
        Err(error) => return fail(&error),
    };
    on_runtime(async move {
        let data_dir = infra::data_dir::lock(&config.data_dir)?;
        open_store(&config, &data_dir).await?.close().await;
        print("The schema is up to date.");
        Ok(())
    })
}

/// A token that is cancelled at SIGTERM or SIGINT.
fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let signalled = stop.clone();
    let tasks = tokio_util::task::TaskTracker::new();
    tasks.spawn(async move {
        let term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        if let Ok(mut term) = term {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            signalled.cancel();
        }
    });
    stop
}

/// Reads a file, or says which one could not be read.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, WiringError> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
