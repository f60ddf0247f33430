//! A Log is the stored output of one background command: its beginning, and a count of what is missing.
//!
//! Rule: all logs of a sandbox share one bound, since they lie on the host's disk, where no limit of the sandbox counts
//! them. A log has no name in the file system: it is gone with its record, and with the runtime in any case.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kept of the beginning of one command's output.
pub const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024;
/// At most this much is read at once; the cursor says where to go on.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The output of one command, written by one task and read by many.
#[derive(Debug)]
pub struct Log {
    file: File,
    printed: AtomicU64,
    /// Bytes that it holds, or has room for while they are being written.
    kept: AtomicU64,
}

impl Log {
    /// Makes an empty log on the disk of a directory.
    pub fn create(directory: &Path, id: &str) -> io::Result<Self> {
        let path = directory.join(format!("{id}.log"));
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        std::fs::remove_file(path)?;
        Ok(Self { file, printed: AtomicU64::new(0), kept: AtomicU64::new(0) })
    }

    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// How many bytes of the output it does not have.
    pub fn dropped(&self) -> u64 {
        self.printed.load(Ordering::Acquire).saturating_sub(self.kept())
    }

    /// How many of the next bytes it would take. It has no gap, so nothing comes behind what is missing.
    pub fn wants(&self, bytes: u64) -> u64 {
        if self.dropped() > 0 { 0 } else { bytes.min(MAX_LOG_BYTES - self.kept()) }
    }

    /// Counts the next bytes, and how many of them are going to be written.
    pub fn expect(&self, printed: u64, kept: u64) {
        self.kept.fetch_add(kept, Ordering::AcqRel);
        self.printed.fetch_add(printed, Ordering::AcqRel);
    }

    /// Writes what it expects. Blocks. A disk that fails ends the log.
    pub fn write(&self, bytes: &[u8]) {
        if let Err(error) = (&self.file).write_all(bytes) {
            tracing::warn!(error = %error, "the output of a background command cannot be stored");
            self.kept.store(self.file.metadata().map_or(0, |metadata| metadata.len()), Ordering::Release);
        }
    }

    /// What it holds from the cursor on, and the cursor after it. Beyond the end there is nothing yet. Blocks.
    pub fn read(&self, cursor: u64) -> (Vec<u8>, u64) {
        read(&self.file, cursor)
    }
}

/// The same of any file.
pub fn read(file: &File, cursor: u64) -> (Vec<u8>, u64) {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let start = cursor.min(length);
    let wanted = usize::try_from(length - start).unwrap_or(usize::MAX).min(MAX_ANSWER_BYTES);
    let mut content = vec![0; wanted];
    match file.read_exact_at(&mut content, start) {
        Ok(()) => (content, start + wanted as u64),
        Err(_) => (Vec::new(), start),
    }
}
