//! Whatever ends a runtime, nothing of its sandboxes stays.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use local_support::{BINARY, Host, KEY, is_alive, until};
use serde_json::{Value, json};

/// What the runtime has written down about its sandboxes.
#[cfg(test)]
fn records(host: &Host) -> Vec<(u32, Vec<PathBuf>)> {
    let sandboxes = std::fs::read_dir(host.state.join("sandboxes")).unwrap();
    let read = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("record.json")).unwrap();
    sandboxes
        .map(|entry| serde_json::from_str::<Value>(&read(entry.unwrap())).unwrap())
        .map(|record| {
            let cgroups = record["cgroups"].as_array().unwrap();
            let cgroups = cgroups.iter().map(|path| PathBuf::from(path.as_str().unwrap())).collect();
            (u32::try_from(record["pid"].as_u64().unwrap()).unwrap(), cgroups)
        })
        .collect()
}

#[cfg(test)]
fn start_again(state: &std::path::Path, key: &std::path::Path) -> std::process::Child {
    Command::new(BINARY)
        .args(["runtime", "--listen", "127.0.0.1:0", "--state-dir"])
        .arg(state)
        .arg("--api-key-file")
        .arg(key)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_killed_runtime_leaves_nothing_after_the_next_start() {
    let mut host = Host::start();
    for _ in 0..3 {
        let sandbox = host.sandbox(json!({})).await;
        sandbox.start(json!({ "command": "setsid sleep 600", "background": true })).await.text().await.unwrap();
    }
    let left = records(&host);
    assert_eq!(left.len(), 3);
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    until("the sandboxes die with their runtime", async || left.iter().all(|(pid, _)| !is_alive(*pid))).await;
    let key = host.state.with_file_name("key");
    let mut next = start_again(&host.state, &key);
    let mut url = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(next.stdout.take().unwrap()), &mut url).unwrap();
    assert!(url.starts_with("http://"));
    assert_eq!(host.directories(), 0);
    assert!(left.iter().flat_map(|(_, cgroups)| cgroups).all(|path| !path.exists()));
    let second = start_again(&host.state, &key).wait_with_output().unwrap();
    assert!(!second.status.success() && String::from_utf8_lossy(&second.stderr).contains("in use"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&next), rustix::process::Signal::TERM).unwrap();
    assert!(next.wait().unwrap().success());
}

/// Nor does one that could not be made, here since its directory cannot be.
#[tokio::test]
async fn a_sandbox_that_cannot_be_made_leaves_nothing() {
    let host = Host::start();
    let first = host.sandbox(json!({})).await;
    let groups: Vec<PathBuf> =
        records(&host).remove(0).1.iter().map(|path| path.parent().unwrap().to_owned()).collect();
    host.delete(&format!("/v1/sandboxes/{}", first.id)).await;
    let sandboxes = host.state.join("sandboxes");
    std::fs::remove_dir(&sandboxes).unwrap();
    std::fs::write(&sandboxes, "").unwrap();
    let (status, refusal) = host.post("/v1/sandboxes", local_support::order(json!({}))).await;
    assert_eq!((status, &refusal["code"]), (500.try_into().unwrap(), &json!("LOCAL::SANDBOX_START_FAILED")));
    let has_directories = |path: &PathBuf| std::fs::read_dir(path).unwrap().any(|entry| entry.unwrap().path().is_dir());
    assert!(!groups.iter().any(has_directories), "{groups:?}");
    std::fs::remove_file(&sandboxes).unwrap();
    std::fs::create_dir(&sandboxes).unwrap();
    host.sandbox(json!({})).await;
}

/// Also of one whose processes could not die, because they were frozen.
#[tokio::test]
async fn a_paused_sandbox_does_not_outlive_its_runtime_for_long() {
    let mut host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    sandbox.start(json!({ "command": "while :; do :; done", "background": true })).await.text().await.unwrap();
    let pause = host.request(reqwest::Method::POST, &format!("/v1/sandboxes/{}/pause", sandbox.id));
    assert_eq!(pause.send().await.unwrap().status(), reqwest::StatusCode::ACCEPTED);
    let left = records(&host);
    host.child.kill().unwrap();
    host.child.wait().unwrap();
    let mut next = start_again(&host.state, &host.state.with_file_name("key"));
    let mut url = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(next.stdout.take().unwrap()), &mut url).unwrap();
    assert!(url.starts_with("http://"));
    until("every process is gone", async || left.iter().all(|(pid, _)| !is_alive(*pid))).await;
    assert!(left.iter().flat_map(|(_, cgroups)| cgroups).all(|path| !path.exists()));
    rustix::process::kill_process(rustix::process::Pid::from_child(&next), rustix::process::Signal::TERM).unwrap();
    assert!(next.wait().unwrap().success());
}

#[tokio::test]
async fn an_orderly_stop_removes_everything() {
    let mut host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let mut stream = sandbox.start(json!({ "command": "sleep 600" })).await;
    stream.chunk().await.unwrap();
    let left = records(&host);
    let pid = rustix::process::Pid::from_child(&host.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(host.child.wait().unwrap().success());
    assert_eq!(host.directories(), 0);
    for (pid, cgroups) in left {
        assert!(!is_alive(pid));
        for path in cgroups {
            assert!(!path.exists() && !path.parent().unwrap().exists(), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn the_runtime_ends_with_its_parent() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("key");
    std::fs::write(&key, KEY).unwrap();
    let script = format!(
        "'{BINARY}' runtime --listen 127.0.0.1:0 --api-key-file '{}' --state-dir '{}' --die-with-parent $$ & echo $!; wait",
        key.display(),
        directory.path().join("state").display()
    );
    let mut parent = Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.stdout.take().unwrap()));
    let pid: u32 = lines.next().unwrap().unwrap().parse().unwrap();
    assert!(lines.next().unwrap().unwrap().starts_with("http://"));
    assert!(is_alive(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    let is_gone = || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
    until("the runtime ends", async || is_gone()).await;
}

#[tokio::test]
async fn many_sandboxes_come_and_go() {
    let host = Host::start();
    for _ in 0..3 {
        let made: Vec<_> = futures_util::future::join_all((0..8).map(|_| host.sandbox(json!({})))).await;
        let runs = futures_util::future::join_all(made.iter().map(|sandbox| sandbox.run("echo $((6*7))"))).await;
        assert!(runs.iter().all(|run| run.stdout == "42\n"));
        let removals = made.iter().map(|sandbox| format!("/v1/sandboxes/{}", sandbox.id)).collect::<Vec<_>>();
        futures_util::future::join_all(removals.iter().map(|path| host.delete(path))).await;
    }
    assert_eq!(host.directories(), 0);
}
