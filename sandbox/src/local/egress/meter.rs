//! Moving bytes between two sockets: counted, and cut when nothing has moved for too long.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::Instant;

const BUFFER_BYTES: usize = 16 * 1024;
/// A connection on which nothing moves for so long is closed.
const IDLE_TIME: Duration = Duration::from_secs(300);

/// The bytes of all connections of a sandbox.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From the sandbox to the world.
    pub sent: AtomicU64,
    pub received: AtomicU64,
}

/// When a connection last moved a byte.
pub struct Pulse(watch::Sender<Instant>);

impl Pulse {
    pub fn new() -> Self {
        Self(watch::Sender::new(Instant::now()))
    }

    pub fn beat(&self) {
        self.0.send_replace(Instant::now());
    }

    /// Returns when nothing has moved for too long.
    pub async fn stopped(&self) {
        loop {
            let until = *self.0.borrow() + IDLE_TIME;
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

/// Copies until the reader ends, then ends the writer.
pub async fn copy(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
    pulse: &Pulse,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = reader.read(&mut buffer).await?;
        if read == 0 {
            return writer.shutdown().await;
        }
        writer.write_all(&buffer[..read]).await?;
        count.fetch_add(read as u64, Ordering::Relaxed);
        pulse.beat();
    }
}

/// Copies exactly so many bytes; a reader that ends before is an error.
pub async fn copy_exactly(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    mut left: u64,
    count: &AtomicU64,
    pulse: &Pulse,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let read = reader.read(&mut buffer[..wanted]).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        writer.write_all(&buffer[..read]).await?;
        left -= read as u64;
        count.fetch_add(read as u64, Ordering::Relaxed);
        pulse.beat();
    }
    writer.flush().await
}
