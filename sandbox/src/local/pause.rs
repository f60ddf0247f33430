//! Pausing a sandbox: everything in it stands still, and execd answers nothing, until it is resumed.
//!
//! Its time to live runs on, as that of a paused container does. A paused sandbox can be deleted.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use time::OffsetDateTime;
use tokio::sync::watch;

use super::clock;
use super::error::ApiError;
use super::freezer::Freezer;
use super::protocol::{GO_ON, STOP};
use super::sandbox::Sandbox;

/// How long the init may take for what is a system call.
const INIT_PATIENCE: Duration = Duration::from_secs(5);

/// Whether a sandbox is paused, and since when it is as it is.
pub struct Pause {
    since: watch::Sender<Option<OffsetDateTime>>,
    resumed_at: watch::Sender<Option<OffsetDateTime>>,
    /// One change at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Default for Pause {
    fn default() -> Self {
        Self {
            since: watch::Sender::new(None),
            resumed_at: watch::Sender::new(None),
            turn: tokio::sync::Mutex::default(),
        }
    }
}

impl Pause {
    pub fn is_on(&self) -> bool {
        self.since.borrow().is_some()
    }

    /// When it was last paused or resumed.
    pub fn changed_at(&self) -> Option<OffsetDateTime> {
        self.since.borrow().or(*self.resumed_at.borrow())
    }
}

/// Returns when nothing in the sandbox runs any more.
pub async fn pause(sandbox: &Arc<Sandbox>) -> Result<(), ApiError> {
    let _turn = sandbox.pause.turn.lock().await;
    if sandbox.ended.is_cancelled() || sandbox.pause.is_on() {
        return Err(conflict("LOCAL::SANDBOX_NOT_RUNNING", "the sandbox is not running"));
    }
    // First, so that nothing begins while the rest is being stopped.
    sandbox.pause.since.send_replace(Some(clock::now()));
    let stopped = match sandbox.group.freezer {
        Freezer::None => told(sandbox, STOP, GO_ON).await,
        Freezer::One { .. } | Freezer::Two(_) => {
            let freezer = sandbox.group.freezer.clone();
            let freezing = tokio::task::spawn_blocking(move || freezer.freeze()).await;
            freezing.map_err(io::Error::other).and_then(|outcome| outcome)
        }
    };
    if let Err(error) = stopped {
        sandbox.pause.since.send_replace(None);
        return Err(failed("LOCAL::SANDBOX_PAUSE_FAILED", &error));
    }
    if sandbox.ended.is_cancelled() {
        // It was killed meanwhile, and what is frozen must not outlive that.
        sandbox.group.freezer.kill();
    }
    Ok(())
}

/// Lets the sandbox go on.
pub async fn resume(sandbox: &Arc<Sandbox>) -> Result<(), ApiError> {
    let _turn = sandbox.pause.turn.lock().await;
    if sandbox.ended.is_cancelled() || !sandbox.pause.is_on() {
        return Err(conflict("LOCAL::SANDBOX_NOT_PAUSED", "the sandbox is not paused"));
    }
    let resumed = match sandbox.group.freezer {
        Freezer::None => told(sandbox, GO_ON, STOP).await,
        Freezer::One { .. } | Freezer::Two(_) => sandbox.group.freezer.thaw(),
    };
    resumed.map_err(|error| failed("LOCAL::SANDBOX_RESUME_FAILED", &error))?;
    sandbox.pause.resumed_at.send_replace(Some(clock::now()));
    sandbox.pause.since.send_replace(None);
    Ok(())
}

/// Tells the init a word. One that it has not obeyed in time it still will, and is to take back then.
async fn told(sandbox: &Sandbox, word: u8, opposite: u8) -> io::Result<()> {
    let outcome = tokio::time::timeout(INIT_PATIENCE, sandbox.channel.tell(word)).await.map_err(io::Error::from);
    let outcome = outcome.flatten();
    if outcome.is_err() {
        let taken_back = tokio::time::timeout(INIT_PATIENCE, sandbox.channel.send_word(opposite)).await;
        if let Err(error) = taken_back.map_err(io::Error::from).flatten() {
            tracing::warn!(sandbox.id = sandbox.id(), error = %error, "a word to the first process was not taken back");
        }
    }
    outcome
}

fn conflict(code: &'static str, message: &str) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, code, message)
}

fn failed(code: &'static str, error: &io::Error) -> ApiError {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, code, error.to_string())
}
