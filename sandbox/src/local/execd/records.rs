//! What execd remembers of the commands of a sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use time::OffsetDateTime;
use tokio::net::unix::OwnedWriteHalf;
use tokio_util::sync::CancellationToken;

use super::log::{Log, MAX_LOG_BYTES};
use crate::local::protocol::{self, FollowUp};

/// Finished commands beyond this number are forgotten, the oldest first.
const MAX_FINISHED: usize = 1_000;
/// Kept of the output of all background commands of a sandbox. For more, finished commands are forgotten; what running ones
/// print beyond it is not kept.
const MAX_LOGS_BYTES: u64 = 4 * MAX_LOG_BYTES;

/// One command, running or finished.
pub struct Record {
    pub id: String,
    pub content: String,
    pub started_at: OffsetDateTime,
    /// Set when the command has ended and its outcome is stored.
    pub exited: CancellationToken,
    /// The stored output of a background command.
    pub log: Option<Log>,
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
    pub fn new(id: String, content: String, log: Option<Log>, supervisor: OwnedWriteHalf) -> Self {
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

    /// Counts what a command has printed into its log. Returns how many bytes of it are to be written there.
    pub fn count(&self, log: &Log, printed: usize) -> usize {
        let mut all = self.lock();
        let wanted = log.wants(printed as u64);
        let size = |record: &Record| record.log.as_ref().map_or(0, Log::kept);
        let mut used: u64 = all.values().map(|record| size(record)).sum();
        while wanted > 0 && used + wanted > MAX_LOGS_BYTES {
            let finished = all.values().filter(|record| size(record) > 0);
            let finished = finished.filter_map(|record| Some((record.finished_and_logged()?.at, record.id.clone())));
            let Some(oldest) = finished.min().and_then(|(_, id)| all.remove(&id)) else { break };
            used -= size(&oldest);
        }
        let kept = wanted.min(MAX_LOGS_BYTES.saturating_sub(used));
        log.expect(printed as u64, kept);
        usize::try_from(kept).unwrap_or(printed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Record>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::net::UnixStream;

    use super::{Commands, Ending, Record};
    use crate::local::execd::log::{Log, MAX_LOG_BYTES};

    fn record(commands: &Commands, id: &str) -> Arc<Record> {
        let directory = tempfile::tempdir().unwrap();
        let log = Log::create(directory.path(), id).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a log has no name");
        let (_, supervisor) = UnixStream::pair().unwrap().0.into_split();
        let record = Arc::new(Record::new(id.to_owned(), String::new(), Some(log), supervisor));
        commands.add(Arc::clone(&record));
        record
    }

    /// Prints without writing: the room is what is looked at.
    fn print(commands: &Commands, record: &Record, bytes: u64) -> u64 {
        commands.count(record.log.as_ref().unwrap(), usize::try_from(bytes).unwrap()) as u64
    }

    fn end(record: &Record) {
        record.finish(Ending::Exited(0));
        record.logged.cancel();
    }

    #[tokio::test]
    async fn a_log_keeps_the_beginning_and_counts_the_rest() {
        let commands = Commands::default();
        let one = record(&commands, "one");
        let log = one.log.as_ref().unwrap();
        assert_eq!(print(&commands, &one, MAX_LOG_BYTES - 5), MAX_LOG_BYTES - 5);
        assert_eq!((print(&commands, &one, 7), log.dropped()), (5, 2));
        assert_eq!((print(&commands, &one, 9), log.dropped(), log.kept()), (0, 11, MAX_LOG_BYTES));
    }

    #[tokio::test]
    async fn the_logs_of_a_sandbox_share_one_bound() {
        let commands = Commands::default();
        let made: Vec<_> = ["a", "b", "c", "d"].map(|id| record(&commands, id)).into();
        for record in &made {
            assert_eq!(print(&commands, record, MAX_LOG_BYTES), MAX_LOG_BYTES);
        }
        let late = record(&commands, "late");
        assert_eq!(print(&commands, &late, 10), 0, "the others are running");
        assert_eq!(late.log.as_ref().unwrap().dropped(), 10);
        made[2].finish(Ending::Exited(0));
        let early = record(&commands, "early");
        assert_eq!(print(&commands, &early, 10), 0, "the output of one that has ended may still be on its way");
        end(&made[2]);
        end(&made[1]);
        let last = record(&commands, "last");
        assert_eq!(print(&commands, &last, 10), 10);
        assert!(commands.get("c").is_none(), "the one that ended first leaves");
        assert!(["a", "b", "d", "late", "early", "last"].iter().all(|id| commands.get(id).is_some()));
        assert_eq!(print(&commands, &late, 10), 0, "a log has no gap");
    }
}
