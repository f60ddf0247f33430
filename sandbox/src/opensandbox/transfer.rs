//! Contents of files, into a sandbox and out of it, in pieces and never whole in memory.
//!
//! Rule: a transfer has an idle deadline, which only progress moves, and a total one. A download writes no byte beyond
//! its limit; one whose file was cut short meanwhile is `FileChanged`. An upload whose answer was lost is
//! `OutcomeUnknown`.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, future, stream};
use http::header::{CONTENT_RANGE, RANGE};
use http::{HeaderValue, Method, StatusCode};
use reqwest::Response;
use reqwest::multipart::{Form, Part};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use tokio_util::io::ReaderStream;

use super::error::{Deadline, Error};
use super::files::{FileMode, check_path, with_paths};
use super::sandbox::Sandbox;

const PIECE_BYTES: usize = 64 * 1024;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Absolute path; parents are made, an old file is replaced.
    pub path: String,
    /// Permission bits; the server's default when missing.
    pub mode: Option<FileMode>,
    /// Exactly so many bytes are taken from the source.
    pub size_bytes: u64,
}

/// A file to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Absolute path.
    pub path: String,
    /// Which part; the whole file when missing.
    pub range: Option<ByteRange>,
    /// Nothing is written beyond so many bytes.
    pub max_bytes: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Where it begins, from 0.
    pub start: u64,
    /// How long it is; to the end of the file when missing. Never 0.
    pub length: Option<u64>,
}

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes written to the destination.
    pub bytes: u64,
    /// Whether there was more than `max_bytes`.
    pub is_truncated: bool,
    /// The size of the whole file, when the server said it.
    pub file_size_bytes: Option<u64>,
}

impl Sandbox {
    /// Writes a file from `source`.
    pub async fn upload<R>(&self, upload: &Upload, source: R) -> Result<(), Error>
    where
        R: AsyncRead + Send + 'static,
    {
        let execd = self.execd().await?;
        let call = execd.call(Method::POST, execd.url(&["files", "upload"])?);
        let progress = Arc::new(Progress::default());
        let form = form(upload, source, &progress)?;
        let transport = self.transport();
        let limits = &transport.timeouts;
        let request = transport.request(&call).multipart(form);
        let sent = async {
            let response = transport.open(request, limits.transfer, call.redactor).await?;
            transport.read(response, PIECE_BYTES).await
        };
        let result = tokio::select! {
            result = timeout(limits.transfer, sent) => result.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))),
            () = progress.stall(limits.idle) => Err(Error::DeadlineExceeded(Deadline::Idle)),
        };
        match (result, progress.source_error.get()) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(error)) => Err(Error::LocalIo(io::Error::new(error.kind(), error.to_string()))),
            (Err(error), None) => Err(error.after_sending("upload")),
        }
    }

    /// Reads a file, or a part of it, into `destination`.
    pub async fn download(
        &self,
        download: &Download,
        destination: &mut (dyn AsyncWrite + Send + Unpin),
    ) -> Result<Downloaded, Error> {
        let mut is_under_way = false;
        let downloaded = self.download_once(download, destination, &mut is_under_way);
        let downloaded = timeout(self.transport().timeouts.transfer, downloaded).await;
        match downloaded.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))) {
            // A server that announced more than the file then had can only cut its answer.
            Err(Error::Disconnected(_)) if is_under_way && self.answers_for(&download.path).await => {
                Err(Error::FileChanged)
            }
            downloaded => downloaded,
        }
    }

    /// Whether the server says what is at this path, or that nothing is.
    async fn answers_for(&self, path: &str) -> bool {
        match self.file_info(&[path]).await {
            Ok(_) => true,
            Err(error) => error.reply().is_some_and(|reply| reply.has_code("FILE_NOT_FOUND")),
        }
    }

    /// The head of a download's answer, with the size of the whole file when the server says it.
    pub(super) async fn open_download(
        &self,
        path: &str,
        range: Option<ByteRange>,
    ) -> Result<(Response, Option<u64>), Error> {
        let execd = self.execd().await?;
        let mut call = execd.call(Method::GET, with_paths(&execd, &["files", "download"], &[path])?);
        if let Some(range) = range {
            call.headers.insert(RANGE, range.to_header()?);
        }
        let transport = self.transport();
        let response = transport.open(transport.request(&call), transport.timeouts.idle, call.redactor).await?;
        let file_size_bytes = match range {
            None => response.content_length(),
            Some(range) => range.check_answer(response.status(), response.headers().get(CONTENT_RANGE))?,
        };
        Ok((response, file_size_bytes))
    }

    async fn download_once(
        &self,
        download: &Download,
        destination: &mut (dyn AsyncWrite + Send + Unpin),
        is_under_way: &mut bool,
    ) -> Result<Downloaded, Error> {
        let (mut response, file_size_bytes) = self.open_download(&download.path, download.range).await?;
        *is_under_way = response.content_length().is_some();
        let transport = self.transport();
        let mut bytes = 0;
        let mut is_truncated = false;
        while let Some(piece) = transport.chunk(&mut response).await? {
            let room = usize::try_from(download.max_bytes - bytes).unwrap_or(usize::MAX);
            is_truncated = piece.len() > room;
            let kept = &piece[..piece.len().min(room)];
            destination.write_all(kept).await.map_err(Error::LocalIo)?;
            bytes += kept.len() as u64;
            if is_truncated {
                break;
            }
        }
        destination.flush().await.map_err(Error::LocalIo)?;
        Ok(Downloaded { bytes, is_truncated, file_size_bytes })
    }
}

