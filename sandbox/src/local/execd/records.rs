//! What execd remembers of the commands of a sandbox.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use tokio::net::unix::OwnedWriteHalf;
use tokio_util::sync::CancellationToken;

use crate::local::protocol::{self, FollowUp};

/// Finished commands beyond this number are forgotten, the oldest first.
const MAX_FINISHED: usize = 1_000;

/// One command, running or finished.
pub struct Record {
    pub id: String,
    pub content: String,
    pub started_at: OffsetDateTime,
    /// Set when the command has ended and its outcome is stored.
    pub exited: CancellationToken,
    /// The stored output of a background command.
    pub log: Option<File>,
    /// Set when nothing more is written to the log.
    pub logged: CancellationToken,
    outcome: Mutex<Option<Finished>>,
    supervisor: tokio::sync::Mutex<OwnedWriteHalf>,
}

/// How and when a command ended.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub at: OffsetDateTime,
    pub ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    /// The sandbox ended before the command did.
    Lost,
}

impl Ending {
    /// The exit code on the wire; a signal shows as -1.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(_) | Self::Lost => -1,
        }
    }

    /// The words of the traceback, as Go prints a process state.
    pub fn describe(self) -> String {
        match self {
            Self::Exited(code) => format!("exit status {code}"),
            Self::Signalled(libc::SIGKILL) => "signal: killed".to_owned(),
            Self::Signalled(libc::SIGTERM) => "signal: terminated".to_owned(),
            Self::Signalled(libc::SIGINT) => "signal: interrupt".to_owned(),
            Self::Signalled(libc::SIGSEGV) => "signal: segmentation fault".to_owned(),
            Self::Signalled(libc::SIGABRT) => "signal: aborted".to_owned(),
            Self::Signalled(number) => format!("signal: {number}"),
            Self::Lost => "the sandbox ended".to_owned(),
        }
    }
}

impl Record {
    pub fn new(id: String, content: String, log: Option<File>, supervisor: OwnedWriteHalf) -> Self {
        Self {
            id,
            content,
            started_at: crate::local::clock::now(),
            exited: CancellationToken::new(),
            log,
            logged: CancellationToken::new(),
            outcome: Mutex::new(None),
            supervisor: tokio::sync::Mutex::new(supervisor),
        }
    }

    pub fn finished(&self) -> Option<Finished> {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended, once all of its output can be read: who sees the end of a background command reads its log once more
    /// and never again.
    pub fn finished_and_logged(&self) -> Option<Finished> {
        self.finished().filter(|_| self.log.is_none() || self.logged.is_cancelled())
    }

    /// Returns once the status says that it has ended.
    pub async fn over(&self) {
        self.exited.cancelled().await;
        if self.log.is_some() {
            self.logged.cancelled().await;
        }
    }

    pub fn finish(&self, ending: Ending) {
        let finished = Finished { at: crate::local::clock::now(), ending };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(finished);
        self.exited.cancel();
    }

    /// Tells the supervisor; one that is gone needs no telling.
    pub async fn say(&self, word: FollowUp) {
        let _ = protocol::send(&mut *self.supervisor.lock().await, &word).await;
    }
}

/// The commands of one sandbox by id.
#[derive(Default)]
pub struct Commands(Mutex<HashMap<String, Arc<Record>>>);

impl Commands {
    pub fn get(&self, id: &str) -> Option<Arc<Record>> {
        self.lock().get(id).cloned()
    }

    pub fn add(&self, record: Arc<Record>) {
        let mut all = self.lock();
        if all.len() >= MAX_FINISHED {
            let mut finished: Vec<_> =
                all.values().filter_map(|record| Some((record.finished()?.at, record.id.clone()))).collect();
            finished.sort();
            for (_, id) in finished.into_iter().take(MAX_FINISHED / 10) {
                all.remove(&id);
            }
        }
        all.insert(record.id.clone(), record);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
