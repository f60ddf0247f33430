//! A Pattern is a file of any size that need not exist: each byte follows from its place.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// No divisor of the sizes in which files are moved, so that a lost or repeated piece shows.
const PERIOD: usize = 251;
const PIECE_BYTES: usize = 64 * 1024;

/// A stretch of the pattern, long enough to begin anywhere in the period.
static STRETCH: [u8; PERIOD + PIECE_BYTES] = stretch();

#[expect(clippy::cast_possible_truncation, reason = "the rest of a division by 251 is a byte")]
const fn stretch() -> [u8; PERIOD + PIECE_BYTES] {
    let mut bytes = [0; PERIOD + PIECE_BYTES];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at % PERIOD) as u8;
        at += 1;
    }
    bytes
}

/// At most `most` bytes of the pattern, from a place on.
fn ahead(place: u64, most: usize) -> &'static [u8] {
    let from = usize::try_from(place % PERIOD as u64).unwrap();
    &STRETCH[from..from + most.min(PIECE_BYTES)]
}

/// Reads a pattern.
#[derive(Default)]
pub struct Source {
    place: u64,
}

impl AsyncRead for Source {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let piece = ahead(self.place, buffer.remaining());
        buffer.put_slice(piece);
        self.place += piece.len() as u64;
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
        let expected = ahead(self.place, bytes.len());
        assert!(bytes.starts_with(expected), "other bytes behind byte {}", self.place);
        self.place += expected.len() as u64;
        Poll::Ready(Ok(expected.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