/// The two parts that execd pairs by their order. Both need a file name, or it takes them for plain fields; the name
/// itself means nothing, since the path is in the first part.
fn form<R>(upload: &Upload, source: R, progress: &Arc<Progress>) -> Result<Form, Error>
where
    R: AsyncRead + Send + 'static,
{
    let mut metadata = json!({ "path": check_path(&upload.path)? });
    if let Some(mode) = upload.mode {
        metadata["mode"] = mode.to_wire().into();
    }
    let metadata = Part::text(metadata.to_string()).file_name("metadata");
    let metadata = metadata.mime_str("application/json").map_err(|_| Error::invalid("metadata has no type"))?;
    let body = reqwest::Body::wrap_stream(pieces(upload.size_bytes, source, progress.clone()));
    let file = Part::stream_with_length(body, upload.size_bytes).file_name("file");
    let file = file.mime_str("application/octet-stream").map_err(|_| Error::invalid("file has no type"))?;
    Ok(Form::new().part("metadata", metadata).part("file", file))
}

/// Exactly `size` bytes of `source`, or an error that ends the request.
fn pieces<R>(size: u64, source: R, progress: Arc<Progress>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static
where
    R: AsyncRead + Send + 'static,
{
    let at_end = progress.clone();
    let check_end = stream::once(async move {
        let is_short = at_end.bytes.load(Ordering::Relaxed) < size;
        is_short.then(|| Err(io::Error::new(io::ErrorKind::UnexpectedEof, "source is shorter than its size")))
    });
    ReaderStream::with_capacity(source.take(size), PIECE_BYTES)
        .chain(check_end.filter_map(future::ready))
        .map(move |piece| progress.note(piece))
}

/// How far an upload is, and why its source failed.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    source_error: OnceLock<io::Error>,
}

impl Progress {
    fn note(&self, piece: io::Result<Bytes>) -> io::Result<Bytes> {
        match piece {
            Ok(piece) => {
                self.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
                Ok(piece)
            }
            Err(error) => {
                let kind = error.kind();
                let _ = self.source_error.set(error);
                Err(kind.into())
            }
        }
    }

    /// Returns when nothing has moved for `idle`.
    async fn stall(&self, idle: Duration) {
        let mut before = None;
        loop {
            let now = self.bytes.load(Ordering::Relaxed);
            if before == Some(now) {
                return;
            }
            before = Some(now);
            sleep(idle).await;
        }
    }
}

impl ByteRange {
    fn to_header(self) -> Result<HeaderValue, Error> {
        let text = match self.length {
            None => format!("bytes={}-", self.start),
            Some(length) => match length.checked_sub(1).and_then(|last| self.start.checked_add(last)) {
                Some(last) => format!("bytes={}-{last}", self.start),
                None => return Err(Error::invalid("range is empty or too long")),
            },
        };
        HeaderValue::from_str(&text).map_err(|_| Error::invalid("range cannot be written"))
    }

    /// Whether the server answers with this part and not with another; returns the size of the whole file.
    fn check_answer(self, status: StatusCode, content_range: Option<&HeaderValue>) -> Result<Option<u64>, Error> {
        let answer = content_range
            .and_then(|value| value.to_str().ok()?.strip_prefix("bytes ")?.split_once('/'))
            .and_then(|(part, size)| Some((part.split_once('-')?.0.parse::<u64>().ok()?, size)));
        match answer {
            Some((start, size)) if status == StatusCode::PARTIAL_CONTENT && start == self.start => {
                Ok(size.parse().ok())
            }
            _ => Err(Error::protocol("download does not answer with the range that was asked for")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(start: u64, length: Option<u64>) -> Option<String> {
        ByteRange { start, length }.to_header().ok().map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn writes_ranges() {
        assert_eq!(header(5, None).as_deref(), Some("bytes=5-"));
        assert_eq!(header(5, Some(3)).as_deref(), Some("bytes=5-7"));
        assert_eq!(header(0, Some(u64::MAX)).as_deref(), Some("bytes=0-18446744073709551614"));
        assert_eq!(header(5, Some(0)), None);
        assert_eq!(header(2, Some(u64::MAX)), None);
    }

    #[test]
    fn takes_only_the_part_that_was_asked_for() {
        let check = |status: u16, value: &'static str| {
            let value = HeaderValue::from_static(value);
            ByteRange { start: 5, length: None }.check_answer(StatusCode::from_u16(status).unwrap(), Some(&value)).ok()
        };
        assert_eq!(check(206, "bytes 5-9/10"), Some(Some(10)));
        assert_eq!(check(206, "bytes 5-9/*"), Some(None));
        assert_eq!(check(206, "bytes 0-9/10"), None);
        assert_eq!(check(200, "bytes 5-9/10"), None);
        assert_eq!(check(206, "nonsense"), None);
    }
}
