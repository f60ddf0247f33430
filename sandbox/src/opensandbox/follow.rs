//! Following a background command: its output from a byte cursor on, until its status says that it has ended.
//!
//! Rule: the cursor counts the bytes that were given to the sink and is never taken from the server, whose own may lie
//! beyond the end. A caller that stores text and cursor together goes on later without loss or repeat, over a cut
//! connection as over a restart of its own.
//!
//! 1. The status is asked first: what a command wrote before its end was announced is then surely in its log.
//! 2. The log is read from the cursor to its end; each piece waits for the sink, which holds the server back.
//! 3. A server that is away is asked again with growing pauses, up to [`super::Timeouts::away`]; one whose sandbox
//!    stands still is asked for as long as it does.
//! 4. Beside that, one future waits for cancel, interrupts the command, and gives it a grace.

use std::ops::ControlFlow;
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use tokio::sync::watch;
use tokio::task::consume_budget;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::command::{CommandEnd, CommandStatus, check_command_id};
use super::error::{Error, ErrorClass};
use super::sandbox::Sandbox;
use super::supervise::Stop;
use super::utf8::{TextPiece, Utf8Pieces};

/// A command that has just been started may be unknown to its own server for a moment.
pub(super) const REGISTERED_WITHIN: Duration = Duration::from_secs(3);
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A piece of a background command's output. Standard output and error are one text here, in the order in which the
/// command wrote them: a server keeps them in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPiece<'a> {
    /// The bytes as they were written: never empty, and never ending inside a character.
    pub bytes: &'a [u8],
    /// The same as text.
    pub text: &'a str,
    /// Whether some of the bytes are no UTF-8, so that the text has replacement characters in their place.
    pub is_lossy: bool,
    /// Where the next piece begins.
    pub cursor: u64,
}

/// Takes the output of a background command.
///
/// The next piece is read only after the last one was taken.
#[async_trait]
pub trait LogSink: Send {
    /// Takes a piece. `Break` ends the following and leaves the command running, for one that cannot be stored.
    async fn piece(&mut self, piece: LogPiece<'_>) -> ControlFlow<()>;
}

/// What is known about a command that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowOutcome {
    /// How it ended; `None` when the sink broke off and the command may be running. A command that was killed at its
    /// own time limit is `Killed`, since nobody says so: compare the limit with the times in `status`.
    pub end: Option<CommandEnd>,
    /// Up to where its output was given to the sink.
    pub cursor: u64,
    /// Whether some of the output was no UTF-8.
    pub is_lossy: bool,
    /// Whether the server said that the command is not running any more. If not, destroy the sandbox.
    pub is_stopped: bool,
    /// How often the server was away and came back.
    pub reconnects: u64,
    /// What the server said last.
    pub status: Option<CommandStatus>,
}

impl Sandbox {
    /// Follows a background command from `cursor` on, which counts bytes: 0, or the cursor of the last piece that was
    /// stored. Cancelling interrupts the command; dropping the future leaves it running.
    ///
    /// An error says that it cannot be followed, now or ever: `NotFound` that the server does not know it any more, one
    /// of the class `Transient` that the server stayed away, so that following can be tried again from the last cursor.
    pub async fn follow(
        &self,
        command_id: &str,
        cursor: u64,
        sink: &mut dyn LogSink,
        cancel: &CancellationToken,
    ) -> Result<FollowOutcome, Error> {
        check_command_id(command_id)?;
        let id = watch::Sender::new(Some(command_id.to_owned()));
        let stop = Stop::new(self, id.subscribe(), None, cancel);
        let mut follow = Follow::new(self, command_id, cursor);
        let result = tokio::select! {
            biased;
            result = follow.read_to_end(sink) => result.map(Some),
            () = stop.enforce() => Ok(None),
        };
        follow.conclude(result, &stop)
    }
}

/// Why following stopped by itself.
enum Finish {
    Ended,
    BrokenOff,
}

/// A command that is being followed.
struct Follow<'a> {
    sandbox: &'a Sandbox,
    command_id: &'a str,
    /// Behind the last byte that was read. The sink's own cursor may be some bytes of a character behind.
    read_up_to: u64,
    given_up_to: u64,
    text: Utf8Pieces,
    is_lossy: bool,
    reconnects: u64,
    status: Option<CommandStatus>,
}

impl<'a> Follow<'a> {
    fn new(sandbox: &'a Sandbox, command_id: &'a str, cursor: u64) -> Self {
        Self {
            sandbox,
            command_id,
            read_up_to: cursor,
            given_up_to: cursor,
            text: Utf8Pieces::default(),
            is_lossy: false,
            reconnects: 0,
            status: None,
        }
    }

    async fn read_to_end(&mut self, sink: &mut dyn LogSink) -> Result<Finish, Error> {
        let mut away = Away::new(self.sandbox);
        let mut pause = FIRST_PAUSE;
        loop {
            let before = self.read_up_to;
            match self.look(sink).await {
                Ok(ControlFlow::Break(finish)) => return Ok(finish),
                Ok(ControlFlow::Continue(())) => {
                    self.reconnects += u64::from(away.has_come_back());
                    let is_quiet = self.read_up_to == before;
                    pause = if is_quiet { (pause * 2).min(MAX_PAUSE) } else { FIRST_PAUSE };
                    sleep(pause).await;
                }
                Err(error) => {
                    if self.read_up_to > before {
                        self.reconnects += u64::from(away.has_come_back());
                    }
                    self.sandbox.forget_endpoint().await;
                    if let Err(error) = away.wait(error, self.status.is_some()).await {
                        self.insist_on_standstill(error).await?;
                        away = Away::new(self.sandbox);
                    }
                }
            }
        }
    }

