//! The bytes of a foreground command's output as they were, for a stream that carries text.
//!
//! Rule: they are kept only where the text lost something, only whole, only of the newest commands, and are handed out once.
//! They are in memory and never on a disk: a program may print what it was lent.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};

/// Of a stream that is longer nothing is kept.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Kept of one sandbox; the oldest commands leave first.
const MAX_KEPT_BYTES: usize = 32 * 1024 * 1024;
const MAX_COMMANDS: usize = 16;

/// The bytes of one stream while it is read.
#[derive(Debug)]
pub struct RawBytes {
    /// None when they cannot be kept whole, or were handed out.
    file: Option<File>,
    size: usize,
    /// Whether the text of the stream is all that there is to it.
    is_text: bool,
}

impl RawBytes {
    pub fn begin() -> io::Result<Self> {
        let file = File::from(memfd_create("raw-output", MemfdFlags::CLOEXEC)?);
        Ok(Self { file: Some(file), size: 0, is_text: true })
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if self.size + bytes.len() > MAX_BYTES || file.write_all(bytes).is_err() {
            (self.file, self.size) = (None, 0);
        } else {
            self.size += bytes.len();
        }
    }

    /// Looks at what is shown of the bytes.
    pub fn shown(&mut self, text: &str) {
        if self.file.is_some() && self.is_text {
            self.is_text = !text.contains([char::REPLACEMENT_CHARACTER, '\0']);
        }
    }
}

/// What is kept of the commands of a sandbox.
#[derive(Debug, Default)]
pub struct Kept(Mutex<VecDeque<(String, [RawBytes; 2])>>);

impl Kept {
    /// Keeps both streams of a command that has ended if the text of one of them lost something.
    pub fn keep(&self, command: &str, streams: [RawBytes; 2]) {
        if streams.iter().all(|stream| stream.is_text) {
            return;
        }
        let mut all = self.lock();
        all.push_back((command.to_owned(), streams));
        let size = |all: &VecDeque<(String, [RawBytes; 2])>| -> usize {
            all.iter().flat_map(|(_, streams)| streams).map(|stream| stream.size).sum()
        };
        while all.len() > MAX_COMMANDS || size(&all) > MAX_KEPT_BYTES {
            all.pop_front();
        }
    }

    /// The bytes of a stream, the first or the second. Nothing is left of them here.
    pub fn take(&self, command: &str, stream: usize) -> Option<File> {
        let mut all = self.lock();
        let (_, streams) = all.iter_mut().find(|(id, _)| id == command)?;
        let stream = streams.get_mut(stream)?;
        stream.size = 0;
        stream.file.take()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, [RawBytes; 2])>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
