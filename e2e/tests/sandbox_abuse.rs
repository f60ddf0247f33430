//! Code that abuses its sandbox: it gets a clear outcome, the server's memory stays bounded, and others go on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use e2e::Result;
use e2e::agents::{AgentSpec, create, project, sandbox_profile};
use e2e::client::{Client, text};
use e2e::follow::whole_log;
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

const MAX_RESIDENT_KB: u64 = 400 * 1024;
const MIB: usize = 1024 * 1024;
/// The result that a model reads has 24 KiB of output and a few lines around it.
const MAX_RESULT_BYTES: usize = 25 * 1024;
/// The log holds 320 KiB of a command's output; JSON may double it.
const MAX_LOG_BYTES: usize = MIB;
/// For commands that never end.
const SHORT_TIMEOUT_MS: u32 = 3000;
/// For commands that end by themselves, however busy the machine is.
const ROOMY_TIMEOUT_MS: u32 = 20_000;

/// A server, and an agent whose commands have a time limit.
struct Bench {
    data: tempfile::TempDir,
    server: Server,
    client: Client,
    agent: String,
    /// Executions so far; each has its number for a key.
    started: AtomicU32,
}

impl Bench {
    async fn start(command_timeout_ms: u32) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        let agent = impatient_agent(&client, command_timeout_ms).await?;
        Ok(Self { data, server, client, agent, started: AtomicU32::new(0) })
    }

    /// Runs these calls one after another; the execution must succeed, whatever became of them.
    async fn run(&self, calls: &[(&str, Value)]) -> Result<Ran> {
        let turns: Vec<_> =
            calls.iter().map(|(tool, arguments)| json!([{ "tool": tool, "arguments": arguments }])).collect();
        let task = json!({ "calls": turns, "answer": "done" }).to_string();
        let key = self.started.fetch_add(1, Ordering::Relaxed);
        let execution = self.client.start(&self.agent, &task, &key.to_string()).await?;
        let state = self.client.ended(&execution).await?;
        assert_eq!(state["answer"], "done", "{state}");
        self.wait_until_gone(&execution).await?;
        let iterations = state["iterations"]["nodes"].as_array().ok_or("no iterations")?;
        let calls = iterations.iter().filter_map(|iteration| iteration["toolCalls"].get(0).cloned()).collect();
        Ok(Ran { execution, calls, state })
    }

    /// A sandbox that ended by itself is seen to be gone a little later.
    async fn wait_until_gone(&self, execution: &str) -> Result {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let state = self.client.execution(execution).await?;
            let sandboxes = state["sandboxes"].as_array().ok_or("no sandboxes")?;
            if sandboxes.iter().all(|sandbox| sandbox["state"] == "GONE") {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("sandboxes are left: {sandboxes:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn run_shell(&self, command: &str) -> Result<Ran> {
        self.run(&[("run_shell", json!({ "command": command }))]).await
    }

    async fn run_python(&self, code: &str) -> Result<Ran> {
        self.run(&[("run_python", json!({ "code": code }))]).await
    }

    /// The server and its sandbox runtime are small, nothing of a sandbox is left, and another execution works.
    async fn finish(self) -> Result {
        for pid in [vec![self.server.pid()], children(self.server.pid())?].concat() {
            let resident = peak_resident_kb(pid)?;
            assert!(resident < MAX_RESIDENT_KB, "process {pid} had {resident} KiB");
        }
        let ran = self.run_shell("echo still here").await?;
        assert_eq!(ran.calls[0]["result"], "still here\n");
        let runtime = children(self.server.pid())?;
        assert!(!runtime.is_empty(), "no sandbox runtime to measure");
        let left = std::fs::read_dir(self.data.path().join("data/sandboxes/sandboxes"))?.count();
        assert_eq!(left, 0, "directories of sandboxes are left");
        assert!(self.server.stop()?.success());
        Ok(())
    }
}

/// What came of an execution.
struct Ran {
    execution: String,
    calls: Vec<Value>,
    state: Value,
}

impl Ran {
    fn assert_failed(&self, code: &str) {
        let call = &self.calls[0];
        assert_eq!((call["state"].as_str(), call["error"]["code"].as_str()), (Some("FAILED"), Some(code)), "{call}");
    }

    fn result(&self, call: usize) -> &str {
        self.calls.get(call).and_then(|call| call["result"].as_str()).unwrap_or("no result")
    }
}

/// A gibibyte goes through as long as it takes, or until the command's time is over; it is never held.
#[tokio::test]
async fn a_gibibyte_of_output_is_cut_and_said_to_be_cut() -> Result {
    let bench = Bench::start(15_000).await?;
    let code = "import sys\nfor _ in range(1024):\n    sys.stdout.write('é' * (1 << 19))\nprint('the end')";
    let ran = bench.run_python(code).await?;
    let call = &ran.calls[0];
    assert_eq!(call["truncated"], true, "{}", call["state"]);
    assert!(ran.result(0).len() < MAX_RESULT_BYTES, "{} bytes", ran.result(0).len());
    assert!(ran.result(0).contains("bytes omitted"));
    assert_eq!(call["lossy"], false, "a character was cut in two on the way");
    match call["state"].as_str() {
        Some("SUCCEEDED") => assert!(ran.result(0).ends_with("the end\n")),
        _ => ran.assert_failed("TIMED_OUT"),
    }
    let log = whole_log(&bench.client, &ran.execution).await?;
    let bytes: usize = log.iter().map(|event| event.payload.len()).sum();
    assert!(bytes < MAX_LOG_BYTES, "the log has {bytes} bytes");
    let cut = log.iter().find(|event| event.payload.contains("\"kind\":\"OutputTruncated\"")).ok_or("not said")?;
    let cut: Value = serde_json::from_str(&cut.payload)?;
    assert!(cut["omittedBytes"].as_u64().is_some_and(|omitted| omitted > 10 * MIB as u64), "{cut}");
    bench.finish().await
}

/// Also a gibibyte without a line end, on the other stream, from a shell that ends by itself before its child does.
#[tokio::test]
async fn output_behind_the_end_of_a_program_is_bounded_too() -> Result {
    let bench = Bench::start(SHORT_TIMEOUT_MS).await?;
    let ran = bench.run_shell("(while :; do head -c 1000000 /dev/zero | tr '\\0' x; done) >&2 &").await?;
    assert!(ran.result(0).len() < MAX_RESULT_BYTES, "{} bytes", ran.result(0).len());
    let log = whole_log(&bench.client, &ran.execution).await?;
    assert!(log.iter().map(|event| event.payload.len()).sum::<usize>() < MAX_LOG_BYTES);
    bench.finish().await
}

#[tokio::test]
async fn code_that_never_ends_is_stopped_with_all_its_children() -> Result {
    let bench = Bench::start(SHORT_TIMEOUT_MS).await?;
    let fork_bomb = bench.run_shell(":(){ :|:& };:; sleep 1000").await?;
    fork_bomb.assert_failed("TIMED_OUT");
    bench
        .run_python("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
        .await?
        .assert_failed("TIMED_OUT");
    bench.run_shell("while :; do :; done").await?.assert_failed("TIMED_OUT");
    let stubborn = "trap '' TERM INT HUP QUIT; while :; do sleep 1; done";
    bench.run_shell(stubborn).await?.assert_failed("TIMED_OUT");
    bench.finish().await
}

#[tokio::test]
async fn a_program_ends_whatever_its_children_hold_open_and_whatever_it_reads() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    // It leaves a child that holds its output open.
    let ran = bench.run_shell("setsid sleep 1000 & echo started").await?;
    assert_eq!((ran.result(0), ran.calls[0]["exitCode"].as_i64()), ("started\n", Some(0)));
    // It reads what never comes.
    let ran = bench.run_shell("cat; echo nothing came").await?;
    assert_eq!(ran.result(0), "nothing came\n");
    bench.finish().await
}

#[tokio::test]
async fn memory_without_end_kills_the_program_and_not_the_sandbox() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let greedy = json!({ "code": "x = []\nwhile True:\n    x.append(bytearray(10 ** 7))" });
    let ran = bench.run(&[("run_python", greedy), ("run_shell", json!({ "command": "echo alive" }))]).await?;
    ran.assert_failed("KILLED");
    assert_eq!(ran.result(1), "alive\n");
    bench.finish().await
}

