//! Operations on files and directories.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use data_encoding::HEXLOWER;
use sandbox::opensandbox::{ByteRange, Download, FileInfo, FileKind, FileMode, Move, Replacement, Upload};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::answer::Failure;
use super::lifecycle::moment;
use super::operation::Operation;
use super::session::Session;

const MAX_BYTES: u64 = 1 << 30;
/// So much of a download is reported as it is.
const SHOWN_BYTES: usize = 256;

/// The text of an upload, repeated until it is long enough, so that a list of operations can ask for a large file.
#[derive(Deserialize)]
struct Content {
    text: String,
    size: Option<u64>,
}

pub async fn upload(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let content: Content = operation.need("content")?;
    let text = content.text.into_bytes();
    let size_bytes = content.size.unwrap_or(text.len() as u64);
    let mode = operation.find("mode")?.map(mode).transpose()?;
    let upload = Upload { path: operation.need("path")?, mode, size_bytes };
    sandbox.upload(&upload, Repeated { text, at: 0 }).await?;
    Ok(json!({}))
}

pub async fn download(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let range =
        operation.find("start")?.map(|start| Ok::<_, Failure>(ByteRange { start, length: operation.find("length")? }));
    let download = Download { path: operation.need("path")?, range: range.transpose()?, max_bytes: MAX_BYTES };
    let mut digest = Digesting::default();
    let downloaded = sandbox.download(&download, &mut digest).await?;
    Ok(json!({
        "bytes": downloaded.bytes,
        "sha256": HEXLOWER.encode(&digest.hash.finalize()),
        "beginning": String::from_utf8_lossy(&digest.beginning),
    }))
}

pub async fn info(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let paths: Vec<String> = operation.need("paths")?;
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = sandbox.file_info(&paths).await?;
    let entries: BTreeMap<&str, Value> = found.iter().map(|(path, info)| (path.as_str(), describe(info))).collect();
    Ok(json!({ "entries": entries }))
}

pub async fn list_directory(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let path: String = operation.need("path")?;
    let found = sandbox.list_directory(&path, operation.find("depth")?.unwrap_or(1)).await?;
    Ok(json!({ "entries": found.iter().map(describe).collect::<Vec<_>>() }))
}

pub async fn search(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let (path, pattern): (String, String) = (operation.need("path")?, operation.need("pattern")?);
    let mut found = sandbox.search_files(&path, &pattern).await?;
    // A search promises no order.
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(json!({ "entries": found.iter().map(describe).collect::<Vec<_>>() }))
}

pub async fn make_directory(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let (path, digits): (String, u32) = (operation.need("path")?, operation.need("mode")?);
    sandbox.make_directory(&path, mode(digits)?).await?;
    Ok(json!({}))
}

pub async fn delete_files(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let paths: Vec<String> = operation.need("paths")?;
    sandbox.delete_files(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    Ok(json!({}))
}

pub async fn delete_directory(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    sandbox.delete_directory(&operation.need::<String>("path")?).await?;
    Ok(json!({}))
}

pub async fn move_files(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let one = Move { from: operation.need("from")?, to: operation.need("to")? };
    sandbox.move_files(&[one]).await?;
    Ok(json!({}))
}

pub async fn replace(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let (path, old, new) = (operation.need("path")?, operation.need("old")?, operation.need("new")?);
    let counts = sandbox.replace_in_files(&[Replacement { path, old, new }]).await?;
    Ok(json!({ "count": counts.values().sum::<u64>() }))
}

/// A mode as the wire and the official clients write it: a decimal number whose digits read as octal.
fn mode(digits: u32) -> Result<FileMode, Failure> {
    let bits = u32::from_str_radix(&digits.to_string(), 8);
    bits.map(FileMode).map_err(|error| Failure::Plan(format!("mode {digits}: {error}")))
}

fn describe(info: &FileInfo) -> Value {
    let kind = match info.kind {
        FileKind::File => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        FileKind::Other => "other",
    };
    json!({
        "path": info.path,
        "type": kind,
        "size": info.size_bytes,
        "mode": info.mode.map(|mode| format!("{:o}", mode.0)),
        "modified_at": moment(info.modified_at),
    })
}

/// A source that never ends.
struct Repeated {
    text: Vec<u8>,
    at: usize,
}

impl AsyncRead for Repeated {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while into.remaining() > 0 && !self.text.is_empty() {
            let piece = &self.text[self.at..];
            let length = piece.len().min(into.remaining());
            into.put_slice(&piece[..length]);
            self.at = (self.at + length) % self.text.len();
        }
        Poll::Ready(Ok(()))
    }
}

/// A destination that keeps the hash and the beginning.
#[derive(Default)]
struct Digesting {
    hash: Sha256,
    beginning: Vec<u8>,
}

impl AsyncWrite for Digesting {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, piece: &[u8]) -> Poll<io::Result<usize>> {
        self.hash.update(piece);
        let room = SHOWN_BYTES.saturating_sub(self.beginning.len()).min(piece.len());
        self.beginning.extend_from_slice(&piece[..room]);
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
