//! The driver of the differential test: it performs a list of operations with this crate's OpenSandbox client.
//!
//! Standard input has one JSON document: `url`, `api_key`, `image`, `client` and `operations`. Standard output gets
//! one line of JSON per operation, with `result`, `error` or `unsupported`, in the words that the drivers of the
//! official clients use, too. `e2e/differential/README.md` has the vocabulary.
//!
//! Rule: a driver reports what its client gave and judges nothing.

mod answer;
mod commands;
mod files;
mod lifecycle;
mod operation;
mod policies;
mod session;

use std::io::{Read, Write};
use std::process::ExitCode;

use serde_json::Value;

use answer::{Answer, Failure};
use operation::{Operation, Plan};
use session::Session;

fn main() -> ExitCode {
    match drive() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn drive() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let plan: Plan = serde_json::from_str(&text)?;
    // Whoever has installed a provider already has installed the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    tokio.block_on(async {
        let mut session = Session::new(&plan)?;
        for operation in &plan.operations {
            let answer = match perform(&mut session, operation).await {
                Ok(value) => Answer::Result(value),
                Err(Failure::Client(error)) => Answer::from(&error),
                Err(Failure::Unsupported(what)) => Answer::Unsupported(what),
                Err(Failure::Unlabelled) => Answer::unlabelled(),
                Err(Failure::Plan(what)) => return Err(format!("{}: {what}", operation.name()).into()),
            };
            writeln!(std::io::stdout(), "{}", answer.to_json(operation.name()))?;
        }
        session.kill_all().await;
        Ok(())
    })
}

async fn perform(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    match operation.call() {
        "create" => lifecycle::create(session, operation).await,
        "get" => lifecycle::get(session, operation).await,
        "list" => lifecycle::list(session, operation).await,
        "kill" => lifecycle::kill(session, operation).await,
        "renew" => lifecycle::renew(session, operation).await,
        "endpoint" => lifecycle::endpoint(session, operation).await,
        "pause" => lifecycle::pause(session, operation).await,
        "resume" => lifecycle::resume(session, operation).await,
        "metrics" => policies::metrics(session, operation).await,
        "watch_metrics" => policies::watch_metrics(session, operation).await,
        "get_policy" => policies::get_policy(session, operation).await,
        "patch_policy" => policies::patch_policy(session, operation).await,
        "delete_rules" => policies::delete_rules(session, operation).await,
        "run" => commands::run(session, operation).await,
        "start" => commands::start(session, operation).await,
        "status" => commands::status(session, operation).await,
        "logs" => commands::logs(session, operation).await,
        "follow" => commands::follow(session, operation).await,
        "interrupt" => commands::interrupt(session, operation).await,
        "upload" => files::upload(session, operation).await,
        "download" => files::download(session, operation).await,
        "info" => files::info(session, operation).await,
        "list_directory" => files::list_directory(session, operation).await,
        "search" => files::search(session, operation).await,
        "make_directory" => files::make_directory(session, operation).await,
        "delete_files" => files::delete_files(session, operation).await,
        "delete_directory" => files::delete_directory(session, operation).await,
        "move" => files::move_files(session, operation).await,
        "replace" => files::replace(session, operation).await,
        other => Err(Failure::Unsupported(other.to_owned())),
    }
}
