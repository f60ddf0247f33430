//! Every limit is hit once; the server and the neighbours must not notice.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use local_support::{Host, NOBODY, Sandbox, order, until};
use reqwest::StatusCode;
use serde_json::json;

#[cfg(test)]
async fn assert_well(host: &Host, neighbour: &Sandbox) {
    assert_eq!(neighbour.run("echo fine").await.stdout, "fine\n");
    assert_eq!(host.get("/health").await.0, StatusCode::OK);
}

/// A runtime that may use control groups, and two that have none: one started by root, where the tests are, and one of
/// an ordinary user.
#[cfg(test)]
fn hosts() -> Vec<Host> {
    let ordinary = rustix::process::geteuid().is_root().then(|| Host::start_as(NOBODY));
    [Host::start(), Host::start_with(&["--no-cgroups"])].into_iter().chain(ordinary).collect()
}

#[tokio::test]
async fn memory_is_limited() {
    for host in hosts() {
        let neighbour = host.sandbox(json!({})).await;
        let limits = json!({ "memory": "64Mi", "disk": "16Mi" });
        let sandbox = host
            .sandbox(json!({ "resourceLimits": limits, "extensions": { "vitrine.require": "memory,pids,disk" } }))
            .await;
        let run =
            sandbox.execute(json!({ "argv": ["python3", "-c", "x = bytearray(400 << 20); print(len(x))"] })).await;
        assert_eq!((run.exit, run.stdout.as_str()), (-1, ""));
        assert_well(&host, &neighbour).await;
        assert_eq!(sandbox.run("echo alive").await.stdout, "alive\n");
    }
}

/// No process of these holds much; together they do.
#[tokio::test]
async fn the_memory_of_all_processes_counts_together() {
    for host in hosts() {
        let neighbour = host.sandbox(json!({})).await;
        let sandbox = host.sandbox(json!({ "resourceLimits": { "memory": "64Mi", "disk": "16Mi" } })).await;
        let program = "import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(os.urandom(1 << 20)) * 24
        time.sleep(600)
codes = [os.wait()[1]]
print(codes)";
        let run = sandbox.execute(json!({ "argv": ["python3", "-c", program] })).await;
        assert!(run.exit == -1 || run.stdout == "[9]\n", "somebody is killed: {run:?}");
        assert_well(&host, &neighbour).await;
        assert_eq!(sandbox.run("echo alive").await.stdout, "alive\n");
    }
}

/// Where nothing counts it, memory that belongs to no process cannot be had.
#[tokio::test]
async fn memory_cannot_hide_from_the_watch() {
    let host = Host::start_with(&["--no-cgroups"]);
    let sandbox = host.sandbox(json!({ "resourceLimits": { "memory": "64Mi", "disk": "16Mi" } })).await;
    let program = "import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.memfd_create(b'x', 0), libc.shmget(0, 1 << 30, 0o1600), libc.msgget(0, 0o1600))
shared = mmap.mmap(-1, 400 << 20)
for at in range(0, 400 << 20, 4096):
    shared[at] = 1
print('held')";
    let run = sandbox.execute(json!({ "argv": ["python3", "-c", program] })).await;
    assert_eq!((run.exit, run.stdout.as_str()), (-1, ""), "{}", run.stderr);
    let run = sandbox.run(&format!("python3 -uc \"{}\"", program.lines().take(3).collect::<Vec<_>>().join("\n"))).await;
    assert_eq!(run.stdout, "-1 -1 -1\n", "{}", run.stderr);
}

#[tokio::test]
async fn what_is_shared_by_fork_counts_once() {
    let host = Host::start_with(&["--no-cgroups"]);
    let sandbox = host.sandbox(json!({ "resourceLimits": { "memory": "128Mi", "disk": "16Mi" } })).await;
    let program = "import os, time
x = bytearray(os.urandom(1 << 20)) * 64
for _ in range(6):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
print([os.wait()[1] for _ in range(6)])";
    let run = sandbox.execute(json!({ "argv": ["python3", "-c", program] })).await;
    assert_eq!((run.exit, run.stdout.as_str()), (0, "[0, 0, 0, 0, 0, 0]\n"), "{}", run.stderr);
}

