//! Following a running command: its output goes to a stream or a log, its end into its record.
//!
//! Rule: nothing is read from a pipe before the reader of the stream has taken what was read before it, so output of
//! any size passes through bounded memory and a stalled reader stalls the command, not the server. The end is noticed
//! all the same. A reader that goes away does not stop the command; its output is then read and dropped.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header;
use tokio::io::AsyncReadExt;
use tokio::net::unix::{OwnedReadHalf, pipe};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::output::{ErrorInfo, Event, Lines, Stripper, Wire};
use super::raw::RawBytes;
use super::records::{Ending, Record};
use crate::local::clock;
use crate::local::protocol::{self, FollowUp, Reply};
use crate::local::sandbox::Sandbox;

const PING_PERIOD: Duration = Duration::from_secs(3);
const CHUNK_BYTES: usize = 64 * 1024;
/// From so many bytes at a time on, lines share events of about this size.
const BULK_BYTES: usize = 4 * 1024;
/// What may stand in a pipe when its command has ended: the largest pipe that an ordinary user can make.
const MAX_REST_BYTES: usize = 1024 * 1024;
/// How long the news of a sandbox's death may lag behind the loss of a supervisor.
const DEATH_LAG: Duration = Duration::from_millis(300);

type Frames = Result<Bytes, io::Error>;

/// What a client that disconnects does to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisconnect {
    GoOn,
    Kill,
}

/// Stores how the command ends, as soon as its supervisor says so.
pub async fn watch(sandbox: Arc<Sandbox>, record: Arc<Record>, mut supervisor: OwnedReadHalf) {
    let ending = match protocol::receive::<Reply>(&mut supervisor).await {
        Ok(Reply::Exited(exit)) => {
            if exit.survivors {
                tracing::warn!(sandbox.id = sandbox.id(), "processes of a command cannot be killed, the sandbox ends");
                sandbox.kill();
            }
            exit.signal.map_or_else(|| Ending::Exited(exit.code.unwrap_or(-1)), Ending::Signalled)
        }
        // The supervisor was killed, alone or together with everything inside.
        _ => match tokio::time::timeout(DEATH_LAG, sandbox.ended.cancelled()).await {
            Ok(()) => Ending::Lost,
            Err(_) => Ending::Signalled(libc::SIGKILL),
        },
    };
    record.finish(ending);
}

/// The output pipes of a command.
pub struct Output {
    pub stdout: Source,
    pub stderr: Source,
}

/// One of them, with its unfinished line.
pub struct Source {
    kind: &'static str,
    pipe: pipe::Receiver,
    lines: Lines,
    /// Only for the wire without terminators.
    stripper: Option<Stripper>,
    /// Only where the bytes are kept as well.
    raw: Option<RawBytes>,
    is_open: bool,
}

impl Output {
    pub fn new([stdout, stderr]: [(pipe::Receiver, RawBytes); 2], wire: Wire) -> Self {
        let source = |kind, (pipe, raw)| Source { raw: Some(raw), ..Source::new(kind, pipe, wire) };
        Self { stdout: source("stdout", stdout), stderr: source("stderr", stderr) }
    }
}

