//! The bytes of a foreground command's output as they were, for a stream that carries text.
//!
//! Rule: they are kept only where the text lost something, only whole, and only of the newest commands. Until it is known,
//! they are in files without a name, which are gone with their last handle.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Of a stream that is longer nothing is kept.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Commands whose bytes are kept; the oldest ones leave first.
const MAX_COMMANDS: usize = 8;

/// The bytes of one stream while it is read.
#[derive(Debug)]
pub struct RawBytes {
    /// None when they cannot be kept whole.
    file: Option<File>,
    left: usize,
    /// Whether the text of the stream is all that there is to it.
    is_text: bool,
}

impl RawBytes {
    /// Begins in `directory`, under a name that is free and taken away at once.
    pub fn begin(directory: &Path, name: &str) -> io::Result<Self> {
        let path = directory.join(name);
        let file = super::command::create_log(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Self { file: Some(file), left: MAX_BYTES, is_text: true })
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if bytes.len() > self.left || file.write_all(bytes).is_err() {
            self.file = None;
        }
        self.left = self.left.saturating_sub(bytes.len());
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
pub struct Kept(Mutex<VecDeque<(String, [Option<File>; 2])>>);

impl Kept {
    /// Keeps both streams of a command that has ended if the text of one of them lost something.
    pub fn keep(&self, command: &str, streams: [RawBytes; 2]) {
        if streams.iter().all(|stream| stream.is_text) {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back((command.to_owned(), streams.map(|stream| stream.file)));
        if all.len() > MAX_COMMANDS {
            all.pop_front();
        }
    }

    /// The bytes of a stream, as a file of its own position.
    pub fn get(&self, command: &str, stream: usize) -> Option<File> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, files) = all.iter().find(|(id, _)| id == command)?;
        files.get(stream)?.as_ref()?.try_clone().ok()
    }
}
