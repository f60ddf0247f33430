//! Puts credentials into a sandbox and takes them away again.
//!
//! A credential lies in a directory of its own on a tmpfs, under a name that nobody can guess, and only its owner may read
//! it. The secret goes up as the content of a file: no command line, variable or log of the server has it.

use std::time::Duration;

use domain::ids::ToolCallId;
use domain::sandbox::{LiveSandbox, SandboxError};
use tokio_util::sync::CancellationToken;

use super::failure::failure;
use super::network::refused;
use crate::opensandbox::{Captured, CommandEnd, CommandRequest, FileMode, Sandbox, Upload};

const OWNER_READS: FileMode = FileMode(0o400);
const WITHIN: Duration = Duration::from_secs(30);
const SEARCH_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH; ";

pub(super) async fn put(
    remote: &Sandbox,
    sandbox: &LiveSandbox,
    name: &str,
    secret: &str,
) -> Result<String, SandboxError> {
    let call = call_of(sandbox)?;
    let dir = run(remote, make_dir(call, name)).await?.ok_or_else(no_tmpfs)?;
    let path = format!("{dir}/{name}");
    let upload = Upload { path: path.clone(), mode: Some(OWNER_READS), size_bytes: secret.len() as u64 };
    let bytes = std::io::Cursor::new(secret.as_bytes().to_vec());
    let placed = match remote.upload(&upload, bytes).await {
        Ok(()) => run(remote, hand_over(&dir, &path, sandbox.setting.user.as_deref())).await?.ok_or_else(no_tmpfs),
        Err(error) => Err(failure(&error)),
    };
    if placed.is_err() {
        remove(remote, sandbox, &[name]).await?;
    }
    placed.map(|_| path)
}

pub(super) async fn remove(remote: &Sandbox, sandbox: &LiveSandbox, names: &[&str]) -> Result<(), SandboxError> {
    let call = call_of(sandbox)?;
    let dirs: String =
        names.iter().map(|name| format!(" /dev/shm/.vitrine-{call}-{name}-* /tmp/.vitrine-{call}-{name}-*")).collect();
    let removed = run(remote, format!("rm -rf --{dirs} && echo removed")).await?;
    removed.map(drop).ok_or_else(|| SandboxError {
        code: "credential_not_removed",
        message: "the credentials of the call could not be removed from the sandbox".to_owned(),
        // It must not be used any more: what runs next could read them.
        sandbox_lost: true,
    })
}

/// A new directory on the first tmpfs there is; nothing that a program left can stand in for it.
fn make_dir(call: ToolCallId, name: &str) -> String {
    format!(
        "for base in /dev/shm /tmp; do \
         [ -w \"$base\" ] && [ \"$(stat -f -c %T \"$base\" 2>/dev/null)\" = tmpfs ] || continue; \
         umask 077; mktemp -d \"$base/.vitrine-{call}-{name}-XXXXXXXXXXXX\" && exit 0; \
         done; exit 3"
    )
}

/// Gives the file to the user of the programs, and looks that it is what it must be.
fn hand_over(dir: &str, path: &str, user: Option<&str>) -> String {
    let give = user.map_or(String::new(), |user| format!("chown -R -- '{user}' '{dir}' && "));
    format!(
        "{give}chmod 0400 '{path}' && [ \"$(stat -f -c %T '{path}')\" = tmpfs ] && [ ! -L '{path}' ] && echo placed"
    )
}

/// The first line that a command prints; None when it fails.
async fn run(remote: &Sandbox, command: String) -> Result<Option<String>, SandboxError> {
    let mut request = CommandRequest::shell(format!("{SEARCH_PATH}{command}"));
    request.timeout = Some(WITHIN);
    let mut output = Captured::default();
    // A call that was cancelled must still get its credentials removed.
    let outcome = remote.run(&request, &mut output, &CancellationToken::new()).await;
    let outcome = outcome.map_err(|error| failure(&error))?;
    let line = output.stdout.lines().next().unwrap_or_default().to_owned();
    Ok((outcome.end == CommandEnd::Exited(0) && !line.is_empty()).then_some(line))
}

fn call_of(sandbox: &LiveSandbox) -> Result<ToolCallId, SandboxError> {
    sandbox.setting.call.ok_or_else(|| refused("spec_refused", "a credential belongs to a tool call"))
}

fn no_tmpfs() -> SandboxError {
    refused(
        "credential_tmpfs_missing",
        "the sandbox has no tmpfs at /dev/shm or /tmp that its programs may write to, and credentials go nowhere else",
    )
}
