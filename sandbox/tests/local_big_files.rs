//! A file of a gibibyte goes into a sandbox and comes out of it again, whole, and is never whole in any memory.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;
#[cfg(test)]
#[path = "conformance/pattern.rs"]
mod pattern;

use local_support::{Host, KEY};
use pattern::{Check, Source};
use sandbox::opensandbox::{
    Captured, Client, CommandEnd, CommandRequest, Connection, CreateSandbox, Download, SandboxLabel, Upload,
};
use tokio_util::sync::CancellationToken;

const GIBIBYTE: u64 = 1024 * 1024 * 1024;
/// What either process may need more for it at most.
const FLAT_KIB: u64 = 64 * 1024;

#[cfg(test)]
fn own_peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_gibibyte_goes_both_ways_byte_for_byte_in_flat_memory() {
    let host = Host::start();
    let client = Client::new(Connection::new(host.url.parse().unwrap(), KEY.to_owned().into())).unwrap();
    let mut create = CreateSandbox::new(SandboxLabel::new("big-files").unwrap(), "vitrine/code");
    create.resource_limits = [("memory", "256Mi"), ("disk", "1200Mi")].map(|(k, v)| (k.into(), v.into())).into();
    let sandbox = client.create_ready(&create, std::time::Duration::from_secs(30)).await.unwrap();
    let before = [host.memory_kib("VmHWM"), own_peak_kib()];

    let path = "/workspace/data/big".to_owned();
    let upload = Upload { path: path.clone(), mode: None, size_bytes: GIBIBYTE };
    sandbox.upload(&upload, Source::default()).await.unwrap();
    let mut output = Captured::default();
    let size = CommandRequest::shell("stat -c %s /workspace/data/big");
    let ended = sandbox.run(&size, &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!((ended.end, output.stdout), (CommandEnd::Exited(0), format!("{GIBIBYTE}\n")));

    let mut seen = Check::from(0);
    let download = Download { path, range: None, max_bytes: GIBIBYTE };
    let read = sandbox.download(&download, &mut seen).await.unwrap();
    assert_eq!((read.bytes, read.is_truncated, seen.place), (GIBIBYTE, false, GIBIBYTE));

    for (before, after) in before.into_iter().zip([host.memory_kib("VmHWM"), own_peak_kib()]) {
        assert!(after < before + FLAT_KIB, "the peak rose from {before} to {after} KiB");
    }
    sandbox.destroy().await.unwrap();
}