#[tokio::test]
async fn bytes_that_are_no_text_are_shown_as_such() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let ran = bench.run_python("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 4)").await?;
    let call = &ran.calls[0];
    assert_eq!((call["state"].as_str(), call["lossy"].as_bool()), (Some("SUCCEEDED"), Some(true)));
    assert!(ran.result(0).starts_with("\u{FFFD}\u{1}\u{2}") && !ran.result(0).contains('\0'));
    let binary = json!({ "command": "head -c 300000 /dev/urandom > outputs/noise.bin; cat outputs/noise.bin" });
    let ran = bench.run(&[("run_shell", binary), ("read_file", json!({ "path": "outputs/noise.bin" }))]).await?;
    assert_eq!(ran.calls[0]["lossy"], true);
    assert_eq!(ran.calls[1]["state"], "SUCCEEDED", "{}", ran.calls[1]["error"]);
    assert!(ran.result(1).len() < MIB, "{} bytes", ran.result(1).len());
    assert!(ran.result(1).contains("\n[not all of it is text; "), "{} bytes", ran.result(1).len());
    let artifact = &ran.state["artifacts"][0];
    assert_eq!(artifact["byteSize"].to_string().trim_matches('"'), "300000");
    assert_eq!(bench.client.download(&text(artifact, "/downloadUrl")?).await?.len(), 300_000);
    bench.finish().await
}

