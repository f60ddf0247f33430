//! Programs with a long time limit outlive the server that started them: it is killed, stopped, cut off or overtaken while
//! one runs in a sandbox that is somebody else's process, and afterwards there is one run of the program, with all of its
//! output, once.

use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, Remote, create, profile_on, project};
use e2e::books::{self, Books};
use e2e::client::{Client, text};
use e2e::cut_proxy::CutProxy;
use e2e::follow::{Follower, whole_log};
use e2e::mariadb::MariaDb;
use e2e::process::{SandboxRuntime, Server, ServerOptions, eventually};
use e2e::replicas::{await_abandonment, owners, replicas};
use serde_json::{Value, json};

const LINES: usize = 60;
/// A time limit that makes a program a background command.
const LONG_MS: u32 = 600_000;

/// Runs for six seconds, notes that it ran, and leaves a file.
fn program(name: &str) -> String {
    format!(
        ": {mark}; echo run >> runs; for i in $(seq 1 {LINES}); do echo \"line $i ä\"; sleep 0.1; done; cp runs outputs/runs.txt; \
         ls /tmp/mark && exit 7",
        mark = mark(name)
    )
}

/// In the command line of the program, and of no other.
fn mark(name: &str) -> String {
    format!("long-command-{name}-{}", std::process::id())
}

fn is_running(name: &str) -> Result<bool> {
    let is_marked = |pid: &str| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark(name)))
    };
    let entries = std::fs::read_dir("/proc")?.collect::<std::io::Result<Vec<_>>>()?;
    Ok(entries.iter().any(|entry| entry.file_name().to_str().is_some_and(is_marked)))
}

/// The file in `/tmp` is in no checkpoint: the second program finds it only in the same sandbox.
fn task(name: &str) -> String {
    let shell = |command: &str| json!([{"tool": "run_shell", "arguments": {"command": command}}]);
    let calls =
        [shell("echo here > /tmp/mark; echo kept > kept.txt"), shell(&program(name)), shell("cat runs kept.txt")];
    json!({"calls": calls, "answer": "Done."}).to_string()
}

fn expected_output() -> String {
    let lines: String = (1..=LINES).map(|line| format!("line {line} ä\n")).collect();
    format!("{lines}/tmp/mark\n")
}

async fn long_agent(client: &Client, url: &str, api_key: &str) -> Result<String> {
    let mut spec = AgentSpec::new("long", "tools").with_sandbox();
    let remote = Remote { url, api_key, command_timeout_ms: LONG_MS, ttl_seconds: 600 };
    spec.sandbox_profile = Some(profile_on(client, &project(client).await?, "long", &remote).await?);
    create(client, &spec).await
}

/// Waits until this line of the second program is in the log.
async fn until_line(client: &Client, id: &str, line: usize) -> Result {
    let mut follower = Follower::open(client, id, None).await?;
    let mut told = String::new();
    while !told.contains(&format!("line {line} ")) {
        let event = follower.next().await?.ok_or("the execution ended too early")?;
        told.push_str(&printed(&event.payload)?);
    }
    Ok(())
}

/// What the log tells of the output of all programs.
async fn output(client: &Client, id: &str) -> Result<String> {
    whole_log(client, id).await?.iter().map(|event| printed(&event.payload)).collect()
}

fn printed(event: &str) -> Result<String> {
    let event: Value = serde_json::from_str(event)?;
    let text = event["text"].as_str().filter(|_| event["kind"] == "SandboxOutput");
    Ok(text.unwrap_or_default().to_owned())
}

async fn calls(client: &Client, id: &str) -> Result<Vec<Value>> {
    let execution = client.execution(id).await?;
    let iterations = execution["iterations"]["nodes"].as_array().cloned().unwrap_or_default();
    Ok(iterations.iter().flat_map(|iteration| iteration["toolCalls"].as_array().cloned().unwrap_or_default()).collect())
}

