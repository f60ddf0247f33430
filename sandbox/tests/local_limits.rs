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

#[tokio::test]
async fn memory_is_limited() {
    let host = Host::start();
    let neighbour = host.sandbox(json!({})).await;
    let limits = json!({ "memory": "64Mi", "disk": "16Mi" });
    let sandbox = host
        .sandbox(json!({ "resourceLimits": limits, "extensions": { "vitrine.require": "memory,pids,disk" } }))
        .await;
    let run = sandbox.execute(json!({ "argv": ["python3", "-c", "x = bytearray(400 << 20); print(len(x))"] })).await;
    assert_eq!((run.exit, run.stdout.as_str()), (-1, ""));
    assert_well(&host, &neighbour).await;
    assert_eq!(sandbox.run("echo alive").await.stdout, "alive\n");
}

#[tokio::test]
async fn processes_are_limited() {
    let host = Host::start();
    let neighbour = host.sandbox(json!({})).await;
    let sandbox = host.sandbox(json!({ "resourceLimits": { "pids": "32" } })).await;
    let run = sandbox.execute(json!({ "command": "b() { b | b & }; b; sleep 600", "timeout": 1500 })).await;
    assert_eq!(run.exit, -1);
    assert_well(&host, &neighbour).await;
    assert_eq!(sandbox.run("echo alive").await.stdout, "alive\n");
    let many = sandbox.run("for i in $(seq 100); do sleep 5 & done; wait").await;
    assert!(many.stderr.contains("Resource temporarily unavailable"), "{many:?}");
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
    assert_eq!(sandbox.get(&format!("/command/status/{}", run.id)).await.1["exit_code"], 0);
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
async fn without_control_groups_it_says_so() {
    let hidden = Host::start_with(&["--no-cgroups"]);
    let ordinary = rustix::process::geteuid().is_root().then(|| Host::start_as(NOBODY));
    for host in std::iter::once(&hidden).chain(&ordinary) {
        for wanted in ["memory", "pids", "disk", "network,pids"] {
            let request = order(json!({ "extensions": { "vitrine.require": wanted } }));
            let (status, refusal) = host.post("/v1/sandboxes", request).await;
            assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("SANDBOX::LIMIT_NOT_ENFORCEABLE")));
            let last = wanted.rsplit(',').next().unwrap();
            assert!(refusal["message"].as_str().unwrap().contains(last));
        }
        let (status, made) =
            host.post("/v1/sandboxes", order(json!({ "extensions": { "vitrine.require": "network" } }))).await;
        assert_eq!(status, StatusCode::ACCEPTED);
        assert_eq!(made["extensions"]["vitrine.enforced"], "network,open_files,file_size,time");
    }
}
