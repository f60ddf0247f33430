//! Output of programs on its way to a subscriber, beside the official Python SDK that reads the same bytes from the same
//! server; and many sandboxes that come and go.

use std::process::Command;
use std::time::Instant;

use e2e::Result;
use e2e::agents::{AgentSpec, create, project, remote_profile};
use e2e::client::{Client, text};
use e2e::follow::Follower;
use e2e::process::{SandboxRuntime, Server};
use e2e::python::install;
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::{cpu, print, status_kib};

const MIB: u64 = 1024 * 1024;
/// A program that prints a lot: the log keeps its head and its tail.
const LONG_BYTES: u64 = 1024 * MIB;
/// The SDK keeps everything that it reads, so it is given less.
const LONG_BYTES_OF_THE_SDK: u64 = 128 * MIB;
/// Programs whose output the log keeps whole, side by side, and how often.
const SHORT_BYTES: u64 = 256 * 1024;
const SIDE_BY_SIDE: u64 = 8;
const EXECUTIONS: u64 = 20;
/// How often ours and the SDK read, one after the other: one reading differs from the next by a quarter.
const ROUNDS: u64 = 5;
const CHURN: usize = 200;
const CHURN_AT_ONCE: usize = 20;

/// What a reader did.
struct Reading {
    bytes: u64,
    cpu_seconds: f64,
}

impl Reading {
    fn mib_per_cpu_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
        let bytes = self.bytes as f64;
        bytes / 1_048_576.0 / self.cpu_seconds
    }
}

/// Bytes per CPU second of the server, and of the SDK.
pub async fn output(client: &Client, server: &Server) -> Result {
    let state = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(state.path())?;
    let agent = printer(client, &runtime).await?;

    let before_kib = status_kib(server.pid(), "VmRSS")?;
    let rounds = read_in_turn(client, server, &runtime, &agent).await?;
    let grown_mib = (status_kib(server.pid(), "VmHWM")? - before_kib) / 1024.0;
    compare("1 GiB of one program", &rounds)?;
    print("memory that 1 GiB of output takes at its peak, MiB", "flat", vec![grown_mib])?;

    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let ours = read_by_vitrine(client, server, &agent, round, [EXECUTIONS, SIDE_BY_SIDE, SHORT_BYTES]).await?;
        rounds.push((ours, read_by_the_sdk(&runtime, EXECUTIONS * SIDE_BY_SIDE, SHORT_BYTES)?));
    }
    compare("160 times 256 KiB, all of it in the log", &rounds)
}

/// The first of these again, in a server that has done much else.
pub async fn output_after_work(client: &Client, server: &Server) -> Result {
    let state = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(state.path())?;
    let agent = printer(client, &runtime).await?;
    compare("1 GiB, after the work above", &read_in_turn(client, server, &runtime, &agent).await?)
}

/// An agent whose sandboxes are those of this runtime.
async fn printer(client: &Client, runtime: &SandboxRuntime) -> Result<String> {
    let project = project(client).await?;
    let profile = remote_profile(client, &project, "output", runtime).await?;
    let spec = AgentSpec {
        sandbox_profile: Some(profile),
        limits: json!({ "maxIterations": 1000, "maxModelCalls": 1000, "maxToolCalls": 1000 }),
        loop_policy: json!({ "onLoop": "WARN", "maxIdenticalCalls": 1_000_000 }),
        ..AgentSpec::new("output", "tools").with_sandbox()
    };
    create(client, &spec).await
}

/// Ours and the SDK, one after the other.
async fn read_in_turn(
    client: &Client,
    server: &Server,
    runtime: &SandboxRuntime,
    agent: &str,
) -> Result<Vec<(Reading, Reading)>> {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let ours = read_by_vitrine(client, server, agent, round, [1, 1, LONG_BYTES]).await?;
        rounds.push((ours, read_by_the_sdk(runtime, 1, LONG_BYTES_OF_THE_SDK)?));
    }
    Ok(rounds)
}

fn compare(what: &str, rounds: &[(Reading, Reading)]) -> Result {
    let each = |of: fn(&(Reading, Reading)) -> f64| rounds.iter().map(of).collect();
    let ours = each(|(ours, _)| ours.mib_per_cpu_second());
    print(&format!("{what}: MiB per CPU second of the server"), "", ours)?;
    let theirs = each(|(_, theirs)| theirs.mib_per_cpu_second());
    print(&format!("{what}: the same of the Python SDK"), "", theirs)?;
    let ratio = each(|(ours, theirs)| ours.mib_per_cpu_second() / theirs.mib_per_cpu_second());
    print(&format!("{what}: times the SDK"), "> 5", ratio)
}

