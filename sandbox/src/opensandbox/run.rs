//! Running a command while its output streams.
//!
//! 1. Once per sandbox, a probe tells how output is sent.
//! 2. The command is sent, once: when its answer is lost, `OutcomeUnknown` says so.
//! 3. Events are read up to the terminal one, never to the end of the body; each output waits for the sink.
//! 4. Beside that, one future waits for cancel or the time limit, interrupts the command, and gives it a grace.
//!
//! Rule: only a terminal event makes an end known. Dropping the future does not stop the command; cancelling it does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::consume_budget;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::command::{CommandEnd, CommandOutcome, CommandRequest, CommandStatus, check_command_id};
use super::command_stream::{CommandStream, Next};
use super::error::{Deadline, Error, Reply};
use super::lifecycle::check_id;
use super::output::{Joiner, OutputSink, OutputStream, OutputWire, PROBE_COMMAND};
use super::sandbox::{Execd, Sandbox};
use super::stream::Event;
use super::supervise::{Stop, Verdict, Watchdog};

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
        let body = request.to_json()?;
        let Some(wire) = cancel.run_until_cancelled(self.output_wire()).await else {
            return Ok(never_started());
        };
        if cancel.is_cancelled() {
            return Ok(never_started());
        }
        let mut run = Run::new(self, self.execd().await?, wire?);
        let stop = Stop::new(self, run.command_id.subscribe(), request.timeout, cancel);
        let result = tokio::select! {
            biased;
            result = run.read(&body, sink) => result,
            () = stop.enforce() => Ok(Finish::Abandoned),
        };
        run.conclude(result, &stop, request.timeout).await
    }

    /// How this sandbox's commands send output; asked once, by running a command that prints two lines.
    pub async fn output_wire(&self) -> Result<OutputWire, Error> {
        let total = self.transport().timeouts.request;
        let probe = || async {
            let result = timeout(total, self.probe()).await;
            // Whether the probe ran matters to nobody, and must not look as if the caller's command had.
            result.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))).map_err(Error::without_effect)
        };
        self.wire().get_or_try_init(probe).await.copied()
    }

    async fn probe(&self) -> Result<OutputWire, Error> {
        let execd = self.execd().await?;
        let body = CommandRequest::shell(PROBE_COMMAND).to_json()?;
        let mut stream = CommandStream::open(self.transport(), &execd, &body).await?;
        let mut texts = Vec::new();
        loop {
            match stream.next(self.transport().timeouts.silence).await? {
                Next::Event(Event::Output { stream: OutputStream::Stdout, text }) => texts.push(text),
                Next::Event(Event::Complete { .. }) => break,
                Next::Event(event) if !event.is_terminal() => {}
                Next::Silent => return Err(Error::DeadlineExceeded(Deadline::Idle)),
                Next::Event(_) | Next::Ended => {
                    return Err(Error::protocol("probe of the output wire did not complete"));
                }
            }
        }
        OutputWire::from_probe(&texts).ok_or_else(|| Error::protocol("output wire is neither of the known two"))
    }

    /// Starts a command in the background and returns its id, for [`Sandbox::command_status`] and [`Sandbox::logs`].
    pub async fn start(&self, request: &CommandRequest) -> Result<String, Error> {
        let mut body = request.to_json()?;
        body["background"] = true.into();
        let execd = self.execd().await?;
        let mut stream = CommandStream::open(self.transport(), &execd, &body).await?;
        let mut command_id = None;
        let lost = |what: &str| Err(Error::protocol(what).after_sending("command"));
        loop {
            let event = match stream.next(self.transport().timeouts.silence).await? {
                Next::Event(event) => event,
                Next::Silent | Next::Ended => return lost("background command did not say that it started"),
            };
            match event {
                Event::Init { id } => command_id = Some(check_id(id).map_err(|error| error.after_sending("command"))?),
                Event::Complete { .. } => break,
                Event::Failed { value: message } => return Err(refused(&execd, None, &message)),
                Event::LateError { code, message } => return Err(refused(&execd, Some(code), &message)),
                Event::Ping | Event::Output { .. } | Event::Unknown => {}
            }
        }
        command_id.map_or_else(|| lost("background command has no id"), Ok)
    }
}

fn refused(execd: &Execd, code: Option<String>, message: &str) -> Error {
    let reply = Reply { status: 200, code, message: message.to_owned(), ..Reply::default() };
    Error::Rejected(execd.redactor.reply(reply))
}

fn never_started() -> CommandOutcome {
    CommandOutcome {
        end: CommandEnd::Interrupted,
        duration: Duration::ZERO,
        unknown_events: 0,
        is_lossy: false,
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
    /// The command was interrupted, and its grace is over.
    Abandoned,
}

/// A command that is being run.
struct Run<'a> {
    sandbox: &'a Sandbox,
    execd: Arc<Execd>,
    started: Instant,
    joiner: Joiner,
    command_id: watch::Sender<Option<String>>,
    unknown_events: u64,
    is_lossy: bool,
}