#[tokio::test]
async fn a_full_disk_is_an_error_of_the_program_and_of_nobody_else() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let fill = "n = 0\ntry:\n    while True:\n        open(f'{where}/f{n}', 'wb').write(b'x' * size)\n        n += 1\n\
        except OSError as error:\n    print(n > 0, error.strerror)\n";
    let python = |place: &str, size: usize| {
        ("run_python", json!({ "code": format!("where = '{place}'\nsize = {size}\n{fill}") }))
    };
    let clear = |place: &str| {
        ("run_shell", json!({ "command": format!("echo alive; rm -f {place}/f*; echo x > y && echo room again") }))
    };
    for place in ["/workspace", "/tmp"] {
        for size in [1 << 20, 0] {
            let ran = bench.run(&[python(place, size), clear(place)]).await?;
            assert_eq!(ran.result(0), "True No space left on device\n", "{size} bytes in {place}");
            assert_eq!(ran.result(1), "alive\nroom again\n", "{size} bytes in {place}");
        }
    }
    // A file that is written from outside meets the same end, and nothing that was there before is lost.
    let everywhere =
        "echo work > kept; for place in /workspace /tmp; do cat /dev/zero > $place/1; cat /dev/zero > $place/2; done";
    let ran = bench
        .run(&[
            ("run_shell", json!({ "command": everywhere })),
            ("write_file", json!({ "path": "outputs/big.txt", "content": "y".repeat(30_000) })),
            ("run_python", json!({ "code": "print('never')" })),
            ("run_shell", json!({ "command": "rm /workspace/? /tmp/?; cat kept" })),
            ("run_python", json!({ "code": "print(open('kept').read())" })),
        ])
        .await?;
    for call in &ran.calls[1..3] {
        assert_eq!(call["error"]["code"], "SANDBOX_DISK_FULL", "{call}");
    }
    assert_eq!((ran.result(3), ran.result(4)), ("work\n", "work\n\n"));
    assert_eq!(ran.state["sandboxes"].as_array().map(Vec::len), Some(1));
    bench.finish().await
}

/// Output files beyond what is kept are not lost in silence.
#[tokio::test]
async fn outputs_that_do_not_fit_are_left_out_with_a_warning() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let many = "for n in range(200):\n    open(f'outputs/f{n:03}', 'w').write(str(n))";
    let ran = bench.run_python(many).await?;
    let kept = ran.state["artifacts"].as_array().map_or(0, Vec::len);
    assert!((1..200).contains(&kept), "{kept} artifacts");
    let warnings = warnings(&bench.client, &ran.execution).await?;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0]["code"], "OUTPUTS_LEFT_OUT");
    let message = text(&warnings[0], "/message")?;
    assert!(message.contains(&(200 - kept).to_string()), "{message}");
    assert_eq!(ran.result(0), format!("(no output)\n[{message}]"), "the model knows what it did not hand over");
    bench.finish().await
}

#[tokio::test]
async fn each_version_of_an_output_is_kept_once() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let shell = |command: &str| ("run_shell", json!({ "command": command }));
    let ran = bench
        .run(&[
            shell("echo 1 > outputs/v"),
            shell("touch outputs/v"),
            shell("echo 2 > outputs/v"),
            shell("echo 2 > outputs/v.new && mv outputs/v.new outputs/v"),
            shell("echo 1 > outputs/v"),
        ])
        .await?;
    let mut kept = Vec::new();
    for artifact in ran.state["artifacts"].as_array().into_iter().flatten() {
        kept.push(bench.client.download(&text(artifact, "/downloadUrl")?).await?);
    }
    assert_eq!(kept, ["1\n", "2\n", "1\n"].map(|version| version.as_bytes().to_vec()), "{}", ran.state["artifacts"]);
    bench.finish().await
}

#[tokio::test]
async fn a_program_may_delete_its_workspace() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let ran = bench
        .run(&[
            ("run_shell", json!({ "command": "rm -rf /workspace /workspace/* /workspace/.mcp /tmp/* 2>&1; ls -A /workspace; echo gone" })),
            ("run_shell", json!({ "command": "pwd; echo x > outputs/y || exit 7" })),
            ("write_file", json!({ "path": "outputs/a.txt", "content": "hello" })),
            ("run_python", json!({ "code": "print(open('outputs/a.txt').read())" })),
            ("read_file", json!({ "path": "inputs/none" })),
        ])
        .await?;
    assert!(ran.result(0).ends_with("gone\n"), "{}", ran.result(0));
    assert!(ran.result(1).contains("/workspace\n") && ran.calls[1]["exitCode"] == 7, "{}", ran.calls[1]);
    assert_eq!(ran.calls[2]["state"], "SUCCEEDED", "{}", ran.calls[2]);
    assert_eq!(ran.result(3), "hello\n");
    assert_eq!(ran.calls[4]["error"]["code"], "FILE_NOT_FOUND");
    assert_eq!(ran.state["artifacts"][0]["name"], "a.txt");
    bench.finish().await
}

