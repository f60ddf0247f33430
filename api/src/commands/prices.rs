//! `vitrine prices`: checks a price file on this machine, or imports it into a project of a running server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use domain::price_table::{PriceLine, read_price_file};
use serde_json::{Value, json};

use super::graphql_client::Client;
use super::{ClientArgs, tools};
use crate::wiring::WiringError;

#[derive(Subcommand)]
pub(super) enum PricesCommand {
    /// Read a price file and say what is wrong with it; no server is needed.
    Check(CheckArgs),
    /// Import a price file into a project's price table, all of it or nothing.
    Import(ImportArgs),
}

#[derive(Args)]
pub(super) struct CheckArgs {
    /// The price file; docs/prices.md describes it.
    file: PathBuf,
}

#[derive(Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    client: ClientArgs,
    /// The price file; docs/prices.md describes it.
    file: PathBuf,
    /// The project's id; your first project when left out.
    #[arg(long)]
    project: Option<String>,
    /// The ready file of the server; its API key is used when it holds one.
    #[arg(long)]
    ready_file: Option<PathBuf>,
}

pub(super) fn run(command: PricesCommand) -> ExitCode {
    match command {
        PricesCommand::Check(args) => match check(&args.file) {
            Ok(lines) => {
                tools::print(&format!("{}: {} prices, none of them at fault", args.file.display(), lines.len()))
            }
            Err(error) => tools::fail(&*error),
        },
        PricesCommand::Import(args) => tools::on_runtime(import(args)),
    }
}

fn check(file: &Path) -> Result<Vec<PriceLine>, WiringError> {
    read_price_file(&text_of(file)?, &[]).map_err(|faults| {
        let lines = faults.iter().map(|fault| line(&fault.path.join("."), &fault.message, fault.code));
        said_of(file, lines)
    })
}

async fn import(args: ImportArgs) -> Result<(), WiringError> {
    let table = text_of(&args.file)?;
    let client = match &args.ready_file {
        Some(file) => Client::from_ready_file(file, &args.client.data_dir)?,
        None => Client::local(&args.client.data_dir)?,
    };
    let project = match args.project {
        Some(project) => project,
        None => client.default_project().await?,
    };
    let mutation = "mutation Prices($input: PriceTableImportInput!) { priceTableImport(input: $input) { added \
                    prices { version { id } } userErrors { message path code } } }";
    let input = json!({ "projectId": project, "table": table });
    let answer: Value = client.execute(mutation, json!({ "input": input })).await?;
    let payload = &answer["priceTableImport"];
    let faults = payload["userErrors"].as_array().cloned().unwrap_or_default();
    if !faults.is_empty() {
        return Err(said_of(&args.file, faults.iter().map(fault_line)));
    }
    let (all, added) = (payload["prices"].as_array().map_or(0, Vec::len), payload["added"].as_u64().unwrap_or(0));
    tools::print(&format!(
        "Imported {added} prices; {} were in the table already.",
        all as u64 - added.min(all as u64)
    ));
    Ok(())
}

/// A fault as the server says it. `input.table` is the file.
fn fault_line(fault: &Value) -> String {
    let path: Vec<&str> = fault["path"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let path = match path.as_slice() {
        ["input", "table", inside @ ..] => inside.join("."),
        other => other.join("."),
    };
    let text = |key: &str| fault[key].as_str().unwrap_or_default();
    line(&path, text("message"), text("code"))
}

fn line(path: &str, message: &str, code: &str) -> String {
    if path.is_empty() { format!("the file {message} ({code})") } else { format!("{path}: {message} ({code})") }
}

fn said_of(file: &Path, lines: impl Iterator<Item = String>) -> WiringError {
    let lines: Vec<_> = lines.map(|line| format!("\n  {line}")).collect();
    format!("{}: nothing was imported{}", file.display(), lines.concat()).into()
}

fn text_of(file: &Path) -> Result<String, WiringError> {
    String::from_utf8(tools::read(file)?).map_err(|_| format!("{}: is no UTF-8 text", file.display()).into())
}
