//! A file of a gibibyte goes into a sandbox and comes out of it again, whole, and is never whole in any memory.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use local_support::{Host, KEY};
use sandbox::opensandbox::{
    Captured, Client, CommandEnd, CommandRequest, Connection, CreateSandbox, Download, SandboxLabel, Upload,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

const GIBIBYTE: u64 = 1024 * 1024 * 1024;
const BLOCK_BYTES: usize = 64 * 1024;
/// What either process may need more for it at most.
const FLAT_KIB: u64 = 64 * 1024;

/// A block of the file: its number, and bytes that no two neighbours of it share.
#[cfg(test)]
fn block(number: u64) -> [u8; BLOCK_BYTES] {
    let mut block = [u8::try_from(number % 251).unwrap(); BLOCK_BYTES];
    block[..8].copy_from_slice(&number.to_be_bytes());
    block[BLOCK_BYTES - 8..].copy_from_slice(&number.to_le_bytes());
    block
}

/// Where in the file a reader or writer is.
#[cfg(test)]
struct Position {
    at: u64,
    block: Box<[u8; BLOCK_BYTES]>,
}

#[cfg(test)]
impl Position {
    fn start() -> Self {
        Self { at: 0, block: Box::new(block(0)) }
    }

    /// What follows in this block.
    fn ahead(&self) -> &[u8] {
        &self.block[usize::try_from(self.at).unwrap() % BLOCK_BYTES..]
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes as u64;
        if self.at.is_multiple_of(BLOCK_BYTES as u64) {
            *self.block = block(self.at / BLOCK_BYTES as u64);
        }
    }
}

#[cfg(test)]
impl AsyncRead for Position {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let bytes = buffer.remaining().min(self.ahead().len());
        buffer.put_slice(&self.ahead()[..bytes]);
        self.advance(bytes);
        Poll::Ready(Ok(()))
    }
}

/// Compares what is written with what must come.
#[cfg(test)]
impl AsyncWrite for Position {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let compared = bytes.len().min(self.ahead().len());
        if bytes[..compared] != self.ahead()[..compared] {
            return Poll::Ready(Err(io::Error::other(format!("other bytes at {}", self.at))));
        }
        self.advance(compared);
        Poll::Ready(Ok(compared))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

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
    sandbox.upload(&upload, Position::start()).await.unwrap();
    let mut output = Captured::default();
    let size = CommandRequest::shell("stat -c %s /workspace/data/big");
    let ended = sandbox.run(&size, &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!((ended.end, output.stdout), (CommandEnd::Exited(0), format!("{GIBIBYTE}\n")));

    let mut seen = Position::start();
    let download = Download { path, range: None, max_bytes: GIBIBYTE };
    let read = sandbox.download(&download, &mut seen).await.unwrap();
    assert_eq!((read.bytes, read.is_truncated, seen.at), (GIBIBYTE, false, GIBIBYTE));

    for (before, after) in before.into_iter().zip([host.memory_kib("VmHWM"), own_peak_kib()]) {
        assert!(after < before + FLAT_KIB, "the peak rose from {before} to {after} KiB");
    }
    sandbox.destroy().await.unwrap();
}
