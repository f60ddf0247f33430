//! The official `graphql-ws` client follows a run, is cut, reconnects by itself and resumes from its cursor.

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::follow::whole_log;
use e2e::node::{install, run};
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

#[tokio::test]
async fn the_official_client_resumes_after_each_cut() -> Result {
    let script = install("graphql-clients")?;
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
    let mut lines = run(&script, "follow.mjs", &input).await?;
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