#[tokio::test]
async fn processes_are_limited() {
    for host in hosts() {
        let neighbour = host.sandbox(json!({})).await;
        let sandbox = host.sandbox(json!({ "resourceLimits": { "pids": "32" } })).await;
        let run = sandbox.execute(json!({ "command": "b() { b | b & }; b; sleep 600", "timeout": 1500 })).await;
        assert_eq!(run.exit, -1);
        assert_well(&host, &neighbour).await;
        assert_eq!(sandbox.run("echo alive").await.stdout, "alive\n");
        let many = sandbox.run("for i in $(seq 100); do sleep 5 & done; wait").await;
        assert!(many.stderr.contains("Resource temporarily unavailable"), "{many:?}");
        let threads = "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(600,), daemon=True).start()";
        let run = sandbox.execute(json!({ "argv": ["python3", "-c", threads] })).await;
        assert!(run.stderr.contains("can't start new thread"), "{run:?}");
    }
}

#[tokio::test]
async fn storage_is_limited() {
    let host = Host::start();
    let neighbour = host.sandbox(json!({})).await;
    let sandbox = host.sandbox(json!({ "resourceLimits": { "disk": "16Mi", "memory": "64Mi" } })).await;
    for place in ["/workspace", "/tmp", "/dev/shm", "/home/vitrine"] {
        let run = sandbox.run(&format!("cat /dev/zero > {place}/full; rm -f {place}/full; true")).await;
        assert!(run.stderr.contains("No space left"), "{place} {run:?}");
    }
    let fill = sandbox.run("for i in 1 2 3; do head -c 7000000 /dev/zero > f$i; done").await;
    assert!(fill.stderr.contains("No space left on device"), "{fill:?}");
    let (status, refusal) = sandbox.upload("/workspace/more", &vec![1; 8 << 20], 644).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(refusal["message"].as_str().unwrap().contains("No space left"), "{refusal}");
    assert_eq!(sandbox.run("rm f*; echo alive").await.stdout, "alive\n");
    let empty = sandbox
        .execute(
            json!({ "argv": ["python3", "-c", "i = 0\nwhile True:\n open(f'/workspace/e{i}', 'w').close(); i += 1"] }),
        )
        .await;
    assert!(empty.exit == 1 && empty.stderr.contains("No space left on device"), "{}", empty.stderr);
    assert_well(&host, &neighbour).await;
    assert_eq!(sandbox.run("find /workspace -name 'e*' -delete; echo alive").await.stdout, "alive\n");
}

#[tokio::test]
async fn files_and_cores_are_limited() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    assert_eq!(sandbox.run("ulimit -n; ulimit -c").await.stdout, "1024\n0\n");
    let run =
        sandbox.execute(json!({ "argv": ["python3", "-c", "f = [open('/dev/null') for _ in range(2000)]"] })).await;
    assert!(run.stderr.contains("Too many open files"), "{}", run.stderr);
    // Without a limit on files, a sparse one could be of any size: it takes no storage.
    let large = sandbox
        .run("python3 -c \"import signal; signal.signal(25, signal.SIG_IGN); open('x', 'w').truncate(1 << 40)\"")
        .await;
    assert!(large.stderr.contains("File too large"), "{}", large.stderr);
    assert_eq!(sandbox.run("truncate -s 1T x").await.exit, -1, "the signal for it ends who does not expect it");
}

#[tokio::test]
async fn time_is_limited() {
    for host in hosts() {
        let sandbox = host.sandbox(json!({ "timeout": 60 })).await;
        let run = sandbox.execute(json!({ "command": "sleep 600", "timeout": 300 })).await;
        assert_eq!(run.exit, -1);
        let path = format!("/v1/sandboxes/{}", sandbox.id);
        host.let_expire(&sandbox).await;
        until("its time is over", async || host.get(&path).await.0 == StatusCode::NOT_FOUND).await;
    }
}

