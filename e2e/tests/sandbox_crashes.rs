//! The server is killed with SIGKILL again and again while its sandboxes live in a process that survives it. Afterwards
//! exactly none is left there, and every record says so; and what ran out of time meanwhile is told and replaced.

use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, Remote, create, profile_on, project};
use e2e::books::{self, Books};
use e2e::client::{Client, text};
use e2e::follow::Follower;
use e2e::process::{SandboxRuntime, Server, ServerOptions, eventually};
use e2e::random::Random;
use serde_json::{Value, json};

const KILLS: usize = 8;
const EXECUTIONS: usize = 4;
const SEED: u64 = 20_261_130;
/// The reaper compares within a minute.
const COMPARED_WITHIN: Duration = Duration::from_secs(100);

/// The time limits of a profile.
struct Limits {
    command_timeout_ms: u32,
    ttl_seconds: u32,
}

const ROOMY: Limits = Limits { command_timeout_ms: 60_000, ttl_seconds: 600 };

/// A server whose agent's sandboxes live on a runtime that is a process of its own.
struct Stage {
    _dir: tempfile::TempDir,
    runtime: SandboxRuntime,
    options: ServerOptions,
    server: Server,
    key: String,
    client: Client,
    agent: String,
}

impl Stage {
    async fn set(Limits { command_timeout_ms, ttl_seconds }: Limits) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let runtime = SandboxRuntime::start(dir.path())?;
        let mut options = ServerOptions::new(&dir.path().join("data"));
        options.environment = vec![("VITRINE_LEASE_SECONDS".to_owned(), "3".to_owned())];
        let server = Server::start(&options)?;
        let key = server.api_key.clone().ok_or("no key")?;
        let client = server.client(&key)?;
        let remote = Remote { url: &runtime.url, api_key: &runtime.api_key, command_timeout_ms, ttl_seconds };
        let profile = profile_on(&client, &project(&client).await?, "elsewhere", &remote).await?;
        let spec = AgentSpec { sandbox_profile: Some(profile), ..AgentSpec::new("crasher", "tools").with_sandbox() };
        let agent = create(&client, &spec).await?;
        Ok(Self { _dir: dir, runtime, options, server, key, client, agent })
    }
}

fn shell(command: &str) -> Value {
    json!([{ "tool": "run_shell", "arguments": { "command": command } }])
}

async fn status(client: &Client, id: &str) -> Result<String> {
    text(&client.execution(id).await?, "/status")
}

async fn until_none_is_left(runtime: &SandboxRuntime, client: &Client, executions: &[String]) -> Result {
    eventually(COMPARED_WITHIN, "no sandbox is left, and every row is gone", async || {
        for id in executions {
            let now = client.execution(id).await?;
            let sandboxes = now["sandboxes"].as_array().ok_or("no sandboxes")?;
            if sandboxes.iter().any(|sandbox| sandbox["state"] != "GONE") {
                return Ok(None);
            }
        }
        Ok(runtime.sandboxes().await?.is_empty().then_some(()))
    })
    .await
}

