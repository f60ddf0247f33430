//! Measures speed and size of the release build and prints them as a table; `make bench` runs it. It asserts nothing.
//!
//! `bench iterations` measures only that: one or more of `starts`, `tokens`, `iterations`, `sandboxes`, `output`, `churn`.

mod output;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use e2e::Result;
use e2e::agents::{AgentSpec, create};
use e2e::client::Client;
use e2e::follow::{Follower, whole_log};
use e2e::process::{ScriptedModel, Server, ServerOptions, wait_for};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

const STARTS: usize = 10;
const FIRST_TOKENS: usize = 40;
const ITERATIONS: u32 = 200;
const SIDE_BY_SIDE: u32 = 32;
const SANDBOXES: usize = 10;

#[tokio::main]
async fn main() -> ExitCode {
    match measure().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result {
    row("measurement", "aim", "median", "min", "max")?;
    row("---", "---", "---", "---", "---")?;
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if wants("starts") {
        starts()?;
    }
    let dir = tempfile::tempdir()?;
    if wants("output") {
        let (server, client) = started(&dir.path().join("output"))?;
        output::output(&client, &server).await?;
    }
    let (server, client) = started(&dir.path().join("data"))?;
    if wants("tokens") {
        first_tokens(&client).await?;
    }
    if wants("iterations") {
        iterations(&client, &server).await?;
    }
    if wants("sandboxes") {
        sandboxes(&client).await?;
    }
    if wants("churn") {
        output::churn(&client).await?;
    }
    if wanted.is_empty() {
        output::output_after_work(&client, &server).await?;
    }
    Ok(())
}

fn started(data_dir: &Path) -> Result<(Server, Client)> {
    let mut options = ServerOptions::new(data_dir);
    options.environment.push(("VITRINE_CONCURRENCY".to_owned(), SIDE_BY_SIDE.to_string()));
    let server = Server::start(&options)?;
    let client = server.client(server.api_key.as_deref().ok_or("no key")?)?;
    Ok((server, client))
}

fn starts() -> Result {
    let dir = tempfile::tempdir()?;
    let (mut ready, mut memory) = (Vec::new(), Vec::new());
    for number in 0..STARTS {
        let options = ServerOptions::new(&dir.path().join(number.to_string()));
        let began = Instant::now();
        let server = Server::start(&options)?;
        ready.push(began.elapsed().as_secs_f64() * 1000.0);
        let settled = Instant::now() + Duration::from_secs(1);
        wait_for(Duration::from_secs(5), || Ok((Instant::now() > settled).then_some(())))?;
        memory.push(status_kib(server.pid(), "VmRSS")? / 1024.0);
    }
    print("ready on an empty data directory, ms", "< 300", ready)?;
    print("idle memory of the server, MiB", "< 40", memory)
}

/// From the moment at which the model writes its first token to the moment at which a subscriber has it.
async fn first_tokens(client: &Client) -> Result {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (sent, mut times) = tokio::sync::mpsc::unbounded_channel();
    let url = format!("http://{}/v1", listener.local_addr()?);
    let tasks = TaskTracker::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            let mut request = vec![0; 64 * 1024];
            let _ = stream.read(&mut request).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let token = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n";
            let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let _ = stream.write_all(head.as_bytes()).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = sent.send(Instant::now());
            let _ = stream.write_all(token.as_bytes()).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _ = stream.write_all(end.as_bytes()).await;
        }
    });
    let agent = create(client, &AgentSpec { base_url: url, ..AgentSpec::new("first-token", "x") }).await?;
    let mut delays = Vec::new();
    for number in 0..FIRST_TOKENS {
        let id = client.start(&agent, "Say hi", &format!("first-token-{number}")).await?;
        let mut follower = Follower::open(client, &id, None).await?;
        while let Some(event) = follower.next().await? {
            if event.payload.contains("\"ModelCallDelta\"") {
                let arrived = Instant::now();
                let left = times.recv().await.ok_or("the model is gone")?;
                delays.push((arrived - left).as_secs_f64() * 1000.0);
            }
        }
    }
    print("first model token to subscriber, ms", "< 5", delays)
}