/// Paths that are no plain files fail as what they are; the sandbox and the work in it stay.
#[tokio::test]
async fn a_file_that_is_none_is_an_error_of_one_call() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let traps = "mkfifo outputs/pipe; ln -s /dev/zero outputs/zero; ln -s /etc outputs/etc; mkdir data/shut; \
        chmod 0 data/shut; echo set";
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    let ran = bench
        .run(&[
            ("run_shell", json!({ "command": traps })),
            read("outputs/zero"),
            read("outputs"),
            write("outputs"),
            write("outputs/etc/evil"),
            write("data/shut/x"),
            read("data/shut/x"),
            ("run_shell", json!({ "command": "test -p outputs/pipe && echo all there" })),
        ])
        .await?;
    for call in &ran.calls[1..7] {
        assert_eq!(call["state"], "FAILED", "{call}");
        assert_ne!(call["error"]["code"], "SANDBOX_UNAVAILABLE", "{call}");
    }
    assert_eq!(ran.result(7), "all there\n");
    assert_eq!(ran.state["sandboxes"].as_array().map(Vec::len), Some(1));
    assert_eq!(ran.state["artifacts"], json!([]));
    bench.finish().await
}

/// A program may kill everything that it can reach; the next call finds a fresh sandbox.
#[tokio::test]
async fn a_program_that_kills_its_sandbox_gets_another_one() -> Result {
    let bench = Bench::start(ROOMY_TIMEOUT_MS).await?;
    let ran = bench
        .run(&[
            ("run_shell", json!({ "command": "kill -9 -1; kill -9 1; echo alone" })),
            ("run_shell", json!({ "command": "echo alive" })),
            ("run_shell", json!({ "command": "echo alive" })),
        ])
        .await?;
    assert_eq!(ran.result(2), "alive\n");
    bench.finish().await
}

async fn warnings(client: &Client, execution: &str) -> Result<Vec<Value>> {
    let log = whole_log(client, execution).await?;
    let events =
        log.iter().map(|event| serde_json::from_str(&event.payload)).collect::<std::result::Result<Vec<Value>, _>>()?;
    Ok(events.into_iter().filter(|event| event["kind"] == "WarningRaised").collect())
}

/// The seeded profile with another time limit, and the scripted agent that uses it.
async fn impatient_agent(client: &Client, command_timeout_ms: u32) -> Result<String> {
    let project = project(client).await?;
    let document = "query P($id: ID!) { node(id: $id) { ... on SandboxProfile { latestVersion { image } } } \
        }";
    let seeded = client.query(document, json!({ "id": sandbox_profile(client, &project).await? })).await?;
    let document = "query C($project: ID!) { sandboxConnections(projectId: $project) { nodes { id } } \
        models(projectId: $project) { nodes { id slug } } }";
    let plain = create(client, &AgentSpec::new("patient", "tools")).await?;
    assert!(!plain.is_empty());
    let found = client.query(document, json!({ "project": project })).await?;
    let profile = json!({
        "projectId": project, "slug": "impatient", "name": "impatient", "publish": true,
        "spec": {
            "connectionId": found["sandboxConnections"]["nodes"][0]["id"],
            "image": seeded["node"]["latestVersion"]["image"],
            "memoryBytes": "268435456", "diskBytes": "33554432", "pids": 64, "commandTimeoutMs": command_timeout_ms,
        },
    });
    let profile =
        client.mutate("sandboxProfileCreate", "SandboxProfileCreateInput", "sandboxProfile { id }", profile).await?;
    let models = found["models"]["nodes"].as_array().ok_or("no models")?;
    let model = models.iter().find(|model| model["slug"] == "patient").ok_or("no model")?;
    let agent = json!({
        "projectId": project, "slug": "abuser", "name": "abuser", "publish": true,
        "spec": {
            "instructions": "Do the task.", "modelId": model["id"], "sandboxProfileId": text(&profile, "/sandboxProfile/id")?,
            "tools": AgentSpec::new("abuser", "tools").with_sandbox().tools,
        },
    });
    let agent = client.mutate("agentCreate", "AgentCreateInput", "agent { id }", agent).await?;
    text(&agent, "/agent/id")
}

/// The highest resident size that a process ever had.
fn peak_resident_kb(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The processes whose parent this is.
fn children(pid: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(child) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // A process may end meanwhile.
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        if parent == Some(pid.to_string().as_str()) {
            found.push(child);
        }
    }
    Ok(found)
}