/// Row F46 of the cases.
#[tokio::test(flavor = "multi_thread")]
async fn crashes_of_the_server_leave_no_sandbox_on_one_that_survives_them() -> Result {
    let Stage { _dir, runtime, options, mut server, key, mut client, agent } = Stage::set(ROOMY).await?;
    let calls: Vec<_> = (0..3 * KILLS).map(|turn| shell(&format!("echo {turn} > f; sleep 0.4; cat f"))).collect();
    let task = json!({ "calls": calls, "answer": "Done." }).to_string();
    let mut executions = Vec::new();
    for number in 0..EXECUTIONS {
        executions.push(client.start(&agent, &task, &format!("crash {number}")).await?);
    }
    let mut random = Random::new(SEED);
    let mut made = 0;
    for round in 0..KILLS {
        // A sandbox of this claim is there, so that each kill leaves some behind.
        made = eventually(Duration::from_secs(40), &format!("round {round}: sandboxes are in use"), async || {
            let mut now = 0;
            for id in &executions {
                now += client.execution(id).await?["sandboxes"].as_array().map_or(0, Vec::len);
            }
            Ok((now > made && !runtime.sandboxes().await?.is_empty()).then_some(now))
        })
        .await?;
        // The moment is what is random here; there is nothing to wait for.
        tokio::time::sleep(Duration::from_millis(random.below(900))).await;
        server.kill()?;
        server = Server::start(&options)?;
        client = server.client(&key)?;
    }
    assert!(made >= KILLS, "only {made} sandboxes were made");
    for id in &executions {
        let ended = client.ended(id).await?;
        assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
    }
    until_none_is_left(&runtime, &client, &executions).await?;
    for id in &executions {
        let books = Books::read(&client, id).await?;
        books::assert_closed(&books);
        books::assert_log_is_whole(&client, &books).await?;
    }
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

/// A create whose answer was lost may come through after somebody looked. What is not ours is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_is_there_again_is_removed_and_a_foreign_one_is_not() -> Result {
    let Stage { _dir, runtime, options, server, client, agent, .. } = Stage::set(ROOMY).await?;
    let task = json!({ "calls": [shell("echo once")], "answer": "Done." }).to_string();
    let id = client.start(&agent, &task, "ghost").await?;
    let ended = client.ended(&id).await?;
    assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
    let executions = [id];
    until_none_is_left(&runtime, &client, &executions).await?;
    assert!(server.stop()?.success(), "the server did not stop in order");

    let ours = text(&ended, "/sandboxes/0/id")?;
    // Of the same form, and of no row.
    let foreign = ours.chars().rev().collect::<String>();
    let foreign = format!("sbx_{}", foreign.split('_').next().unwrap_or_default());
    for label in [ours.as_str(), foreign.as_str()] {
        runtime.make_labelled(label).await?;
    }
    let server = Server::start(&options)?;
    eventually(COMPARED_WITHIN, "ours is removed again", async || {
        Ok((runtime.sandboxes().await?.len() == 1).then_some(()))
    })
    .await?;
    assert_eq!(runtime.sandboxes().await?[0]["metadata"]["vitrine.sandbox"], foreign.as_str());
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

/// The time to live runs out while no worker is there: the next claim says so, and goes on with the files.
#[tokio::test(flavor = "multi_thread")]
async fn a_time_to_live_that_ran_out_while_nobody_followed_is_told_and_the_files_are_there() -> Result {
    let Stage { _dir, runtime, options, server, key, client, agent } =
        Stage::set(Limits { command_timeout_ms: 600_000, ttl_seconds: 60 }).await?;
    let calls = [
        shell("echo kept > kept.txt; touch /tmp/mark"),
        shell("echo began; sleep 500"),
        shell("cat kept.txt; ls /tmp/mark"),
    ];
    let task = json!({ "calls": calls, "answer": "Done." }).to_string();
    let id = client.start(&agent, &task, "brief").await?;
    // What it printed is told with the id under which it is followed.
    let mut follower = Follower::open(&client, &id, None).await?;
    while follower.next().await?.is_some_and(|event| !event.payload.contains("began\\n")) {}
    server.kill()?;
    eventually(Duration::from_secs(90), "the sandbox's time is over", async || {
        Ok(runtime.sandboxes().await?.is_empty().then_some(()))
    })
    .await?;

    let server = Server::start(&options)?;
    let client = server.client(&key)?;
    let ended = client.ended(&id).await?;
    assert_eq!(status(&client, &id).await?, "SUCCEEDED", "{ended}");
    let calls = tool_calls(&ended);
    assert_eq!(calls[1]["state"], "INTERRUPTED", "{}", calls[1]);
    let told = text(&calls[1], "/result")?;
    for part in [
        "the time to live of its sandbox ran out while no worker was there",
        "the files in the workspace are those from the end of the last finished tool call",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let next = text(&calls[2], "/result")?;
    assert!(next.starts_with("kept\n") && next.contains("'/tmp/mark': No such file"), "{next}");
    assert_eq!(ended["sandboxes"].as_array().map(Vec::len), Some(2), "{}", ended["sandboxes"]);
    until_none_is_left(&runtime, &client, std::slice::from_ref(&id)).await?;
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

fn tool_calls(execution: &Value) -> Vec<Value> {
    let iterations = execution["iterations"]["nodes"].as_array().cloned().unwrap_or_default();
    iterations.iter().flat_map(|iteration| iteration["toolCalls"].as_array().cloned().unwrap_or_default()).collect()
}
