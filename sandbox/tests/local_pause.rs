//! Pause and resume: the code stands still, nothing is lost, and the rest of the world goes on.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::time::Duration;

use local_support::{Host, Sandbox, body, until};
use reqwest::StatusCode;
use serde_json::json;

/// Runtimes that pause by control group where they can, and by signal.
#[cfg(test)]
fn hosts() -> [Host; 2] {
    [Host::start(), Host::start_with(&["--no-cgroups"])]
}

#[cfg(test)]
async fn put(host: &Host, sandbox: &Sandbox, verb: &str) -> (StatusCode, serde_json::Value) {
    let path = format!("/v1/sandboxes/{}/{verb}", sandbox.id);
    body(host.request(reqwest::Method::POST, &path).send().await.unwrap()).await
}

#[cfg(test)]
async fn state(host: &Host, sandbox: &Sandbox) -> String {
    host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await.1["status"]["state"].as_str().unwrap_or("none").to_owned()
}

#[tokio::test]
async fn the_clock_of_the_code_stands_still() {
    for host in hosts() {
        let sandbox = host.sandbox(json!({})).await;
        let command =
            "i=0; (while :; do i=$((i+1)); echo $i; sleep 0.02; done) & setsid sh -c 'while :; do :; done' & wait";
        let mut response = sandbox.start(json!({ "command": command })).await;
        let mut seen = 0;
        while seen < 5 {
            seen += String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()).matches("stdout").count();
        }
        assert_eq!(put(&host, &sandbox, "pause").await, (StatusCode::ACCEPTED, json!("")));
        assert_eq!(state(&host, &sandbox).await, "Paused");
        let (_, listed) = host.get("/v1/sandboxes?state=paused").await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        // What was printed before the pause may still come; then there is silence, without a ping and without an end.
        let silent = async |response: &mut reqwest::Response| {
            while let Ok(chunk) = tokio::time::timeout(Duration::from_millis(600), response.chunk()).await {
                assert!(chunk.unwrap().is_some(), "the stream must stay open");
            }
        };
        tokio::time::timeout(Duration::from_secs(60), silent(&mut response)).await.expect("silence within a minute");
        let used = cpu_ticks(&host, &sandbox);
        assert!(used > 0, "it has run before");
        let longer_than_a_ping = tokio::time::timeout(Duration::from_millis(3_300), response.chunk()).await;
        assert!(longer_than_a_ping.is_err(), "a paused sandbox is silent: {longer_than_a_ping:?}");
        assert_eq!(cpu_ticks(&host, &sandbox), used, "no process of the sandbox has run");
        let (status, refusal) = sandbox.post("/command", json!({ "command": "true" })).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::CONFLICT, &json!("LOCAL::SANDBOX_PAUSED")));
        assert_eq!(put(&host, &sandbox, "resume").await, (StatusCode::ACCEPTED, json!("")));
        assert_eq!(state(&host, &sandbox).await, "Running");
        assert!(response.chunk().await.unwrap().is_some(), "the command goes on in its stream");
        assert_eq!(sandbox.run("echo fine").await.stdout, "fine\n");
    }
}

/// Processor time of every process of the sandbox, its first one excepted, which goes on where a signal stops the others.
#[cfg(test)]
fn cpu_ticks(host: &Host, sandbox: &Sandbox) -> u64 {
    let of = |pid: &u32| {
        let fields = stat(*pid)?;
        Some(fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap())
    };
    host.processes(sandbox)[1..].iter().filter_map(of).sum()
}

/// What the kernel says about a process behind its name, from its state on.
#[cfg(test)]
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

/// The first process of the sandbox is held up, so that it does what it is told too late for the caller.
#[tokio::test]
async fn a_pause_that_failed_is_taken_back() {
    let host = Host::start_with(&["--no-cgroups"]);
    let sandbox = host.sandbox(json!({})).await;
    let command = json!({ "command": "while :; do sleep 0.01; done", "background": true });
    sandbox.start(command).await.text().await.unwrap();
    let signal = |signal| {
        let first = i32::try_from(host.processes(&sandbox)[0]).unwrap();
        rustix::process::kill_process(rustix::process::Pid::from_raw(first).unwrap(), signal).unwrap();
    };
    for (verb, code, stays) in
        [("pause", "LOCAL::SANDBOX_PAUSE_FAILED", "Running"), ("resume", "LOCAL::SANDBOX_RESUME_FAILED", "Paused")]
    {
        signal(rustix::process::Signal::STOP);
        let (status, refusal) = put(&host, &sandbox, verb).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::INTERNAL_SERVER_ERROR, &json!(code)));
        assert_eq!(state(&host, &sandbox).await, stays);
        signal(rustix::process::Signal::CONT);
        if verb == "pause" {
            assert_eq!(sandbox.run("echo fine").await.stdout, "fine\n");
            assert_eq!(put(&host, &sandbox, "pause").await.0, StatusCode::ACCEPTED);
        } else {
            // The answers to both words have to come before anything is known.
            until("everything stands still", async || is_stopped(&host, &sandbox)).await;
            assert_eq!(put(&host, &sandbox, "resume").await.0, StatusCode::ACCEPTED);
        }
        assert_eq!(is_stopped(&host, &sandbox), verb == "pause", "{verb} is done when it says so");
    }
    assert_eq!(sandbox.run("echo fine").await.stdout, "fine\n");
}

