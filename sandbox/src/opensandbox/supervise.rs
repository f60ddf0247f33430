//! What watches a command while its stream is read: a watchdog for silence, and a stop for cancel and time limit.
//!
//! Rule: they act beside the reading and never in its place, so that neither a silent server nor a stuck sink keeps a
//! command from being interrupted.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::command::{CommandEnd, CommandStatus};
use super::error::Error;
use super::sandbox::Sandbox;

/// How long a command that has ended may take to say so on its stream.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// After so many unanswered questions about a silent command, nothing more is expected.
const MAX_FAILED_CHECKS: u32 = 2;

/// Asks about a command whose stream is silent.
pub(super) struct Watchdog {
    silence: Duration,
    /// When the silence has lasted too long.
    deadline: Instant,
    failed_checks: u32,
    /// The status of a command that has ended, while its stream gets a last chance to say so.
    ended: Option<CommandStatus>,
}

/// What is to be done about a silence.
pub(super) enum Verdict {
    /// The command lives; read on.
    Wait,
    /// The stream will say nothing more.
    Lost(Option<CommandStatus>),
}

impl Watchdog {
    pub fn new(silence: Duration) -> Self {
        Self { silence, deadline: Instant::now() + silence, failed_checks: 0, ended: None }
    }

    /// How long to wait for the next event.
    pub fn patience(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// An event has arrived.
    pub fn note_life(&mut self) {
        self.failed_checks = 0;
        self.be_patient();
    }

    fn be_patient(&mut self) {
        let patience = if self.ended.is_some() { self.silence.min(LAST_WORDS) } else { self.silence };
        self.deadline = Instant::now() + patience;
    }

    /// The patience is over.
    pub async fn check(&mut self, sandbox: &Sandbox, command_id: Option<&str>) -> Verdict {
        if let Some(status) = self.ended.take() {
            return Verdict::Lost(Some(status));
        }
        let Some(id) = command_id else { return Verdict::Lost(None) };
        match sandbox.command_status(id).await {
            Ok(status) if status.is_running => self.failed_checks = 0,
            Ok(status) => self.ended = Some(status),
            Err(Error::NotFound(_)) => return Verdict::Lost(None),
            // Nobody answers for a sandbox that stands still; it goes on where it was when it is resumed.
            Err(_) if sandbox.stands_still().await => self.failed_checks = 0,
            Err(_) => self.failed_checks += 1,
        }
        self.be_patient();
        if self.failed_checks >= MAX_FAILED_CHECKS { Verdict::Lost(None) } else { Verdict::Wait }
    }
}

/// Ends a command that was cancelled or has run for too long.
pub(super) struct Stop<'a> {
    sandbox: &'a Sandbox,
    cancel: &'a CancellationToken,
    deadline: Option<Instant>,
    command_id: watch::Receiver<Option<String>>,
    /// Set before the interrupt is sent.
    cause: OnceLock<CommandEnd>,
    /// Set when the server has confirmed that the command does not run.
    confirmation: OnceLock<()>,
}

impl<'a> Stop<'a> {
    /// For a command that has just been sent and whose id will appear in `command_id`. It may run until `limit`.
    pub fn new(
        sandbox: &'a Sandbox,
        command_id: watch::Receiver<Option<String>>,
        limit: Option<Duration>,
        cancel: &'a CancellationToken,
    ) -> Self {
        // The server kills it at its limit; ours is for a server that does not.
        let grace = sandbox.transport().timeouts.interrupt_grace;
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit)?.checked_add(grace));
        Self { sandbox, cancel, deadline, command_id, cause: OnceLock::new(), confirmation: OnceLock::new() }
    }

    /// Why the command was stopped, when it was.
    pub fn cause(&self) -> Option<CommandEnd> {
        self.cause.get().cloned()
    }

    /// Whether the server has confirmed that it does not run.
    pub fn is_confirmed(&self) -> bool {
        self.confirmation.get().is_some()
    }

    /// Returns when the command was to be stopped and its grace is over.
    pub async fn enforce(&self) {
        let cause = tokio::select! {
            () = self.cancel.cancelled() => CommandEnd::Interrupted,
            () = sleep_to(self.deadline) => CommandEnd::TimedOut,
        };
        let _ = self.cause.set(cause);
        let grace = Instant::now() + self.sandbox.transport().timeouts.interrupt_grace;
        let _ = timeout_at(grace, self.interrupt()).await;
        sleep_until(grace).await;
    }

    async fn interrupt(&self) {
        let mut command_id = self.command_id.clone();
        let Ok(Some(id)) = command_id.wait_for(Option::is_some).await.map(|id| id.clone()) else { return };
        match self.sandbox.interrupt(&id).await {
            Ok(_) => {
                let _ = self.confirmation.set(());
            }
            Err(error) => {
                tracing::warn!(
                    sandbox.id = self.sandbox.id(),
                    error.code = error.code(),
                    "command could not be interrupted"
                );
            }
        }
    }
}

async fn sleep_to(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