/// One run, in one sandbox, told once.
async fn check(client: &Client, id: &str) -> Result<Value> {
    let ended = client.ended(id).await?;
    assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
    let calls = calls(client, id).await?;
    let result = text(&calls[1], "/result")?;
    assert_eq!((&calls[1]["state"], &calls[1]["exitCode"]), (&json!("FAILED"), &json!(7)), "{}", calls[1]);
    assert_eq!(result, format!("{}\n[EXIT_CODE: exit code 7]", expected_output()));
    assert_eq!(calls[2]["result"], "run\nkept\n", "{}", calls[2]);
    assert_eq!(output(client, id).await?, format!("{}run\nkept\n", expected_output()));
    let artifacts = ended["artifacts"].as_array().ok_or("no artifacts")?;
    assert_eq!(artifacts.len(), 1, "{artifacts:?}");
    assert_eq!(client.download(&text(&artifacts[0], "/downloadUrl")?).await?, b"run\n");
    assert_eq!(ended["sandboxes"].as_array().map(Vec::len), Some(1), "{}", ended["sandboxes"]);
    books::assert_log_is_whole(client, &Books::read(client, id).await?).await?;
    Ok(ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_of_the_server_loses_no_output_and_repeats_none() -> Result {
    let dir = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(dir.path())?;
    let mut options = ServerOptions::new(&dir.path().join("data"));
    options.environment = vec![("VITRINE_LEASE_SECONDS".to_owned(), "3".to_owned())];
    let server = Server::start(&options)?;
    let key = server.api_key.clone().ok_or("no key")?;
    let client = server.client(&key)?;
    let agent = long_agent(&client, &runtime.url, &runtime.api_key).await?;
    let id = client.start(&agent, &task("kill"), "kill").await?;
    until_line(&client, &id, 10).await?;
    server.kill()?;

    let server = Server::start(&options)?;
    let client = server.client(&key)?;
    let ended = check(&client, &id).await?;
    assert_eq!(ended["attempt"], 2, "{ended}");
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

/// Nobody waits for the program when a server is stopped, and the next one finds it at its end.
#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_stop_leaves_the_program_running_and_its_end_is_found_later() -> Result {
    let dir = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(dir.path())?;
    let options = ServerOptions::new(&dir.path().join("data"));
    let server = Server::start(&options)?;
    let key = server.api_key.clone().ok_or("no key")?;
    let client = server.client(&key)?;
    let agent = long_agent(&client, &runtime.url, &runtime.api_key).await?;
    let id = client.start(&agent, &task("stop"), "stop").await?;
    until_line(&client, &id, 5).await?;
    assert!(server.stop()?.success(), "the server did not stop in order");
    assert!(is_running("stop")?, "the program was stopped with the server");
    eventually(Duration::from_secs(30), "the program ends", async || Ok((!is_running("stop")?).then_some(()))).await?;

    let server = Server::start(&options)?;
    let client = server.client(&key)?;
    let ended = check(&client, &id).await?;
    assert_eq!(ended["attempt"], 2, "{ended}");
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_again_and_again_loses_nothing() -> Result {
    let dir = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(dir.path())?;
    let proxy = CutProxy::start(&runtime.url).await?;
    let server = Server::start(&ServerOptions::new(&dir.path().join("data")))?;
    let client = server.client(&server.api_key.clone().ok_or("no key")?)?;
    let agent = long_agent(&client, &proxy.url, &runtime.api_key).await?;
    let id = client.start(&agent, &task("cut"), "cut").await?;
    for line in [5, 15, 25] {
        until_line(&client, &id, line).await?;
        proxy.refuse();
        eventually(Duration::from_secs(30), "the server was refused", async || Ok(proxy.has_refused().then_some(())))
            .await?;
        proxy.accept();
    }
    let ended = check(&client, &id).await?;
    assert_eq!(ended["attempt"], 1, "{ended}");
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}

/// The stale server reads on when it wakes up, and hears that it is too late: it writes nothing, and stops nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_slept_past_its_lease_does_not_disturb_the_one_that_follows() -> Result {
    let (dir, database) = (tempfile::tempdir()?, MariaDb::start()?);
    let runtime = SandboxRuntime::start(dir.path())?;
    let replicas = replicas(dir.path(), &database)?;
    let agent = long_agent(&replicas[0].client, &runtime.url, &runtime.api_key).await?;
    let id = replicas[0].client.start(&agent, &task("sleep"), "sleep").await?;
    until_line(&replicas[0].client, &id, 5).await?;
    let holder = owners(&database)?.into_iter().find(|(held, _)| *held == id).ok_or("nobody holds it")?.1;
    let [first, second] = &replicas;
    let (stale, other) = if first.server.pid() == holder { (first, second) } else { (second, first) };
    stale.server.signal("STOP")?;
    eventually(Duration::from_secs(20), "the other server takes over", async || {
        Ok(owners(&database)?.iter().any(|(held, pid)| *held == id && *pid == other.server.pid()).then_some(()))
    })
    .await?;
    stale.server.signal("CONT")?;
    await_abandonment(stale, std::slice::from_ref(&id)).await?;
    let ended = check(&other.client, &id).await?;
    assert_eq!(ended["attempt"], 2, "{ended}");
    Ok(())
}

/// The sandbox went with its server: things are as for every other program.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_whose_sandbox_is_gone_is_interrupted() -> Result {
    let dir = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(dir.path())?;
    let mut options = ServerOptions::new(&dir.path().join("data"));
    options.environment = vec![("VITRINE_LEASE_SECONDS".to_owned(), "3".to_owned())];
    let server = Server::start(&options)?;
    let key = server.api_key.clone().ok_or("no key")?;
    let client = server.client(&key)?;
    let agent = long_agent(&client, &runtime.url, &runtime.api_key).await?;
    let id = client.start(&agent, &task("gone"), "gone").await?;
    until_line(&client, &id, 5).await?;
    server.kill()?;
    runtime.remove_all().await?;

    let server = Server::start(&options)?;
    let client = server.client(&key)?;
    let ended = client.ended(&id).await?;
    assert_eq!(ended["status"], "SUCCEEDED", "{ended}");
    let calls = calls(&client, &id).await?;
    assert_eq!(calls[1]["state"], "INTERRUPTED", "{}", calls[1]);
    assert!(text(&calls[1], "/result")?.contains("may have run in part"), "{}", calls[1]);
    // The program itself had noted its run since the last checkpoint.
    assert!(text(&calls[2], "/result")?.contains("kept\n"), "{}", calls[2]);
    assert!(server.stop()?.success(), "the server did not stop in order");
    Ok(())
}