impl Source {
    pub fn new(kind: &'static str, pipe: pipe::Receiver, wire: Wire) -> Self {
        let stripper = (wire == Wire::Stripped).then(Stripper::default);
        Self { kind, pipe, lines: Lines::default(), stripper, raw: None, is_open: true }
    }

    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let read = self.pipe.read(buffer).await.unwrap_or(0);
        self.is_open = read > 0;
        read
    }

    /// What a command that has ended left in the pipe. The kernel is asked itself: that it is readable may not have come
    /// through to the runtime yet, and a short command would lose all it said.
    fn take_rest(&mut self, mut take: impl FnMut(&mut Self, &[u8])) {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut total = 0;
        while total < MAX_REST_BYTES {
            match rustix::io::retry_on_intr(|| rustix::io::read(&self.pipe, &mut buffer)) {
                Ok(read) if read > 0 => {
                    total += read;
                    take(self, &buffer[..read]);
                }
                _ => return,
            }
        }
    }

    /// A little output is an event a line, as clients know it. Of much, lines share events: a program that prints
    /// millions of short lines must not be held back by their envelopes.
    fn encode(&mut self, bytes: &[u8], frames: &mut Vec<u8>) {
        let (kind, timestamp) = (self.kind, clock::now_ms());
        let most = if bytes.len() >= BULK_BYTES && self.stripper.is_none() { BULK_BYTES } else { 0 };
        let (stripper, raw) = (&mut self.stripper, &mut self.raw);
        if let Some(raw) = raw {
            raw.write(bytes);
        }
        let mut emit = |text: &str| {
            if let Some(raw) = raw {
                raw.shown(text);
            }
            if let Some(text) = shown(stripper, text) {
                Event { kind, text, timestamp, ..Event::default() }.encode(frames);
            }
        };
        let mut shared = String::new();
        self.lines.push(bytes, |text| {
            if !shared.is_empty() && shared.len() + text.len() > most {
                emit(&shared);
                shared.clear();
            }
            shared.push_str(text);
        });
        if !shared.is_empty() {
            emit(&shared);
        }
    }

    fn finish(&mut self, frames: &mut Vec<u8>) {
        let (kind, timestamp) = (self.kind, clock::now_ms());
        let (stripper, raw) = (&mut self.stripper, &mut self.raw);
        self.lines.finish(|text| {
            if let Some(raw) = raw {
                raw.shown(text);
            }
            if let Some(text) = shown(stripper, text) {
                Event { kind, text, timestamp, ..Event::default() }.encode(frames);
            }
        });
    }
}

fn shown<'a>(stripper: &mut Option<Stripper>, text: &'a str) -> Option<&'a str> {
    match stripper {
        Some(stripper) => stripper.strip(text),
        None => Some(text),
    }
}

/// Sends the output of a foreground command and its end to a stream.
pub async fn pump(record: Arc<Record>, mut output: Output, name: String, mut stream: Stream) {
    stream.send(opening(&name)).await;
    let mut ping = interval_at(Instant::now() + PING_PERIOD, PING_PERIOD);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut first, mut second) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    loop {
        let mut frames = Vec::new();
        tokio::select! {
            read = output.stdout.read(&mut first), if output.stdout.is_open => {
                output.stdout.encode(&first[..read], &mut frames);
            }
            read = output.stderr.read(&mut second), if output.stderr.is_open => {
                output.stderr.encode(&second[..read], &mut frames);
            }
            () = record.exited.cancelled() => break,
            // A paused sandbox is silent, as one is whose execd is frozen with it.
            _ = ping.tick() => if !stream.sandbox.pause.is_on() { pong(&mut frames) },
        }
        stream.send(frames).await;
    }
    let mut frames = Vec::new();
    for source in [&mut output.stdout, &mut output.stderr] {
        source.take_rest(|source, bytes| source.encode(bytes, &mut frames));
        source.finish(&mut frames);
    }
    stream.send(frames).await;
    // Who sees the end may ask for them.
    if let (Some(stdout), Some(stderr)) = (output.stdout.raw, output.stderr.raw) {
        stream.sandbox.raw_output.keep(&record.id, [stdout, stderr]);
    }
    match record.finished().map(|finished| finished.ending) {
        Some(Ending::Lost) | None => stream.cut(),
        Some(ending) => stream.send(closing(&record, ending)).await,
    }
}

/// Writes the output of a background command to its log.
pub async fn store(sandbox: Arc<Sandbox>, record: Arc<Record>, mut output: Source) {
    let _logged = record.logged.clone().drop_guard();
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let read = tokio::select! {
            read = output.read(&mut buffer), if output.is_open => read,
            () = record.exited.cancelled() => break,
        };
        buffer = log(&sandbox, &record, buffer, read).await;
    }
    let mut rest = Vec::new();
    output.take_rest(|_, bytes| rest.extend_from_slice(bytes));
    let length = rest.len();
    log(&sandbox, &record, rest, length).await;
}