    /// Nobody answers for a sandbox that stands still, and nothing is lost: it goes on where it was.
    async fn insist_on_standstill(&self, error: Error) -> Result<(), Error> {
        if error.class() == ErrorClass::Transient && self.sandbox.stands_still().await { Ok(()) } else { Err(error) }
    }

    /// Asks for the status, and reads what was written up to then.
    async fn look(&mut self, sink: &mut dyn LogSink) -> Result<ControlFlow<Finish>, Error> {
        let status = self.sandbox.command_status(self.command_id).await?;
        let is_running = status.is_running;
        self.status = Some(status);
        loop {
            let before = self.read_up_to;
            if self.read_log(sink).await?.is_break() {
                return Ok(ControlFlow::Break(Finish::BrokenOff));
            }
            if is_running {
                return Ok(ControlFlow::Continue(()));
            }
            // A server may send a long log in parts, and there is no later look that would find the rest.
            if self.read_up_to == before {
                break;
            }
        }
        let last = self.text.finish();
        let finish = if self.give(last, sink).await.is_break() { Finish::BrokenOff } else { Finish::Ended };
        Ok(ControlFlow::Break(finish))
    }

    async fn read_log(&mut self, sink: &mut dyn LogSink) -> Result<ControlFlow<()>, Error> {
        let execd = self.sandbox.execd().await?;
        let mut url = execd.url(&["command", self.command_id, "logs"])?;
        url.query_pairs_mut().append_pair("cursor", &self.read_up_to.to_string());
        let call = execd.call(Method::GET, url);
        let transport = self.sandbox.transport();
        let mut response = transport.open(transport.request(&call), transport.timeouts.idle, call.redactor).await?;
        while let Some(bytes) = transport.chunk(&mut response).await? {
            self.read_up_to += bytes.len() as u64;
            let piece = self.text.push(&bytes);
            if self.give(piece, sink).await.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            // A flood of output must not keep a cancel from being seen.
            consume_budget().await;
        }
        Ok(ControlFlow::Continue(()))
    }

    async fn give(&mut self, piece: Option<TextPiece>, sink: &mut dyn LogSink) -> ControlFlow<()> {
        let Some(TextPiece { bytes, text, is_lossy }) = piece else { return ControlFlow::Continue(()) };
        let cursor = self.given_up_to + bytes.len() as u64;
        sink.piece(LogPiece { bytes: &bytes, text: &text, is_lossy, cursor }).await?;
        self.given_up_to = cursor;
        self.is_lossy |= is_lossy;
        ControlFlow::Continue(())
    }

    fn conclude(self, result: Result<Option<Finish>, Error>, stop: &Stop<'_>) -> Result<FollowOutcome, Error> {
        let is_ended = self.status.as_ref().is_some_and(|status| !status.is_running);
        let end = match (result, stop.cause()) {
            (Ok(Some(Finish::BrokenOff)), _) => None,
            (_, Some(cause)) => Some(cause),
            (Ok(Some(Finish::Ended)), None) => self.status.as_ref().map(CommandStatus::end),
            (Ok(None), None) => Some(CommandEnd::Unknown),
            (Err(error), None) => return Err(error),
        };
        Ok(FollowOutcome {
            end,
            cursor: self.given_up_to,
            is_lossy: self.is_lossy,
            is_stopped: is_ended || stop.is_confirmed(),
            reconnects: self.reconnects,
            status: self.status,
        })
    }
}

/// How long the server has been away.
struct Away {
    limit: Duration,
    backoff: Duration,
    since: Option<Instant>,
    started: Instant,
}

impl Away {
    fn new(sandbox: &Sandbox) -> Self {
        let limit = sandbox.transport().timeouts.away;
        Self { limit, backoff: FIRST_PAUSE, since: None, started: Instant::now() }
    }

    fn has_come_back(&mut self) -> bool {
        self.backoff = FIRST_PAUSE;
        self.since.take().is_some()
    }

    /// Pauses before another try, or gives the error back when a try makes no sense.
    async fn wait(&mut self, error: Error, was_known: bool) -> Result<(), Error> {
        let is_registering = matches!(error, Error::NotFound(_) | Error::Rejected(_)) && !was_known;
        if is_registering && is_of_execd(&error) {
            return if self.started.elapsed() < REGISTERED_WITHIN { self.pause().await } else { Err(error) };
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if error.class() != ErrorClass::Transient || since.elapsed() + self.backoff >= self.limit {
            return Err(error);
        }
        self.pause().await
    }

    async fn pause(&mut self) -> Result<(), Error> {
        sleep(self.backoff).await;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
        Ok(())
    }
}

/// A sandbox that is gone does not come back; a command may have yet to appear.
pub(super) fn is_of_execd(error: &Error) -> bool {
    error.reply().is_some_and(|reply| !reply.has_code("SANDBOX_NOT_FOUND"))
}
