//! Follows a command that runs in the background: its output from the first byte on, over cut connections.
//!
//! The client counts the bytes and comes back to a server that was away. What is said here is which end a command came
//! to, and whether anything of it may still run: then its sandbox is given up.

use std::ops::ControlFlow;
use std::time::Duration;

use async_trait::async_trait;
use domain::execution::CallContext;
use domain::sandbox::{BackgroundCommand, Exit, Followed, OutputSink, OutputStream, ProgramEnd, SandboxError, Start};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::execute::exit;
use super::failure::failure;
use crate::opensandbox::{
    CommandEnd, CommandRequest, CommandStatus, Error, ErrorClass, LogPiece, LogSink, Sandbox, SandboxLabel,
    SandboxState,
};

/// How much earlier than its limit a command may seem to have been killed by it: the server measures on a clock of its
/// own, and tells whole milliseconds.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// First pause before a server that is away is asked again; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a server may be away, which may be starting anew like its client.
const AWAY: Duration = Duration::from_secs(120);

/// Whether the server has the sandbox with our label, and commands can run in it.
pub(super) async fn is_usable(
    remote: &Sandbox,
    label: &SandboxLabel,
    context: &CallContext,
) -> Result<bool, SandboxError> {
    let deadline = Instant::now() + AWAY;
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match remote.info().await {
            Ok(info) => return Ok(info.has_label(label) && info.state == SandboxState::Running),
            Err(Error::NotFound(_)) => return Ok(false),
            Err(error) => error,
        };
        let is_worth_asking = error.class() == ErrorClass::Transient && Instant::now() + pause < deadline;
        let waited = context.cancel.run_until_cancelled(tokio::time::sleep(pause));
        if !is_worth_asking || waited.await.is_none() {
            return Err(failure(&error));
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

pub(super) async fn start(remote: &Sandbox, request: &CommandRequest) -> Result<Start, SandboxError> {
    match remote.start(request).await {
        Ok(id) => Ok(Start::Started(id)),
        Err(Error::Rejected(reply)) => Ok(Start::NotStarted(reply.message)),
        Err(error) => Err(failure(&error)),
    }
}

pub(super) async fn follow(
    remote: &Sandbox,
    context: &CallContext,
    command: &BackgroundCommand,
    let_go: &CancellationToken,
    output: &dyn OutputSink,
) -> Result<Followed, SandboxError> {
    let mut sink = Forward(output);
    // Reading changes nothing on the server, so that it can be left at any moment.
    let followed = remote.follow(&command.id, 0, &mut sink, &context.cancel);
    let Some(followed) = let_go.run_until_cancelled(followed).await else { return Ok(Followed::LetGo) };
    let outcome = match followed {
        Ok(outcome) => outcome,
        // The server knows nothing of it any more: what it did is not known, nor whether it is over.
        Err(Error::NotFound(_)) => {
            return Ok(Followed::Ended(ProgramEnd { sandbox_lost: true, ..ProgramEnd::of(Exit::Unknown) }));
        }
        Err(error) => return Err(failure(&error)),
    };
    let exit = match outcome.end {
        Some(CommandEnd::Killed) if is_timed_out(outcome.status.as_ref(), command.limit()) => Exit::TimedOut,
        Some(end) => exit(end),
        None => Exit::Unknown,
    };
    let dropped_bytes = outcome.status.map_or(0, |status| status.dropped_bytes);
    Ok(Followed::Ended(ProgramEnd { sandbox_lost: !outcome.is_stopped, dropped_bytes, ..ProgramEnd::of(exit) }))
}

/// The wire does not tell a kill at the time limit from another one; the server's clock does, also when nobody looked.
fn is_timed_out(status: Option<&CommandStatus>, limit: Duration) -> bool {
    let ran = status.and_then(|status| Some(status.finished_at? - status.started_at?));
    ran.is_some_and(|ran| ran + CLOCK_TICK >= limit)
}

/// Hands the output on. A background command's standard output and error are one.
struct Forward<'a>(&'a dyn OutputSink);

#[async_trait]
impl LogSink for Forward<'_> {
    async fn piece(&mut self, piece: LogPiece<'_>) -> ControlFlow<()> {
        self.0.output(OutputStream::Stdout, piece.text).await;
        ControlFlow::Continue(())
    }
}
