//! The local tier: what `vitrine doctor` says of it, that production closes it to whom nobody has named, and what one
//! sees of its sandboxes while they run.

use std::process::{Command, Output};
use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::client::{Client, text};
use e2e::follow::Follower;
use e2e::process::{Server, ServerOptions, binary, eventually};
use serde_json::{Value, json};

fn doctor(variables: &[(&str, &str)]) -> Result<Output> {
    let data = tempfile::tempdir()?;
    let mut command = Command::new(binary()?);
    command.args(["doctor", "--data-dir"]).arg(data.path().join("data")).env("VITRINE_LISTEN", "127.0.0.1:0");
    Ok(command.envs(variables.iter().copied()).output()?)
}

#[test]
fn the_doctor_tries_a_sandbox_out() -> Result {
    let output = doctor(&[])?;
    let said = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.starts_with("ok    sandbox: starts in ")).ok_or("no sandbox was tried")?;
    for limit in ["memory", "disk", "pids", "network", "open_files", "file_size", "time"] {
        assert!(line.contains(limit), "{line}");
    }
    assert!(said.contains("local tier: open to every tenant") && said.contains("browser: "), "{said}");
    let said = String::from_utf8(doctor(&[("VITRINE_PRODUCTION", "true")])?.stdout)?;
    assert!(said.contains("local tier: closed"), "{said}");
    Ok(())
}

/// The runtime looks for programs in places of its own, and so does the doctor.
#[test]
fn the_doctor_and_the_runtime_agree_whatever_the_path_says() -> Result {
    let output = doctor(&[("PATH", "/nonexistent")])?;
    let said = String::from_utf8(output.stdout)?;
    assert!(output.status.success() && !said.contains("FAULT"), "{said}");
    assert!(said.contains("ok    bubblewrap: ") && said.contains("ok    sandbox: starts in "), "{said}");
    Ok(())
}

#[tokio::test]
async fn production_closes_the_local_tier_to_who_is_not_named() -> Result {
    let data = tempfile::tempdir()?;
    let mut options = ServerOptions::new(&data.path().join("data"));
    options.environment.push(("VITRINE_PRODUCTION".to_owned(), "true".to_owned()));
    let server = Server::start(&options)?;
    let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
    let agent = create(&client, &AgentSpec::new("closed", "tools").with_sandbox()).await?;
    let calls = json!([[{ "tool": "run_shell", "arguments": { "command": "echo reached" } }]]);
    let task = json!({ "calls": calls, "answer": "done" }).to_string();
    let execution = client.start(&agent, &task, "closed").await?;
    let state = client.ended(&execution).await?.to_string();
    assert!(state.contains("local_tier_refused") && !state.contains("reached\\n"), "{state}");
    assert!(server.stop()?.success());
    Ok(())
}

/// What the only sandbox of an execution uses, with its bound.
async fn metrics(client: &Client, execution: &str) -> Result<(Value, Value)> {
    let document = "query M($id: ID!) { node(id: $id) { ... on Execution { sandboxes { memoryBytes \
        metrics { cpus cpuUsedPercent memoryUsedBytes memoryLimitBytes measuredAt } } } } }";
    let found = client.query(document, json!({ "id": execution })).await?;
    let sandbox = found["node"]["sandboxes"].get(0).ok_or("no sandbox")?;
    Ok((sandbox["metrics"].clone(), sandbox["memoryBytes"].clone()))
}

fn number(value: &Value) -> Result<f64> {
    Ok(value.to_string().trim_matches('"').parse()?)
}

#[tokio::test]
async fn what_a_sandbox_uses_is_shown_while_it_runs() -> Result {
    let data = tempfile::tempdir()?;
    let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
    let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
    let agent = create(&client, &AgentSpec::new("measured", "tools").with_sandbox()).await?;
    let hold = "import time\nheld = bytearray(b'x') * (64 << 20)\nprint('held', flush=True)\ntime.sleep(50)";
    let task = json!({ "calls": [[{ "tool": "run_python", "arguments": { "code": hold } }]] }).to_string();
    let execution = client.start(&agent, &task, "measured").await?;
    let mut follower = Follower::open(&client, &execution, None).await?;
    while !follower.next().await?.ok_or("ended before it began")?.payload.contains("\"text\":\"held") {}
    let (used, bound) = eventually(Duration::from_secs(30), "the server tells", async || {
        let (metrics, bound) = metrics(&client, &execution).await?;
        Ok((!metrics.is_null()).then_some((metrics, bound)))
    })
    .await?;
    assert!(number(&used["memoryUsedBytes"])? >= f64::from(64 << 20), "{used}");
    assert_eq!(number(&used["memoryLimitBytes"])?, number(&bound)?, "{used}");
    assert!(number(&used["cpus"])? > 0.0 && number(&used["cpuUsedPercent"])? >= 0.0, "{used}");
    assert!(text(&used, "/measuredAt")?.starts_with("20"), "{used}");
    let cancel = json!({ "executionId": execution });
    client.mutate("executionCancel", "ExecutionCancelInput", "execution { id }", cancel).await?;
    client.ended(&execution).await?;
    assert_eq!(metrics(&client, &execution).await?.0, Value::Null);
    assert!(server.stop()?.success());
    Ok(())
}
