//! The local tier: what `vitrine doctor` says of it, and that production closes it to whom nobody has named.

use std::process::{Command, Output};

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::process::{Server, ServerOptions, binary};
use serde_json::json;

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
