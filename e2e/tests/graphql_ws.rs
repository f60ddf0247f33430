//! The official `graphql-ws` client follows a run, is cut, reconnects by itself and resumes from its cursor.

use std::path::Path;
use std::process::{Command, Stdio};

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::follow::whole_log;
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

const INSTALL: &str = "node and npm are missing; install them: apt-get install -y nodejs npm";

#[tokio::test]
async fn the_official_client_resumes_after_each_cut() -> Result {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("graphql-ws");
    install(&script)?;
    let data = tempfile::tempdir()?;
    let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
    let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
    let agent = create(&client, &AgentSpec::new("official", "burst")).await?;
    let execution = client.start(&agent, "deltas=400 over_ms=2000 notes=2", "official").await?;

    // Two in a row, some in mid-run, and one just before the end.
    let input = json!({
        "url": format!("{}/graphql", server.url.replacen("http", "ws", 1)),
        "apiKey": client.api_key, "execution": execution, "cutAt": [1, 2, 30, 31, 150, 300, 400],
    });
    let mut node = tokio::process::Command::new("node")
        .arg("follow.mjs")
        .current_dir(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = node.stdin.take().ok_or("no standard input")?;
    stdin.write_all(input.to_string().as_bytes()).await?;
    drop(stdin);
    let output = tokio::time::timeout(std::time::Duration::from_secs(60), node.wait_with_output()).await??;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let lines = String::from_utf8(output.stdout)?;
    let mut lines = lines.lines().map(serde_json::from_str).collect::<std::result::Result<Vec<Value>, _>>()?;
    let summary = lines.pop().ok_or("it printed nothing")?;
    assert_eq!(summary, json!({ "connections": 8 }), "one at first, and one after each cut");
    let log = whole_log(&client, &execution).await?;
    let mut expected = Vec::with_capacity(log.len());
    for event in &log {
        let payload: Value = serde_json::from_str(&event.payload)?;
        expected.push(json!({ "sequence": event.sequence.to_string(), "payload": payload }));
    }
    assert!(log.len() > 400, "{} events", log.len());
    assert_eq!(lines, expected);
    Ok(())
}

/// Fetches the client at its pinned version, unless it is there.
fn install(script: &Path) -> Result {
    if Command::new("node").arg("--version").output().is_err() {
        return Err(INSTALL.into());
    }
    if script.join("node_modules").exists() {
        return Ok(());
    }
    let npm = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(script).output();
    let output = npm.map_err(|_| INSTALL)?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}
