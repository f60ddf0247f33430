//! A data directory that an earlier state of the project wrote is opened by the present one: nothing of it is lost, what
//! ran goes on, and new executions run beside it.
//!
//! `fixtures/data-dir-2026-11-29.tar.gz` holds a data directory and its API key, both used nowhere else. In it are seven
//! executions: the demo, one of each scripted scenario, one that was cancelled, and one that was given back in its fifth
//! iteration by an orderly stop. A fixture is never made anew: a later one is put beside it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::books::{self, Books};
use e2e::client::{Client, text};
use e2e::follow::whole_log;
use e2e::process::{Server, ServerOptions};
use e2e::stored::stored_events;
use serde_json::{Value, json};

const GIVEN_BACK: &str = "exe_01m8mczxdbfgea4dawpcjrefdt";
const ENDED: [(&str, &str, &str); 6] = [
    ("exe_01m8mcyvt4fq3s9zwmgdgs0v83", "SUCCEEDED", "FINAL_ANSWER"),
    ("exe_01m8mczwm3f7kb3xzv4mgq086a", "SUCCEEDED", "FINAL_ANSWER"),
    ("exe_01m8mczwmaemavqkpdaa7zgp55", "SUCCEEDED", "FINAL_ANSWER"),
    ("exe_01m8mczwmhf9382n6mzr79hcfh", "FAILED", "MODEL_FAILED"),
    ("exe_01m8mczwmxf20aemrhy9rrhv4c", "SUCCEEDED", "FINAL_ANSWER"),
    ("exe_01m8mczx8efmxrkq0n8wqb3zk2", "CANCELLED", "CANCELLED"),
];

fn unpack(into: &Path) -> Result<String> {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/data-dir-2026-11-29.tar.gz");
    let status = Command::new("tar").args(["-xzf", fixture, "-C"]).arg(into).status()?;
    assert!(status.success(), "the fixture cannot be unpacked");
    Ok(std::fs::read_to_string(into.join("api-key"))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_of_an_earlier_state_opens_and_goes_on() -> Result {
    let dir = tempfile::tempdir()?;
    let key = unpack(dir.path())?;
    let options = ServerOptions::new(&dir.path().join("data"));
    let mut stored = BTreeMap::new();
    for (id, _, _) in ENDED {
        stored.insert(id, stored_events(&options.data_dir, id)?);
    }
    let server = Server::start(&options)?;
    assert!(server.api_key.is_none(), "the directory was taken for an empty one");
    let client = server.client(&key)?;

    let listed = client.query("{ executions(first: 50) { nodes { id } } }", json!({})).await?;
    let listed: Vec<&str> = nodes(&listed["executions"]).iter().filter_map(|node| node["id"].as_str()).collect();
    let mut expected: Vec<&str> = ENDED.iter().map(|(id, _, _)| *id).chain([GIVEN_BACK]).collect();
    expected.reverse();
    assert_eq!(listed, expected);
    for (id, status, code) in ENDED {
        let execution = client.execution(id).await?;
        assert_eq!((&execution["status"], &execution["stopReason"]["code"]), (&json!(status), &json!(code)));
        let events: Vec<String> = whole_log(&client, id).await?.into_iter().map(|event| event.payload).collect();
        assert_eq!(events, stored[id], "the log of {id} reads otherwise than it was written");
        books::assert_closed(&Books::read(&client, id).await?);
        artifacts_are_there(&client, &execution).await?;
    }
    the_one_that_was_given_back_ends(&client).await?;
    a_new_one_runs(&client).await?;
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

fn nodes(connection: &Value) -> &[Value] {
    connection["nodes"].as_array().map_or(&[], Vec::as_slice)
}

async fn artifacts_are_there(client: &Client, execution: &Value) -> Result {
    for artifact in execution["artifacts"].as_array().ok_or("no artifacts")? {
        let bytes = client.download(&text(artifact, "/downloadUrl")?).await?;
        assert_eq!(artifact["byteSize"], json!(bytes.len().to_string()), "{artifact}");
    }
    Ok(())
}

async fn the_one_that_was_given_back_ends(client: &Client) -> Result {
    let ended = client.ended(GIVEN_BACK).await?;
    assert_eq!(ended["answer"], "The old one is done.", "{ended}");
    assert_eq!(ended["attempt"], 2, "{ended}");
    let books = Books::read(client, GIVEN_BACK).await?;
    books::assert_log_is_whole(client, &books).await
}

async fn a_new_one_runs(client: &Client) -> Result {
    let agent = create(client, &AgentSpec::new("present", "tools").with_sandbox()).await?;
    let command = "echo made today > outputs/today.txt";
    let task = json!({"calls": [[{"tool": "run_shell", "arguments": {"command": command}}]], "answer": "New."});
    let id = client.start(&agent, &task.to_string(), "present 1").await?;
    let ended = client.ended(&id).await?;
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("SUCCEEDED"), &json!("New.")), "{ended}");
    assert_eq!(ended["artifacts"][0]["name"], "today.txt", "{ended}");
    artifacts_are_there(client, &ended).await
}