#[cfg(test)]
fn is_stopped(host: &Host, sandbox: &Sandbox) -> bool {
    host.processes(sandbox)[1..].iter().filter_map(|pid| stat(*pid)).all(|fields| matches!(&*fields[0], "T" | "Z"))
}

/// Row 14.
#[tokio::test]
async fn states_that_do_not_fit_are_conflicts() {
    for host in hosts() {
        let sandbox = host.sandbox(json!({})).await;
        let code = async |verb: &str| {
            let (status, refusal) = put(&host, &sandbox, verb).await;
            (status.as_u16(), refusal["code"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(code("resume").await, (409, "LOCAL::SANDBOX_NOT_PAUSED".to_owned()));
        assert_eq!(code("pause").await.0, 202);
        assert_eq!(code("pause").await, (409, "LOCAL::SANDBOX_NOT_RUNNING".to_owned()));
        assert_eq!(code("resume").await.0, 202);
        let missing = host.post("/v1/sandboxes/none/pause", json!({})).await;
        assert_eq!(missing.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_paused_sandbox_can_be_deleted_and_expires() {
    for host in hosts() {
        let deleted = host.sandbox(json!({})).await;
        let expiring = host.sandbox(json!({ "timeout": 60 })).await;
        for sandbox in [&deleted, &expiring] {
            let command = json!({ "command": "while :; do :; done", "background": true });
            sandbox.start(command).await.text().await.unwrap();
            assert_eq!(put(&host, sandbox, "pause").await.0, StatusCode::ACCEPTED);
        }
        assert_eq!(host.delete(&format!("/v1/sandboxes/{}", deleted.id)).await.0, StatusCode::NO_CONTENT);
        host.let_expire(&expiring).await;
        until("the paused sandbox expires", async || state(&host, &expiring).await == "none").await;
        until("nothing of either is left", async || host.directories() == 0).await;
    }
}

#[tokio::test]
async fn a_program_cannot_arrange_to_be_woken() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let has_groups = sandbox_groups(&sandbox).contains(&sandbox.id);
    if !has_groups {
        // By signal alone this cannot be held; `docs/sandbox.md` says so.
        return;
    }
    // SIGCONT every 20 ms, by a timer of the kernel's.
    let program = "import ctypes, signal, time
class Event(ctypes.Structure):
    _fields_ = [('value', ctypes.c_void_p), ('signo', ctypes.c_int), ('notify', ctypes.c_int), ('pad', ctypes.c_char * 48)]
libc = ctypes.CDLL(None)
timer = ctypes.c_void_p()
event = Event(None, 18, 0, b'')
assert libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer)) == 0
spec = (ctypes.c_long * 4)(0, 20_000_000, 0, 20_000_000)
assert libc.timer_settime(timer, 0, ctypes.byref(spec), None) == 0
while True:
    open('count', 'a').write('x')
    time.sleep(0.01)
";
    let command = json!({ "argv": ["python3", "-c", program], "background": true });
    sandbox.start(command).await.text().await.unwrap();
    until("it runs", async || sandbox.run("stat -c %s count").await.stdout.trim().parse().unwrap_or(0) > 3).await;
    put(&host, &sandbox, "pause").await;
    let used = cpu_ticks(&host, &sandbox);
    assert!(used > 0, "it has run before");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(cpu_ticks(&host, &sandbox), used);
    put(&host, &sandbox, "resume").await;
    let size = async || sandbox.run("stat -c %s count").await.stdout.trim().parse::<u64>().unwrap_or(0);
    let before = size().await;
    until("it goes on", async || size().await > before).await;
}

#[cfg(test)]
fn sandbox_groups(sandbox: &Sandbox) -> String {
    let read = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cgroup")).unwrap_or_default();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(read(entry.ok()?)));
    all.filter(|groups| groups.contains(&sandbox.id)).collect()
}
