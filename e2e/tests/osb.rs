//! The official `osb` command (PyPI `opensandbox-cli`) works with the local runtime.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use e2e::Result;
use e2e::process::SandboxRuntime;
use e2e::python::install;
use serde_json::{Value, json};

struct Osb {
    program: PathBuf,
    domain: String,
    api_key: String,
}

impl Osb {
    fn of(runtime: &SandboxRuntime) -> Result<Self> {
        Ok(Self {
            program: install("opensandbox-clients")?.join("osb"),
            domain: runtime.url.replacen("http://", "", 1),
            api_key: runtime.api_key.clone(),
        })
    }

    fn call(&self, arguments: &[&str]) -> Result<Output> {
        let output = Command::new(&self.program)
            .args(["--no-color", "--protocol", "http", "--domain", &self.domain, "--api-key", &self.api_key])
            .args(arguments)
            .output()?;
        Ok(output)
    }

    fn text(&self, arguments: &[&str]) -> Result<String> {
        let output = self.call(arguments)?;
        if !output.status.success() {
            return Err(format!("osb {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn json(&self, arguments: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.text(arguments)?)?)
    }
}

#[test]
fn the_official_command_creates_runs_writes_reads_and_kills() -> Result {
    let state = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(state.path())?;
    let osb = Osb::of(&runtime)?;
    let created = osb.json(&["sandbox", "create", "--image", "vitrine/code", "-o", "json"])?;
    let id = created["id"].as_str().ok_or("no id")?;

    assert_eq!(
        osb.text(&["command", "run", id, "-o", "raw", "--", "sh", "-c", "echo hello; echo; pwd"])?,
        "hello\n\n/workspace\n"
    );
    let failed = osb.call(&["command", "run", id, "-o", "raw", "--", "sh", "-c", "echo before; exit 3"])?;
    assert_eq!((failed.status.code(), String::from_utf8(failed.stdout)?.as_str()), (Some(1), "before\n"));
    assert!(String::from_utf8(failed.stderr)?.contains("CommandExecError: 3"));

    osb.text(&["file", "write", id, "/workspace/notes/é.txt", "--content", "first\nsecond é"])?;
    assert_eq!(osb.text(&["file", "cat", id, "/workspace/notes/é.txt"])?, "first\nsecond é");
    let local = state.path().join("copy.txt");
    osb.text(&["file", "download", id, "/workspace/notes/é.txt", path(&local)?])?;
    assert_eq!(std::fs::read_to_string(local)?, "first\nsecond é");

    osb.text(&["sandbox", "kill", id])?;
    assert!(!osb.call(&["command", "run", id, "--", "true"])?.status.success(), "it ran in a dead sandbox");
    Ok(())
}

#[test]
fn the_official_command_follows_the_background_and_reads_the_policy() -> Result {
    let state = tempfile::tempdir()?;
    let runtime = SandboxRuntime::start(state.path())?;
    let osb = Osb::of(&runtime)?;
    let policy = state.path().join("policy.json");
    let rule = json!({ "action": "allow", "target": "example.com" });
    std::fs::write(&policy, json!({ "defaultAction": "deny", "egress": [rule] }).to_string())?;
    let policy = ["--network-policy-file", path(&policy)?];
    let created = [&["sandbox", "create", "--image", "vitrine/code", "-o", "json"], &policy[..]].concat();
    let created = osb.json(&created)?;
    let id = created["id"].as_str().ok_or("no id")?;

    let script = "echo one; echo two >&2; while [ ! -e go ]; do sleep 0.05; done; echo three; exit 3";
    let started = osb.json(&["command", "run", id, "--background", "-o", "json", "--", "sh", "-c", script])?;
    let command = started["execution_id"].as_str().ok_or("no id of a command")?;
    let status = || osb.json(&["command", "status", id, command, "-o", "json"]);
    assert_eq!(status()?["running"], true);
    osb.text(&["command", "run", id, "-o", "raw", "--", "touch", "go"])?;
    let until = Instant::now() + Duration::from_secs(120);
    while status()?["running"] == true {
        assert!(Instant::now() < until, "it does not end");
    }
    assert_eq!(status()?["exit_code"], 3);
    let log = osb.json(&["command", "logs", id, command, "-o", "json"])?;
    assert_eq!((&log["content"], &log["cursor"]), (&json!("one\ntwo\nthree\n"), &json!(14)));
    let rest = osb.json(&["command", "logs", id, command, "--cursor", "8", "-o", "json"])?;
    assert_eq!(rest["content"], "three\n");

    let told = json!({ "default_action": "deny", "egress": [rule] });
    assert_eq!(osb.json(&["egress", "get", id, "-o", "json"])?, told);
    osb.text(&["sandbox", "kill", id])?;
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| "the path is no text".into())
}
