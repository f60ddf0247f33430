//! `vitrine demo`: starts one demo execution on a running server and shows its progress until it ends.

use std::process::ExitCode;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::follow::{Outcome, follow};
use super::graphql_client::Client;
use super::{DemoArgs, tools};
use crate::scripted_model::demo::{CARGO_LOCK, TASK};
use crate::wiring::WiringError;

pub(super) fn run(args: DemoArgs) -> ExitCode {
    let mut outcome = Outcome::default();
    let ran = tools::on_runtime(async {
        outcome = demo(args).await?;
        Ok(())
    });
    match (ran == ExitCode::SUCCESS, outcome.has_succeeded) {
        (true, true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

async fn demo(args: DemoArgs) -> Result<Outcome, WiringError> {
    let client = match &args.ready_file {
        Some(file) => Client::from_ready_file(file, &args.client.data_dir)?,
        None => Client::local(&args.client.data_dir)?,
    };
    let lock_file = match &args.lock_file {
        Some(path) => tools::read(path)?,
        None => CARGO_LOCK.to_owned(),
    };
    let agent = demo_agent(&client).await?;
    let execution = start(&client, &agent, &lock_file).await?;
    tools::print(&format!("Execution {execution}"));
    tools::print(&format!("Studio    {}", client.studio_link(&format!("/runs/{execution}")).await?));
    follow(&client, &execution).await
}

async fn demo_agent(client: &Client) -> Result<String, WiringError> {
    let project = client.default_project().await?;
    let query = "query DemoAgents($project: ID!) { agents(projectId: $project, first: 100) { nodes { id slug } } }";
    let found: Value = client.execute(query, json!({ "project": project })).await?;
    let agents = found.pointer("/agents/nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    let agent = agents.into_iter().find(|agent| agent["slug"] == client.demo_agent);
    let id = agent.and_then(|agent| agent["id"].as_str().map(str::to_owned));
    id.ok_or_else(|| format!("the server has no agent {}", client.demo_agent).into())
}

async fn start(client: &Client, agent: &str, lock_file: &[u8]) -> Result<String, WiringError> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    let input = json!({
        "agentId": agent,
        "task": TASK.trim(),
        "files": [{ "name": "Cargo.lock", "contentBase64": STANDARD.encode(lock_file) }],
        "idempotencyKey": data_encoding::HEXLOWER.encode(&random),
    });
    let mutation = "mutation Demo($input: ExecutionStartInput!) { executionStart(input: $input) { execution { id } \
                    userErrors { message path } } }";
    let started: Value = client.execute(mutation, json!({ "input": input })).await?;
    if let Some(fault) = started.pointer("/executionStart/userErrors/0") {
        return Err(format!("the demo was not started: {} {}", fault["path"], fault["message"]).into());
    }
    let id = started.pointer("/executionStart/execution/id").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| "the server gave no execution".into())
}
