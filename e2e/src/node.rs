//! Clients that others wrote in JavaScript, run by Node at the versions that their lock file pins.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;

use crate::Result;

const INSTALL: &str = "node and npm are missing; install them: apt-get install -y nodejs npm";
const LONGEST: Duration = Duration::from_secs(60);

/// Fetches the packages of this folder of the crate, unless they are there and as the lock file says.
pub fn install(folder: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let lock = std::fs::read(folder.join("package-lock.json"))?;
    let installed = folder.join("node_modules/.installed-lock");
    if std::fs::read(&installed).is_ok_and(|known| known == lock) {
        return Ok(folder);
    }
    let npm = Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).output();
    let output = npm.map_err(|_| INSTALL)?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    std::fs::write(installed, lock)?;
    Ok(folder)
}

/// Runs a script of the folder with `input` on its standard input, and reads the lines of JSON that it prints.
pub async fn run(folder: &Path, script: &str, input: &Value) -> Result<Vec<Value>> {
    let mut node = tokio::process::Command::new("node")
        .arg(script)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| INSTALL)?;
    let mut stdin = node.stdin.take().ok_or("no standard input")?;
    stdin.write_all(input.to_string().as_bytes()).await?;
    drop(stdin);
    let output = tokio::time::timeout(LONGEST, node.wait_with_output()).await??;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().map(serde_json::from_str).collect::<std::result::Result<_, _>>()?)
}