impl<'a> Run<'a> {
    fn new(sandbox: &'a Sandbox, execd: Arc<Execd>, wire: OutputWire) -> Self {
        Self {
            sandbox,
            execd,
            started: Instant::now(),
            joiner: Joiner::new(wire),
            command_id: watch::Sender::new(None),
            unknown_events: 0,
            is_lossy: false,
        }
    }

    async fn read(&mut self, body: &Value, sink: &mut dyn OutputSink) -> Result<Finish, Error> {
        let timeouts = &self.sandbox.transport().timeouts;
        let mut stream = CommandStream::open(self.sandbox.transport(), &self.execd, body).await?;
        let mut watchdog = Watchdog::new(timeouts.silence);
        loop {
            match stream.next(watchdog.patience()).await? {
                Next::Event(event) if event.is_terminal() => {
                    self.read_tail(&mut stream, timeouts.tail, sink).await;
                    return Ok(Finish::Terminal(event));
                }
                Next::Event(event) => {
                    watchdog.note_life();
                    self.take(event, sink).await;
                    // A flood of output must not keep cancel and time limit from being seen.
                    consume_budget().await;
                }
                Next::Silent => {
                    let id = self.command_id.borrow().clone();
                    if let Verdict::Lost(status) = watchdog.check(self.sandbox, id.as_deref()).await {
                        return Ok(Finish::Lost(status));
                    }
                }
                Next::Ended => return Ok(Finish::Lost(self.ask_status().await)),
            }
        }
    }

    async fn take(&mut self, event: Event, sink: &mut dyn OutputSink) {
        match event {
            Event::Init { id } if check_command_id(&id).is_ok() => {
                self.command_id.send_replace(Some(id));
            }
            Event::Output { stream, text } => {
                let text = self.joiner.join(stream, text);
                self.is_lossy |= text.contains(char::REPLACEMENT_CHARACTER);
                if !text.is_empty() {
                    sink.output(stream, &text).await;
                }
            }
            Event::Unknown | Event::Init { .. } => self.unknown_events += 1,
            Event::Ping | Event::Complete { .. } | Event::Failed { .. } | Event::LateError { .. } => {}
        }
    }

    /// What has arrived already, and what arrives within `tail`.
    async fn read_tail(&mut self, stream: &mut CommandStream, tail: Duration, sink: &mut dyn OutputSink) {
        let deadline = Instant::now() + tail;
        while let Ok(Ok(Next::Event(event))) = timeout_at(deadline, stream.next(tail)).await {
            self.take(event, sink).await;
            if stream.is_drained() && Instant::now() >= deadline {
                break;
            }
        }
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
        let (end, is_stopped, status) = match (result, stop.cause()) {
            (Err(error), None) => {
                self.stop_unreadable().await;
                return Err(error);
            }
            (Ok(Finish::Terminal(_)), Some(cause)) => (cause, true, None),
            (Err(_) | Ok(Finish::Lost(None) | Finish::Abandoned), Some(cause)) => (cause, stop.is_confirmed(), None),
            (Ok(Finish::Lost(Some(status))), Some(cause)) => (cause, !status.is_running, Some(status)),
            (Ok(Finish::Terminal(event)), None) => (self.end_of(event, duration, limit), true, None),
            (Ok(Finish::Lost(status)), None) => {
                (CommandEnd::Unknown, status.as_ref().is_some_and(|status| !status.is_running), status)
            }
            (Ok(Finish::Abandoned), None) => (CommandEnd::Unknown, false, None),
        };
        Ok(CommandOutcome {
            end,
            duration,
            unknown_events: self.unknown_events,
            is_lossy: self.is_lossy,
            is_stopped,
            command_id: self.command_id.borrow().clone(),
            status,
        })
    }

    /// A command whose stream cannot be read any further must not run on unseen.
    async fn stop_unreadable(&self) {
        let id = self.command_id.borrow().clone();
        if let Some(id) = id
            && let Err(error) = self.sandbox.interrupt(&id).await
        {
            tracing::warn!(
                sandbox.id = self.sandbox.id(),
                error.code = error.code(),
                "command could not be interrupted"
            );
        }
    }

    fn end_of(&self, event: Event, duration: Duration, limit: Option<Duration>) -> CommandEnd {
        let value = match event {
            Event::Failed { value } => value,
            Event::LateError { code, message } if code.is_empty() => message,
            Event::LateError { code, message } => format!("{code}: {message}"),
            Event::Complete { .. } => return CommandEnd::Exited(0),
            Event::Init { .. } | Event::Ping | Event::Output { .. } | Event::Unknown => return CommandEnd::Unknown,
        };
        match value.trim().parse() {
            // The wire does not tell a timeout from another kill; the clock does.
            Ok(-1) if limit.is_some_and(|limit| duration >= limit) => CommandEnd::TimedOut,
            Ok(-1) => CommandEnd::Killed,
            Ok(code) => CommandEnd::Exited(code),
            Err(_) => CommandEnd::StartFailed(self.execd.redactor.message(&value)),
        }
    }
}