#[tokio::test]
async fn a_deleted_workspace_is_the_sandboxs_own_loss() {
    let host = Host::start();
    let neighbour = host.sandbox(json!({})).await;
    let sandbox = host.sandbox(json!({})).await;
    assert_ne!(sandbox.run("rm -rf /workspace /tmp/* ~/.[a-z]* 2>&1").await.exit, 0);
    assert_eq!(sandbox.run("pwd").await.stdout, "/workspace\n");
    assert_eq!(sandbox.upload("/workspace/a", b"b", 644).await.0, StatusCode::OK);
    assert_well(&host, &neighbour).await;
}

#[tokio::test]
async fn a_gigabyte_of_output_does_not_grow_the_server() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let command = json!({ "command": "head -c 1073741824 /dev/zero; echo end >&2", "background": true });
    let run = sandbox.execute(command).await;
    until("the command has ended", async || {
        sandbox.get(&format!("/command/status/{}", run.id)).await.1["running"] == false
    })
    .await;
    let (_, status) = sandbox.get(&format!("/command/status/{}", run.id)).await;
    assert_eq!(status["exit_code"], 0);
    assert_eq!(status["vitrine.dropped_bytes"], (1 << 30) + 4 - (64 << 20), "what was not kept is counted");
    let left = std::fs::read_dir(host.state.join("sandboxes").join(&sandbox.id)).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["record.json"], "what is kept goes with the runtime");
    let streamed = sandbox.run("head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99").await;
    assert_eq!(streamed.stdout.len(), 20_000_000 + 20_000_000_usize / 99);
    assert!(host.memory_kib("VmHWM") < 100_000, "{} KiB", host.memory_kib("VmHWM"));
}

#[tokio::test]
async fn a_stalled_reader_stalls_its_command_alone() {
    let host = Host::start();
    let neighbour = host.sandbox(json!({})).await;
    let sandbox = host.sandbox(json!({})).await;
    let mut response = sandbox.start(json!({ "command": "yes | tee count > /dev/stdout" })).await;
    let first = response.chunk().await.unwrap().unwrap();
    let id = String::from_utf8_lossy(&first).split('"').nth(7).unwrap().to_owned();
    // The file comes a moment after the command begins.
    let size = async || sandbox.run("stat -c %s count").await.stdout.trim().parse::<u64>().unwrap_or(0);
    let mut last = size().await;
    until("the command is stalled", async || {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let now = size().await;
        std::mem::replace(&mut last, now) == now && now > 0
    })
    .await;
    assert_well(&host, &neighbour).await;
    assert!(host.memory_kib("VmHWM") < 100_000, "{} KiB", host.memory_kib("VmHWM"));
    assert_eq!(sandbox.delete(&format!("/command?id={id}")).await.0, StatusCode::OK, "a stalled command can be ended");
}

#[tokio::test]
async fn what_enforces_a_limit_is_told_and_can_be_required() {
    for host in hosts() {
        let (status, made) = host
            .post(
                "/v1/sandboxes",
                order(json!({ "extensions": { "vitrine.require": "memory,pids,disk,network,time" } })),
            )
            .await;
        assert_eq!(status, StatusCode::ACCEPTED, "{made}");
        let enforced = made["extensions"]["vitrine.enforced"].as_str().unwrap();
        let has_groups = enforced.split(',').any(|limit| limit == "memory");
        if !has_groups {
            assert_eq!(enforced, "memory:watched,disk,pids:rlimit,network,open_files,file_size,time");
        }
        for wanted in ["memory:cgroup", "network,pids:cgroup", "cpu"] {
            let request = order(json!({ "extensions": { "vitrine.require": wanted } }));
            let (status, refusal) = host.post("/v1/sandboxes", request).await;
            if has_groups {
                assert_eq!(status, StatusCode::ACCEPTED, "{refusal}");
                continue;
            }
            assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("SANDBOX::LIMIT_NOT_ENFORCEABLE")));
            assert!(refusal["message"].as_str().unwrap().contains(wanted.rsplit(',').next().unwrap()));
        }
    }
}