/// CPU of the server for one iteration: 20 deltas and a tool without effect, all durable.
async fn iterations(client: &Client, server: &Server) -> Result {
    let model = ScriptedModel::start()?;
    let limits = json!({ "maxIterations": 1000, "maxModelCalls": 1000, "maxToolCalls": 1000 });
    let loop_policy = json!({ "onLoop": "WARN", "maxIdenticalCalls": 1_000_000 });
    let spec = AgentSpec { base_url: model.url.clone(), limits, loop_policy, ..AgentSpec::new("iterations", "burst") };
    let agent = create(client, &spec).await?;
    let task = format!("deltas={} over_ms=0 notes={ITERATIONS}", 20 * (ITERATIONS + 1));
    for (number, aim) in [(1, "< 2.5"), (SIDE_BY_SIDE, "< 1.2")] {
        let mut costs = Vec::new();
        for round in 0..3 {
            let before = cpu(server.pid())?;
            let mut ids = Vec::new();
            for execution in 0..number {
                ids.push(client.start(&agent, &task, &format!("iterations-{number}-{round}-{execution}")).await?);
            }
            for id in &ids {
                wait_until_ended(client, id).await?;
            }
            let iterations = f64::from(number * (ITERATIONS + 1));
            costs.push((cpu(server.pid())? - before).as_secs_f64() * 1000.0 / iterations);
        }
        print(&format!("CPU of one iteration, {number} running, ms"), aim, costs)?;
    }
    Ok(())
}

async fn wait_until_ended(client: &Client, id: &str) -> Result {
    loop {
        let data = client.query("query S($id: ID!) { execution(id: $id) { status } }", json!({ "id": id })).await?;
        match data.pointer("/execution/status").and_then(Value::as_str) {
            Some("SUCCEEDED") => return Ok(()),
            Some("QUEUED" | "RUNNING") => tokio::time::sleep(Duration::from_millis(200)).await,
            _ => return Err(format!("{}", client.execution(id).await?).into()),
        }
    }
}

async fn sandboxes(client: &Client) -> Result {
    let agent = create(client, &AgentSpec::new("sandboxes", "tools").with_sandbox()).await?;
    let shell = |command: &str| json!([{ "tool": "run_shell", "arguments": { "command": command } }]);
    let python = json!([{ "tool": "run_python", "arguments": { "code": "print('hi')" } }]);
    let (mut fresh, mut fresh_python, mut running) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..SANDBOXES {
        let task = json!({ "calls": [shell("echo a"), shell("echo b"), shell("echo c")], "answer": "done" });
        let times = tool_times(client, &agent, &task, &format!("shell-{number}")).await?;
        fresh.push(times[0]);
        running.extend(&times[1..]);
        let task = json!({ "calls": [python], "answer": "done" });
        fresh_python.push(tool_times(client, &agent, &task, &format!("python-{number}")).await?[0]);
    }
    print("shell command in a fresh sandbox, ms", "< 30", fresh)?;
    print("Python in a fresh sandbox, ms", "< 60", fresh_python)?;
    print("echo in a running sandbox, ms", "< 5", running)
}

async fn tool_times(client: &Client, agent: &str, task: &Value, key: &str) -> Result<Vec<f64>> {
    let id = client.start(agent, &task.to_string(), key).await?;
    let mut times = Vec::new();
    for event in whole_log(client, &id).await? {
        let event: Value = serde_json::from_str(&event.payload)?;
        if event["kind"] == "ToolCallFinished" {
            times.push(event["durationMs"].as_f64().ok_or("no duration")?);
        }
    }
    Ok(times)
}

/// A number of `/proc/PID/status`, in KiB.
fn status_kib(pid: u32, key: &str) -> Result<f64> {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status"))?;
    let line = status.lines().find(|line| line.starts_with(key)).ok_or("no such line")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}

/// CPU that a process has used, from `/proc/PID/stat` in ticks of 10 ms.
fn cpu(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))?;
    let behind_name = stat.rsplit(')').next().ok_or("no name")?;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10))
}

fn print(name: &str, aim: &str, mut values: Vec<f64>) -> Result {
    values.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (values.first(), values.last()) else { return Err("nothing was measured".into()) };
    let median = values[values.len() / 2];
    row(name, aim, &format!("{median:.2}"), &format!("{min:.2}"), &format!("{max:.2}"))
}

fn row(name: &str, aim: &str, median: &str, min: &str, max: &str) -> Result {
    Ok(writeln!(std::io::stdout(), "| {name} | {aim} | {median} | {min} | {max} |")?)
}
