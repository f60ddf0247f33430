//! Running a command while its output streams.
//!
//! 1. Once per sandbox, a probe tells how output is sent. Where it is not sent whole, it goes to files that are read.
//! 2. The command is sent, once: when its answer is lost, `OutcomeUnknown` says so.
//! 3. Events are read up to the terminal one, never to the end of the body. Output that arrived together is given to the sink
//!    together, and waits for it: a program's line may be an event of its own, and the sink's work is by the piece.
//! 4. Beside that, one future waits for cancel or the time limit, interrupts the command, and gives it a grace.
//!
//! Rule: only a terminal event makes an end known, but for a line that is too long to be read: then the command is stopped,
//! and so is one whose stream makes no sense. An error says that it does not run, or, as `OutcomeUnknown`, that it may.
//! Dropping the future does not stop the command; cancelling it does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::consume_budget;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::command::{CommandEnd, CommandOutcome, CommandRequest, CommandStatus, check_command_id, check_lengths};
use super::command_stream::{CommandStream, Next};
use super::error::Error;
use super::output::{Joiner, OutputSink, OutputStream, OutputWire};
use super::output_files::OutputFiles;
use super::sandbox::{Port, Sandbox};
use super::stream::Event;
use super::supervise::{Stop, Verdict, Watchdog};

/// Output is given on at this size, however much more has arrived.
const PIECE_BYTES: usize = 64 * 1024;
/// What a server says that was told of a process's end by nobody.
const EXIT_CODE_LOST: &str = "no child processes";

impl Sandbox {
    /// Runs a command to its end and gives its output to `sink` while it runs.
    ///
    /// A command that fails is an `Ok`; an `Err` means that it did not run, or, as `OutcomeUnknown`, that it may have.
    pub async fn run(
        &self,
        request: &CommandRequest,
        sink: &mut dyn OutputSink,
        cancel: &CancellationToken,
    ) -> Result<CommandOutcome, Error> {
        request.check()?;
        let Some(wire) = cancel.run_until_cancelled(self.execd_wire()).await else {
            return Ok(never_started());
        };
        if cancel.is_cancelled() {
            return Ok(never_started());
        }
        let wire = wire?;
        let mut body = request.to_json(wire.takes_argv)?;
        let files = match wire.output {
            OutputWire::Kept => None,
            OutputWire::Stripped => Some(OutputFiles::new()?),
        };
        if let Some(files) = &files {
            let text = files.wrap(&request.shell_text());
            check_lengths([text.len()].into_iter())?;
            body["command"] = text.into();
        }
        let mut run = Run::new(self, self.execd().await?, files);
        let stop = Stop::new(self, run.command_id.subscribe(), request.timeout, cancel);
        let result = tokio::select! {
            biased;
            result = run.read(&body, sink) => result,
            () = stop.enforce() => Ok(Finish::Abandoned),
        };
        run.give(sink).await;
        run.conclude(result, &stop, request.timeout).await
    }
}

fn never_started() -> CommandOutcome {
    CommandOutcome {
        end: CommandEnd::Interrupted,
        duration: Duration::ZERO,
        unknown_events: 0,
        is_lossy: false,
        is_incomplete: false,
        is_stopped: true,
        command_id: None,
        status: None,
    }
}

/// Why reading stopped.
enum Finish {
    Terminal(Event),
    /// The stream ended or fell silent.
    Lost(Option<CommandStatus>),
    /// The stream cannot be read any further: a line is too long.
    Overlong,
    /// The command was interrupted, and its grace is over.
    Abandoned,
}

/// A command that is being run.
struct Run<'a> {
    sandbox: &'a Sandbox,
    execd: Arc<Port>,
    started: Instant,
    joiner: Joiner,
    /// Output that the sink has not got yet.
    gathered: Option<(OutputStream, String)>,
    /// Where the output goes when the wire cannot carry it.
    files: Option<OutputFiles>,
    command_id: watch::Sender<Option<String>>,
    unknown_events: u64,
    /// The name of an event that this client does not know and behind which nothing but pings came.
    unknown_last: Option<String>,
    is_lossy: bool,
    is_whole: bool,
}