/// Writes the beginning of a buffer, which comes back. A slow disk holds back this command and nobody else.
async fn log(sandbox: &Sandbox, record: &Arc<Record>, buffer: Vec<u8>, length: usize) -> Vec<u8> {
    let kept = record.log.as_ref().map_or(0, |log| sandbox.commands.count(log, length));
    if kept == 0 {
        return buffer;
    }
    let record = Arc::clone(record);
    let writing = tokio::task::spawn_blocking(move || {
        if let Some(log) = &record.log {
            log.write(&buffer[..kept]);
        }
        buffer
    });
    writing.await.unwrap_or_else(|_| vec![0; CHUNK_BYTES])
}

/// The answer whose body is what arrives on the channel.
pub fn response(frames: mpsc::Receiver<Frames>) -> Response {
    let stream = futures_util::stream::unfold(frames, |mut frames| async move { Some((frames.recv().await?, frames)) });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(stream)).into_response()
}

/// The first frames of every stream.
pub fn opening(name: &str) -> Vec<u8> {
    let mut frames = Vec::new();
    Event { kind: "init", text: name, timestamp: clock::now_ms(), ..Event::default() }.encode(&mut frames);
    pong(&mut frames);
    frames
}

/// The last frame of a command that has ended, or of one that goes on in the background.
pub fn closing(record: &Record, ending: Ending) -> Vec<u8> {
    let mut frames = Vec::new();
    let timestamp = clock::now_ms();
    if ending == Ending::Exited(0) {
        let until = record.finished().map_or_else(clock::now, |finished| finished.at);
        let milliseconds = (until - record.started_at).whole_milliseconds();
        let execution_time = Some(i64::try_from(milliseconds).unwrap_or(i64::MAX));
        Event { kind: "execution_complete", execution_time, timestamp, ..Event::default() }.encode(&mut frames);
    } else {
        let error = ErrorInfo {
            ename: "CommandExecError",
            evalue: ending.exit_code().to_string(),
            traceback: vec![ending.describe()],
        };
        Event { kind: "error", error: Some(error), timestamp, ..Event::default() }.encode(&mut frames);
    }
    frames
}

fn pong(frames: &mut Vec<u8>) {
    Event { kind: "ping", text: "pong", timestamp: clock::now_ms(), ..Event::default() }.encode(frames);
}

/// The reader of a command's stream.
pub struct Stream {
    /// `None` after the client has gone.
    client: Option<mpsc::Sender<Frames>>,
    record: Arc<Record>,
    on_disconnect: OnDisconnect,
    sandbox: Arc<Sandbox>,
}

impl Stream {
    pub fn new(
        client: mpsc::Sender<Frames>,
        record: Arc<Record>,
        on_disconnect: OnDisconnect,
        sandbox: Arc<Sandbox>,
    ) -> Self {
        Self { client: Some(client), record, on_disconnect, sandbox }
    }

    async fn send(&mut self, frames: Vec<u8>) {
        let Some(client) = &self.client else { return };
        if frames.is_empty() {
            return;
        }
        let is_sent = tokio::select! {
            biased;
            sent = client.send(Ok(frames.into())) => sent.is_ok(),
            // The end of the sandbox waits for no reader.
            () = self.sandbox.ended.cancelled() => return,
        };
        if !is_sent {
            self.client = None;
            if self.on_disconnect == OnDisconnect::Kill {
                self.record.say(FollowUp::Kill).await;
            }
        }
    }

    /// Ends the body in a way that the client cannot take for a regular end.
    fn cut(&mut self) {
        if let Some(client) = self.client.take() {
            // A reader that is behind sees the end of the body without a last event instead.
            let _ = client.try_send(Err(io::Error::other("the sandbox has ended")));
        }
    }
}
