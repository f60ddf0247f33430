//! The output of a program as it was, byte for byte: from the server where it keeps that, else from the files that the launch
//! captured it in.

use bytes::Bytes;
use domain::sandbox::RawOutput;

use crate::opensandbox::{Download, OutputStream, Sandbox, SandboxInfo};
use crate::runner::CAPTURED_BYTES;

/// The extension by which the local runtime says that it keeps output whose text lost something.
const EXTENSION: &str = "vitrine.raw_output";

/// Whether the server of a sandbox keeps output as it was.
pub(super) fn is_kept(info: &SandboxInfo) -> bool {
    info.extensions.get(EXTENSION).is_some_and(|kept| kept == "kept")
}

/// What the server kept of a command; None when it cannot be had.
pub(super) async fn ask(remote: &Sandbox, command: &str) -> Option<RawOutput> {
    let most = usize::try_from(CAPTURED_BYTES).unwrap_or(usize::MAX);
    let stream = async |stream| remote.raw_output(command, stream, most).await.ok().flatten();
    Some(RawOutput { stdout: stream(OutputStream::Stdout).await?, stderr: stream(OutputStream::Stderr).await? })
}

/// None when it cannot be had, or is not whole.
pub(super) async fn read(remote: &Sandbox, dir: &str) -> Option<RawOutput> {
    let (stdout, stderr) = (stream(remote, dir, "stdout").await?, stream(remote, dir, "stderr").await?);
    Some(RawOutput { stdout, stderr })
}

async fn stream(remote: &Sandbox, dir: &str, name: &str) -> Option<Bytes> {
    let mut content = Vec::new();
    // What fills the capture to its bound may have been cut there.
    let request = Download { path: format!("{dir}/{name}"), range: None, max_bytes: CAPTURED_BYTES - 1 };
    let downloaded = remote.download(&request, &mut content).await.ok()?;
    (!downloaded.is_truncated).then(|| content.into())
}

/// Makes room. What cannot be removed goes with the sandbox.
pub(super) async fn remove(remote: &Sandbox, dir: &str) {
    if let Err(error) = remote.delete_directory(dir).await {
        tracing::debug!(sandbox.id = remote.id(), error.code = error.code(), "files of a run were not removed");
    }
}
