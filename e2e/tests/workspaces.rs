//! The server is killed with SIGKILL while a command runs in the sandbox. The next one goes on with the files that the
//! commands before it had left, and says what it could not keep.

use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::books::{self, Books};
use e2e::client::{Client, text};
use e2e::leftovers::leftovers;
use e2e::process::{Server, ServerOptions, eventually};
use serde_json::{Value, json};

const MAKE: &str = "set -e
head -c 70000 /dev/urandom > bytes.bin
printf '#!/bin/sh\\necho it runs\\n' > run.sh && chmod 750 run.sh
mkdir -p deep/er empty closed && echo x > deep/er/x.txt && chmod 500 closed
: > nothing
echo ü > 'naïve 文件 #1.txt'
echo old > removed.txt && echo old > changed.txt && chmod 444 changed.txt
ln -s run.sh link
echo kept > outputs/kept.txt";
const CHANGE: &str = "rm removed.txt && chmod 644 changed.txt && echo new > changed.txt";
const LIST: &str = "sha256sum bytes.bin && ./run.sh && find . -mindepth 1 -printf '%M %s %p\\n' | LC_ALL=C sort -k3";

fn shell(command: &str) -> Value {
    json!([{"tool": "run_shell", "arguments": {"command": command}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_earlier_commands_are_there_after_a_kill() -> Result {
    let dir = tempfile::tempdir()?;
    let mut options = ServerOptions::new(&dir.path().join("data"));
    options.environment = vec![("VITRINE_LEASE_SECONDS".to_owned(), "3".to_owned())];
    let server = Server::start(&options)?;
    let key = server.api_key.clone().ok_or("no key")?;
    let client = server.client(&key)?;
    let agent = create(&client, &AgentSpec::new("keeper", "tools").with_sandbox()).await?;
    let write = json!([{"tool": "write_file", "arguments": {"path": "notes/a.txt", "content": "written"}}]);
    let endless = shell("echo half > half.txt; echo it began; sleep 600");
    let task =
        json!({"calls": [shell(MAKE), shell(CHANGE), write, shell(LIST), endless, shell(LIST)], "answer": "Done."});
    let id = client.start(&agent, &task.to_string(), "keep").await?;
    eventually(Duration::from_secs(30), "the endless command runs", async || {
        Ok(calls(&client, &id).await?.get(4).filter(|call| call["state"] == "STARTED").map(|_| ()))
    })
    .await?;
    server.kill()?;

    let server = Server::start(&options)?;
    let client = server.client(&key)?;
    let ended = client.ended(&id).await?;
    assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
    let calls = calls(&client, &id).await?;
    assert_eq!(calls[4]["state"], "INTERRUPTED", "{}", calls[4]);
    let told = text(&calls[4], "/result")?;
    assert!(told.contains("may have run in part") && told.contains("1 are missing"), "{told}");
    let (before, after) = (text(&calls[3], "/result")?, text(&calls[5], "/result")?);
    let (after, note) = after.split_once("\n[The sandbox is a new one: ").ok_or("the model was not told")?;
    assert!(note.contains("1 are missing"), "{note}");
    // The link is what cannot be kept.
    let kept: Vec<&str> = before.lines().filter(|line| !line.ends_with("./link")).collect();
    assert_eq!(after.trim_end().lines().collect::<Vec<_>>(), kept);
    for expected in ["it runs", "-rwxr-x---", "dr-x------ ", "./naïve 文件 #1.txt", "./empty", "-rw-r--r-- 0 ./nothing"]
    {
        assert!(after.contains(expected), "{expected} is missing in\n{after}");
    }
    assert!(!after.contains("removed.txt") && !after.contains("half.txt"), "{after}");
    // What came back is no new artifact.
    assert_eq!(ended["artifacts"].as_array().map(Vec::len), Some(1), "{}", ended["artifacts"]);
    books::assert_log_is_whole(&client, &Books::read(&client, &id).await?).await?;
    assert!(server.stop()?.success(), "the server did not stop in order");
    assert_eq!(leftovers(&options.data_dir)?, [] as [String; 0]);
    Ok(())
}

async fn calls(client: &Client, id: &str) -> Result<Vec<Value>> {
    let execution = client.execution(id).await?;
    let iterations = execution["iterations"]["nodes"].as_array().cloned().unwrap_or_default();
    Ok(iterations.iter().flat_map(|iteration| iteration["toolCalls"].as_array().cloned().unwrap_or_default()).collect())
}