fn printing(bytes: u64) -> String {
    format!("yes 'a line of output that is as long as a line of output usually is, or a little more' | head -c {bytes}")
}

/// Executions, one after the other, whose one reply asks for programs side by side; a subscriber follows each from its first
/// event to its last.
async fn read_by_vitrine(
    client: &Client,
    server: &Server,
    agent: &str,
    round: u64,
    [executions, side_by_side, bytes]: [u64; 3],
) -> Result<Reading> {
    let command = json!({ "tool": "run_shell", "arguments": { "command": printing(bytes) } });
    let reply: Vec<_> = (0..side_by_side).map(|_| command.clone()).collect();
    let task = json!({ "calls": [reply], "answer": "done" }).to_string();
    let before = cpu(server.pid())?;
    for number in 0..executions {
        let id = client.start(agent, &task, &format!("output-{bytes}-{round}-{number}")).await?;
        let told = bytes_told(client, &id).await?;
        if told != side_by_side * bytes {
            let why = text(&client.execution(&id).await?, "/stopReason/message")?;
            return Err(format!("{told} bytes told of {}: {why}", side_by_side * bytes).into());
        }
    }
    let cpu_seconds = (cpu(server.pid())? - before).as_secs_f64();
    Ok(Reading { bytes: executions * side_by_side * bytes, cpu_seconds })
}

/// The bytes of output that a subscriber has seen, and those that it was told of.
async fn bytes_told(client: &Client, execution: &str) -> Result<u64> {
    let mut follower = Follower::open(client, execution, None).await?;
    let mut told = 0;
    while let Some(event) = follower.next().await? {
        let event: Value = serde_json::from_str(&event.payload)?;
        told += match event["kind"].as_str() {
            Some("SandboxOutput") => event["text"].as_str().map_or(0, str::len) as u64,
            Some("OutputTruncated") => event["omittedBytes"].as_u64().unwrap_or(0),
            _ => 0,
        };
    }
    Ok(told)
}

fn read_by_the_sdk(runtime: &SandboxRuntime, runs: u64, bytes: u64) -> Result<Reading> {
    let commands = install("opensandbox-clients")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/opensandbox-clients/read_output.py");
    let output = Command::new(commands.join("python"))
        .args([script, runtime.url.trim_start_matches("http://"), &runtime.api_key, &printing(bytes)])
        .arg(runs.to_string())
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let read = told["bytes"].as_u64().ok_or("the SDK counted nothing")?;
    if read != runs * bytes {
        return Err(format!("the SDK read {read} bytes of {}", runs * bytes).into());
    }
    Ok(Reading { bytes: read, cpu_seconds: told["cpu_seconds"].as_f64().ok_or("no CPU time")? })
}

/// Executions that need a fresh sandbox each, a number of them at one time; afterwards no sandbox is left.
pub async fn churn(client: &Client) -> Result {
    let agent = create(client, &AgentSpec::new("churn", "tools").with_sandbox()).await?;
    let calls = json!([[{ "tool": "run_shell", "arguments": { "command": "echo here" } }]]);
    let task = json!({ "calls": calls, "answer": "done" }).to_string();
    let began = Instant::now();
    let mut ids = Vec::new();
    for round in 0..CHURN / CHURN_AT_ONCE {
        let keys: Vec<_> = (0..CHURN_AT_ONCE).map(|number| format!("churn-{round}-{number}")).collect();
        ids.extend(try_join_all(keys.iter().map(|key| client.start(&agent, &task, key))).await?);
        try_join_all(ids.iter().rev().take(CHURN_AT_ONCE).map(|id| client.ended(id))).await?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let document = "query S($id: ID!) { execution(id: $id) { status sandboxes { state } } }";
    let mut lost = 0;
    for id in &ids {
        let data = client.query(document, json!({ "id": id })).await?;
        let is_gone = |sandbox: &Value| sandbox["state"] == "GONE";
        let sandboxes = data.pointer("/execution/sandboxes").and_then(Value::as_array).ok_or("no sandboxes")?;
        let is_fine = text(&data, "/execution/status")? == "SUCCEEDED" && sandboxes.iter().all(is_gone);
        lost += u32::from(!is_fine || sandboxes.is_empty());
    }
    print("200 sandboxes, 20 at a time: lost", "0", vec![f64::from(lost)])?;
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let each = seconds * 1000.0 / CHURN as f64;
    print("200 sandboxes, 20 at a time: ms for each", "", vec![each])
}