impl<'a> Run<'a> {
    fn new(sandbox: &'a Sandbox, execd: Arc<Port>, files: Option<OutputFiles>) -> Self {
        let wire = if files.is_some() { OutputWire::Stripped } else { OutputWire::Kept };
        Self {
            sandbox,
            execd,
            started: Instant::now(),
            joiner: Joiner::new(wire),
            gathered: None,
            files,
            command_id: watch::Sender::new(None),
            unknown_events: 0,
            unknown_last: None,
            is_lossy: false,
            is_whole: false,
        }
    }

    /// Reads to the end of the command, and of its output.
    async fn read(&mut self, body: &Value, sink: &mut dyn OutputSink) -> Result<Finish, Error> {
        let finish = self.read_events(body, sink).await;
        self.give(sink).await;
        let finish = finish?;
        self.is_whole = matches!(finish, Finish::Terminal(_));
        if let Some(files) = &mut self.files {
            self.is_whole &= files.finish(self.sandbox, sink).await;
        }
        Ok(finish)
    }

    async fn read_events(&mut self, body: &Value, sink: &mut dyn OutputSink) -> Result<Finish, Error> {
        let timeouts = &self.sandbox.transport().timeouts;
        let mut stream = CommandStream::open(self.sandbox.transport(), &self.execd, body).await?;
        let mut watchdog = Watchdog::new(timeouts.silence);
        loop {
            let until_look = self.files.as_ref().map_or(Duration::MAX, OutputFiles::until_next_look);
            match stream.next(watchdog.patience().min(until_look)).await {
                Next::Event(event) if event.is_terminal() => {
                    self.read_tail(&mut stream, timeouts.tail, sink).await;
                    return Ok(Finish::Terminal(event));
                }
                Next::Event(event) => {
                    watchdog.note_life();
                    self.take(event, sink).await;
                    if stream.is_drained() {
                        self.give(sink).await;
                    }
                    // A flood of output must not keep cancel and time limit from being seen.
                    consume_budget().await;
                }
                Next::Silent if watchdog.patience().is_zero() => {
                    let id = self.command_id.borrow().clone();
                    if let Verdict::Lost(status) = watchdog.check(self.sandbox, id.as_deref()).await {
                        return Ok(Finish::Lost(status));
                    }
                }
                Next::Silent => {}
                Next::Ended => return self.end_without_terminal_event().await,
                Next::Broken => return Ok(Finish::Lost(self.ask_status().await)),
                Next::Overlong => return Ok(Finish::Overlong),
            }
            if let Some(files) = self.files.as_mut().filter(|files| files.until_next_look().is_zero()) {
                files.look(self.sandbox, sink).await;
            }
        }
    }

    /// A stream that ends in order with an event that nobody knows has ended with a terminal event that nobody knows.
    async fn end_without_terminal_event(&mut self) -> Result<Finish, Error> {
        match self.unknown_last.take() {
            Some(kind) => Err(Error::protocol(format!("terminal event {kind} is unknown"))),
            None => Ok(Finish::Lost(self.ask_status().await)),
        }
    }

    async fn take(&mut self, event: Event, sink: &mut dyn OutputSink) {
        match &event {
            Event::Unknown { kind } => self.unknown_last.clone_from(kind),
            Event::Ping => {}
            _ => self.unknown_last = None,
        }
        match event {
            Event::Init { id } if check_command_id(&id).is_ok() => {
                self.command_id.send_replace(Some(id));
            }
            Event::Output { stream, text } => {
                let text = self.joiner.join(stream, text);
                self.gather(stream, text, sink).await;
            }
            Event::Unknown { .. } | Event::Init { .. } => self.unknown_events += 1,
            Event::Ping | Event::Complete { .. } | Event::Failed { .. } | Event::LateError { .. } => {}
        }
    }

    /// Puts output behind what is gathered of its stream.
    async fn gather(&mut self, stream: OutputStream, text: String, sink: &mut dyn OutputSink) {
        if self.gathered.as_ref().is_some_and(|(gathered, _)| *gathered != stream) {
            self.give(sink).await;
        }
        let size = match &mut self.gathered {
            Some((_, piece)) => {
                piece.push_str(&text);
                piece.len()
            }
            none => none.insert((stream, text)).1.len(),
        };
        if size >= PIECE_BYTES {
            self.give(sink).await;
        }
    }

    /// Gives what is gathered to the sink.
    async fn give(&mut self, sink: &mut dyn OutputSink) {
        let Some((stream, text)) = self.gathered.take().filter(|(_, text)| !text.is_empty()) else { return };
        self.is_lossy |= text.contains(char::REPLACEMENT_CHARACTER);
        sink.output(stream, &text).await;
    }

