//! Moving file bytes: a download streams a range of one opened file, an upload replaces a file in one step.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::expand;
use super::files::{self, failure_of};
use crate::local::protocol::{self, Access, Failure, FailureKind, FollowUp, Lines, Reply};

/// Lines of a file are collected up to this size; what is larger is for ranges of bytes.
const MAX_LINES_BYTES: usize = 16 * 1024 * 1024;

/// Answers with the size, then sends the range that the runtime asks for.
pub fn read(mut operation: UnixStream, path: &str, lines: Option<Lines>) -> io::Result<()> {
    let opened = open_regular(path).and_then(|(file, size)| match lines {
        None => Ok((Source::File(file), size)),
        Some(lines) => {
            let text = select(BufReader::new(file), lines).map_err(|error| failure_of(path, &error))?;
            let size = text.len() as u64;
            Ok((Source::Text(Cursor::new(text)), size))
        }
    });
    let (source, size) = match opened {
        Ok(opened) => opened,
        Err(failure) => return protocol::write_frame(&mut operation, &Reply::Failed(failure)),
    };
    protocol::write_frame(&mut operation, &Reply::Done { value: json!({ "size": size }) })?;
    let FollowUp::Range { offset, length } = protocol::read_frame(&mut operation)? else { return Ok(()) };
    match source {
        Source::File(file) => send(file, offset, length, &mut operation),
        Source::Text(text) => send(text, offset, length, &mut operation),
    }
}

/// What a download is taken from.
enum Source {
    File(File),
    Text(Cursor<Vec<u8>>),
}

fn send(mut source: impl Read + Seek, offset: u64, length: u64, operation: &mut UnixStream) -> io::Result<()> {
    source.seek(SeekFrom::Start(offset))?;
    io::copy(&mut source.take(length), operation)?;
    Ok(())
}

/// The lines with `\n` between them and none at the end.
fn select(mut file: impl BufRead, lines: Lines) -> io::Result<Vec<u8>> {
    let (mut selected, mut number) = (Vec::new(), 1);
    loop {
        let mut line = Vec::new();
        if file.by_ref().take(MAX_LINES_BYTES as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(selected);
        }
        if lines.most.is_some_and(|most| number >= lines.first.saturating_add(most)) {
            return Ok(selected);
        }
        if number >= lines.first {
            if number > lines.first {
                selected.push(b'\n');
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            selected.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        }
        if selected.len() >= MAX_LINES_BYTES || (line.len() == MAX_LINES_BYTES && !line.ends_with(b"\n")) {
            return Err(io::Error::other("the lines are too long for one answer"));
        }
        number += 1;
    }
}

fn open_regular(path: &str) -> Result<(File, u64), Failure> {
    let path = expand::path(path)?;
    // Without O_NONBLOCK a FIFO would hold this process until somebody writes to it.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(&path)
        .map_err(|error| failure_of(&path, &error))?;
    let metadata = file.metadata().map_err(|error| failure_of(&path, &error))?;
    if metadata.is_file() {
        Ok((file, metadata.len()))
    } else {
        Err(Failure { kind: FailureKind::Other, message: format!("{path} is not a regular file") })
    }
}

/// Takes frames until an empty one, then puts the whole under its name; without that last one nothing stays.
pub fn write(mut operation: UnixStream, path: &str, access: &Access) -> io::Result<()> {
    let reply = match receive(&mut operation, path, access) {
        Ok(()) => Reply::Done { value: json!({}) },
        Err(failure) => Reply::Failed(failure),
    };
    protocol::write_frame(&mut operation, &reply)
}

fn receive(operation: &mut UnixStream, path: &str, access: &Access) -> Result<(), Failure> {
    let path = PathBuf::from(expand::path(path)?);
    let failed = |error: &io::Error| failure_of(&path.to_string_lossy(), error);
    let Some(parent) = path.parent().filter(|_| path.file_name().is_some() && !path.is_dir()) else {
        return Err(Failure { kind: FailureKind::Other, message: format!("{} is a directory", path.display()) });
    };
    std::fs::create_dir_all(parent).map_err(|error| failed(&error))?;
    let mut draft = Draft::create(parent).map_err(|error| failed(&error))?;
    loop {
        let chunk = protocol::read_bytes(operation).map_err(|error| failed(&error))?;
        if chunk.is_empty() {
            break;
        }
        draft.file.write_all(&chunk).map_err(|error| failed(&error))?;
    }
    files::apply(&draft.path, access)?;
    draft.keep_as(&path).map_err(|error| failed(&error))
}

/// A file beside the target that vanishes unless it is kept.
struct Draft {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl Draft {
    fn create(parent: &Path) -> io::Result<Self> {
        let path = parent.join(format!(".vitrine-upload-{}", crate::local::ids::hex_id()?));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path)?;
        Ok(Self { path, file, is_kept: false })
    }

    fn keep_as(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
