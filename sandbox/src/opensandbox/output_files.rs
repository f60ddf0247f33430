//! Exact output on the older wire, which carries neither a lone carriage return nor the last line's terminator.
//!
//! The command's two streams go to two files in the sandbox, which are read by range while it runs and removed when it
//! has ended. The stream of events then says only how the command ends; what arrives on it is what the shell says when
//! the files cannot be made.
//!
//! Rule: a position counts bytes that were read. A range is asked for only where the file is known to have bytes, since
//! servers answer a range behind the end each in their own way.

use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::time::{Instant, timeout};

use super::error::Error;
use super::output::{OutputSink, OutputStream};
use super::sandbox::Sandbox;
use super::transfer::ByteRange;
use super::utf8::Utf8Pieces;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(500);
const REMOVED_WITHIN: Duration = Duration::from_secs(5);
/// How the shell ends when it cannot make the files.
const NO_FILES: u8 = 125;

/// The files that a command's output goes to.
pub(super) struct OutputFiles {
    directory: String,
    files: [OutputFile; 2],
    pause: Duration,
    next_look: Instant,
    pub is_lossy: bool,
}

struct OutputFile {
    stream: OutputStream,
    path: String,
    read_up_to: u64,
    text: Utf8Pieces,
}

impl OutputFiles {
    /// Names that nobody in the sandbox can guess.
    pub fn new() -> Result<Self, Error> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|_| Error::invalid("the system gives no randomness"))?;
        let directory = format!("/tmp/.output-{}", HEXLOWER.encode(&random));
        let file = |stream, name| OutputFile {
            stream,
            path: format!("{directory}/{name}"),
            read_up_to: 0,
            text: Utf8Pieces::default(),
        };
        let files = [file(OutputStream::Stdout, "out"), file(OutputStream::Stderr, "err")];
        Ok(Self { directory, files, pause: FIRST_PAUSE, next_look: Instant::now() + FIRST_PAUSE, is_lossy: false })
    }

    /// Shell text that does what `text` does, with its output in the files.
    pub fn wrap(&self, text: &str) -> String {
        let Self { directory, files: [out, err], .. } = self;
        format!("mkdir -m 700 '{directory}' && exec >>'{}' 2>>'{}' || exit {NO_FILES}\n{text}", out.path, err.path)
    }

    /// How long until the files are to be looked at again.
    pub fn until_next_look(&self) -> Duration {
        self.next_look.saturating_duration_since(Instant::now())
    }

    /// Gives what is new to the sink. A failure loses nothing: the next look begins where this one ended.
    pub async fn look(&mut self, sandbox: &Sandbox, sink: &mut dyn OutputSink) {
        match self.read_new(sandbox, sink).await {
            Ok(true) => self.pause = FIRST_PAUSE,
            Ok(false) | Err(_) => self.pause = (self.pause * 2).min(MAX_PAUSE),
        }
        self.next_look = Instant::now() + self.pause;
    }

    /// Gives the rest to the sink, and says whether that is all there was.
    pub async fn finish(&mut self, sandbox: &Sandbox, sink: &mut dyn OutputSink) -> bool {
        let mut is_whole = self.read_new(sandbox, sink).await;
        if is_whole.as_ref().is_err_and(|error| !matches!(error, Error::NotFound(_))) {
            is_whole = self.read_new(sandbox, sink).await;
        }
        for file in &mut self.files {
            if let Some(last) = file.text.finish() {
                self.is_lossy |= last.is_lossy;
                sink.output(file.stream, &last.text).await;
            }
        }
        is_whole.is_ok()
    }

    /// Removes the files; what cannot be removed goes with the sandbox.
    pub async fn remove(&self, sandbox: &Sandbox) {
        let removed = timeout(REMOVED_WITHIN, sandbox.delete_directory(&self.directory)).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::debug!(sandbox.id = sandbox.id(), "output files could not be removed");
        }
    }

    /// Whether there was anything.
    async fn read_new(&mut self, sandbox: &Sandbox, sink: &mut dyn OutputSink) -> Result<bool, Error> {
        let [out, err] = &self.files;
        let info = sandbox.file_info(&[&out.path, &err.path]).await?;
        let mut is_any = false;
        for file in &mut self.files {
            let size = info.get(&file.path).map_or(0, |info| info.size_bytes);
            if size > file.read_up_to {
                is_any = true;
                self.is_lossy |= file.read(sandbox, size, sink).await?;
            }
        }
        Ok(is_any)
    }
}

impl OutputFile {
    /// Reads up to `size`, and says whether some of it was no text.
    async fn read(&mut self, sandbox: &Sandbox, size: u64, sink: &mut dyn OutputSink) -> Result<bool, Error> {
        let range = ByteRange { start: self.read_up_to, length: Some(size - self.read_up_to) };
        let (mut response, _) = sandbox.open_download(&self.path, Some(range)).await?;
        let mut is_lossy = false;
        while self.read_up_to < size {
            let Some(bytes) = sandbox.transport().chunk(&mut response).await? else { break };
            // More than was asked for would be read again the next time.
            let left = usize::try_from(size - self.read_up_to).unwrap_or(usize::MAX);
            let bytes = bytes.slice(..bytes.len().min(left));
            self.read_up_to += bytes.len() as u64;
            if let Some(piece) = self.text.push(&bytes) {
                is_lossy |= piece.is_lossy;
                sink.output(self.stream, &piece.text).await;
            }
        }
        Ok(is_lossy)
    }
}
