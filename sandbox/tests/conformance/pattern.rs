//! A Pattern is a file of any size that need not exist: each byte follows from its place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// No divisor of the sizes in which files are moved, so that a lost or repeated piece shows.
const PERIOD: u64 = 251;

fn byte_at(place: u64) -> u8 {
    (place % PERIOD) as u8
}

/// Reads a pattern.
#[derive(Default)]
pub struct Source {
    place: u64,
}

impl AsyncRead for Source {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut place = self.place;
        let piece = buffer.initialize_unfilled();
        for byte in piece.iter_mut() {
            *byte = byte_at(place);
            place += 1;
        }
        let filled = piece.len();
        buffer.advance(filled);
        self.place = place;
        Poll::Ready(Ok(()))
    }
}

/// Compares what is written to it with a pattern.
pub struct Check {
    /// The place of the next byte.
    pub place: u64,
}

impl Check {
    pub fn from(place: u64) -> Self {
        Self { place }
    }
}

impl AsyncWrite for Check {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        for byte in bytes {
            assert_eq!(*byte, byte_at(self.place), "at byte {}", self.place);
            self.place += 1;
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