    /// What has arrived already, and what arrives within `tail`.
    async fn read_tail(&mut self, stream: &mut CommandStream, tail: Duration, sink: &mut dyn OutputSink) {
        let deadline = Instant::now() + tail;
        while let Ok(Next::Event(event)) = timeout_at(deadline, stream.next(tail)).await {
            self.take(event, sink).await;
            if stream.is_drained() {
                self.give(sink).await;
                if Instant::now() >= deadline {
                    break;
                }
            }
        }
        self.give(sink).await;
    }

    async fn ask_status(&self) -> Option<CommandStatus> {
        let id = self.command_id.borrow().clone()?;
        self.sandbox.command_status(&id).await.ok()
    }

    async fn conclude(
        self,
        result: Result<Finish, Error>,
        stop: &Stop<'_>,
        limit: Option<Duration>,
    ) -> Result<CommandOutcome, Error> {
        let duration = self.started.elapsed();
        let files = self.files.as_ref();
        let (is_lossy, is_whole) = (self.is_lossy || files.is_some_and(|files| files.is_lossy), self.is_whole);
        let (end, is_stopped, status) = match (result, stop.cause()) {
            (Err(error), None) => {
                let is_stopped = self.stop_unreadable().await;
                if let Some(files) = files {
                    files.remove(self.sandbox).await;
                }
                return Err(if is_stopped { error } else { error.after_sending("command") });
            }
            (Ok(Finish::Overlong), None) => (CommandEnd::LineTooLong, self.stop_unreadable().await, None),
            (Ok(Finish::Terminal(_)), Some(cause)) => (cause, true, None),
            (Err(_) | Ok(Finish::Lost(None) | Finish::Overlong | Finish::Abandoned), Some(cause)) => {
                (cause, stop.is_confirmed(), None)
            }
            (Ok(Finish::Lost(Some(status))), Some(cause)) => (cause, !status.is_running, Some(status)),
            (Ok(Finish::Terminal(event)), None) => (self.end_of(event, duration, limit), true, None),
            (Ok(Finish::Lost(status)), None) => {
                (CommandEnd::Unknown, status.as_ref().is_some_and(|status| !status.is_running), status)
            }
            (Ok(Finish::Abandoned), None) => (CommandEnd::Unknown, false, None),
        };
        if let Some(files) = files.filter(|_| is_stopped) {
            files.remove(self.sandbox).await;
        }
        Ok(CommandOutcome {
            end,
            duration,
            unknown_events: self.unknown_events,
            is_lossy,
            is_incomplete: !is_whole,
            is_stopped,
            command_id: self.command_id.borrow().clone(),
            status,
        })
    }

    /// A command whose stream cannot be read any further must not run on unseen. Says whether the server confirmed that
    /// it does not.
    async fn stop_unreadable(&self) -> bool {
        let Some(id) = self.command_id.borrow().clone() else { return false };
        let interrupted = self.sandbox.interrupt(&id).await;
        if let Err(error) = &interrupted {
            tracing::warn!(
                sandbox.id = self.sandbox.id(),
                error.code = error.code(),
                "command could not be interrupted"
            );
        }
        interrupted.is_ok()
    }

    fn end_of(&self, event: Event, duration: Duration, limit: Option<Duration>) -> CommandEnd {
        let value = match event {
            Event::Failed { value } => value,
            Event::LateError { code, message } if code.is_empty() => message,
            Event::LateError { code, message } => format!("{code}: {message}"),
            Event::Complete { .. } => return CommandEnd::Exited(0),
            Event::Init { .. } | Event::Ping | Event::Output { .. } | Event::Unknown { .. } => {
                return CommandEnd::Unknown;
            }
        };
        match value.trim().parse() {
            // The wire does not tell a timeout from another kill; the clock does.
            Ok(-1) if limit.is_some_and(|limit| duration >= limit) => CommandEnd::TimedOut,
            Ok(-1) => CommandEnd::Killed,
            Ok(code) => CommandEnd::Exited(code),
            // Some servers fail to fetch the exit code of a command that has ended.
            Err(_) if value.contains(EXIT_CODE_LOST) => CommandEnd::Unknown,
            Err(_) => CommandEnd::StartFailed(self.execd.redactor.message(&value)),
        }
    }
}
