//! A Journal is the lease holder's pen: every write to an execution goes through it, in one order.
//!
//! A state commit carries the deltas that were waiting before it, so that the log is in the order in which things
//! happened. A commit whose answer was lost is resolved by looking at the fence, never by guessing. A journal does not
//! decide anything: it writes what the loop decided, or reports that the lease is lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::lock::{Mutex as AsyncMutex, MutexGuard};

use super::log_writer::LogWriterHandle;
use super::model::{Event, Segment, encode_segment};
use super::ports::EventBus;
use crate::clock::{Clock, Timestamp};
use crate::error::StoreError;
use crate::execution::{Change, Commit, ExecutionRef, ExecutionStore, Fence, Progress};
use crate::ids::ToolCallId;
use crate::sandbox::CommandPlace;

/// Waiting deltas at which the writer is asked to write at once.
const URGENT_BYTES: usize = 4 * 1024;
/// Waiting deltas at which their producer writes them itself, and so is held back by a slow store.
const FULL_BYTES: usize = 256 * 1024;
/// How often a commit is tried while the store is unavailable, and the first pause between two tries.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Why a journal could not write.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another worker took over: stop at once, write nothing more.
    #[error("the lease was lost")]
    LeaseLost,
    /// The store did not take the write, also not after several tries.
    #[error("the execution could not be written")]
    Store(#[source] StoreError),
}

/// Whether a commit may have been written before it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    NotTried,
    Unsure,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Written,
    /// A budget account, or the quota of sandboxes, refused it: nothing was written, and the lease still holds.
    Refused,
}

/// What became of a write whose answer was lost.
enum Fate {
    Written,
    NotWritten,
    /// The fence is another's, or the execution has ended.
    Fenced,
    Unknown,
}

/// What one commit writes beside the waiting deltas.
#[derive(Debug, Default)]
pub struct Entry {
    /// The new totals and state of the execution.
    pub progress: Option<Progress>,
    /// Rows.
    pub changes: Vec<Change>,
    /// Events.
    pub events: Vec<Event>,
}

/// The pen of one claim.
pub struct Journal {
    execution: ExecutionRef,
    epoch: u64,
    store: Arc<dyn ExecutionStore>,
    bus: Arc<dyn EventBus>,
    clock: Arc<dyn Clock>,
    writer: LogWriterHandle,
    next_sequence: AsyncMutex<u64>,
    waiting: Mutex<Waiting>,
    /// The lease is gone, or a write failed for good: what was to be written is not known to be, so nothing may follow it.
    lost: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    events: Vec<(Timestamp, Event)>,
    bytes: usize,
    /// How far the output of background commands is told by these events. Written in the transaction of the events, so
    /// that whoever follows a command later tells no byte twice and leaves none out.
    commands: BTreeMap<ToolCallId, CommandPlace>,
}

impl Journal {
    /// A pen for the claim with this epoch, whose next event gets `next_sequence`.
    pub fn new(
        fence: Fence,
        store: Arc<dyn ExecutionStore>,
        bus: Arc<dyn EventBus>,
        clock: Arc<dyn Clock>,
        writer: LogWriterHandle,
    ) -> Arc<Self> {
        Arc::new(Self {
            execution: fence.execution,
            epoch: fence.epoch,
            store,
            bus,
            clock,
            writer,
            next_sequence: AsyncMutex::new(fence.next_sequence),
            waiting: Mutex::default(),
            lost: AtomicBool::new(false),
        })
    }

    /// Whose log this is.
    pub const fn execution(&self) -> ExecutionRef {
        self.execution
    }

    /// Whether nothing can be written any more.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// The lease's number.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Writes rows and events in one fenced transaction, behind the waiting deltas. `entry` is made under the journal's
    /// lock, so that what it reads and changes is in the order of the commits; it is told the sequence that the first of
    /// its events gets, which is also returned.
    pub async fn commit(self: &Arc<Self>, entry: impl FnOnce(u64) -> Entry + Send) -> Result<u64, JournalError> {
        let written = self.commit_or_undo(entry, || {}).await?;
        written.ok_or(JournalError::Store(StoreError::AccountRefused))
    }

    /// As [`Self::commit`], for an entry that holds something on budget accounts or opens a sandbox. None when that was
    /// refused: nothing was written, the waiting deltas still wait, and `undo` has taken back what `entry` changed, under the same lock.
    pub async fn commit_or_undo(
        self: &Arc<Self>,
        entry: impl FnOnce(u64) -> Entry + Send,
        undo: impl FnOnce() + Send,
    ) -> Result<Option<u64>, JournalError> {
        let mut next_sequence = self.next_sequence.lock().await;
        let Waiting { mut events, commands, .. } = self.take_waiting();
        let first_of_entry = *next_sequence + events.len() as u64;
        let entry = entry(first_of_entry);
        let kept = is_refusable(&entry).then(|| (events.clone(), commands.clone()));
        let mut changes = save_commands(commands);
        changes.extend(entry.changes);
        let now = self.clock.now();
        events.extend(entry.events.into_iter().map(|event| (now, event)));
        let segment = encode_segment(*next_sequence, events);
        let commit = Commit {
            fence: Fence { execution: self.execution, epoch: self.epoch, next_sequence: *next_sequence },
            progress: entry.progress,
            changes,
            segment,
        };
        let outcome = self.write(&commit, &mut next_sequence, Before::NotTried).await?;
        if outcome == Outcome::Refused {
            undo();
            if let Some((events, commands)) = kept {
                self.put_back(events, commands);
            }
        }
        drop(next_sequence);
        if self.has_waiting() {
            self.writer.notify(self, false);
        }
        Ok((outcome == Outcome::Written).then_some(first_of_entry))
    }

    /// Puts a delta behind what is waiting. The log writer commits it soon; a full queue makes the caller write.
    pub async fn delta(self: &Arc<Self>, event: Event, is_first_of_call: bool) -> Result<(), JournalError> {
        self.wait(event, None, is_first_of_call).await
    }

    /// As [`Self::delta`], for output of a background command that ends at the cursor of `place`. Both are written in one
    /// transaction.
    pub async fn delta_of_command(
        self: &Arc<Self>,
        event: Event,
        place: CommandPlace,
        is_first_of_call: bool,
    ) -> Result<(), JournalError> {
        self.wait(event, Some(place), is_first_of_call).await
    }

    async fn wait(
        self: &Arc<Self>,
        event: Event,
        place: Option<CommandPlace>,
        is_first_of_call: bool,
    ) -> Result<(), JournalError> {
        if self.is_lost() {
            return Err(JournalError::LeaseLost);
        }
        let bytes = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.bytes += delta_bytes(&event);
            if let Some(place) = place {
                waiting.commands.insert(place.call, place);
            }
            match waiting.events.last_mut() {
                Some((_, last)) if joins(last, &event) => join(last, event),
                Some(_) | None => waiting.events.push((self.clock.now(), event)),
            }
            waiting.bytes
        };
        if bytes >= FULL_BYTES {
            return self.commit(|_| Entry::default()).await.map(|_| ());
        }
        self.writer.notify(self, is_first_of_call || bytes >= URGENT_BYTES);
        Ok(())
    }

    /// What the log writer commits for this journal, unless a state commit is under way (it takes the deltas along, or
    /// notifies again).
    pub(super) fn try_prepare(&self) -> Option<(MutexGuard<'_, u64>, Commit)> {
        let next_sequence = self.next_sequence.try_lock()?;
        let Waiting { events, commands, .. } = self.take_waiting();
        let segment = encode_segment(*next_sequence, events)?;
        let fence = Fence { execution: self.execution, epoch: self.epoch, next_sequence: *next_sequence };
        let changes = save_commands(commands);
        Some((next_sequence, Commit { fence, progress: None, changes, segment: Some(segment) }))
    }

    /// Takes note of what became of a prepared commit.
    pub(super) async fn conclude(&self, commit: &Commit, outcome: Option<bool>, next_sequence: &mut u64) {
        match outcome {
            Some(true) => self.advance(commit.segment.as_ref(), next_sequence),
            Some(false) => self.lost.store(true, Ordering::Release),
            None => {
                if let Err(error) = self.write(commit, next_sequence, Before::Unsure).await {
                    tracing::warn!(execution.id = %self.execution.id, error = &error as &dyn std::error::Error, "deltas were not written");
                }
            }
        }
    }

    async fn write(&self, commit: &Commit, next_sequence: &mut u64, before: Before) -> Result<Outcome, JournalError> {
        if self.is_lost() {
            return Err(JournalError::LeaseLost);
        }
        let written = self.write_until_sure(commit, before).await;
        match &written {
            Ok(Outcome::Written) => self.advance(commit.segment.as_ref(), next_sequence),
            Ok(Outcome::Refused) => {}
            // The totals in memory count what this write was to say. A later write would store them without its rows.
            Err(_) => self.lost.store(true, Ordering::Release),
        }
        written
    }

    async fn write_until_sure(&self, commit: &Commit, mut before: Before) -> Result<Outcome, JournalError> {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let failure = match self.store.commit(commit).await {
                Ok(()) => return Ok(Outcome::Written),
                // The fence comes before the accounts: had an earlier try been written, it would not have matched again.
                Err(StoreError::AccountRefused | StoreError::QuotaReached) => return Ok(Outcome::Refused),
                // An earlier try may be what moved the fence on.
                Err(StoreError::LeaseLost) if before == Before::NotTried => return Err(JournalError::LeaseLost),
                Err(failure @ (StoreError::Unavailable(_) | StoreError::LeaseLost)) => failure,
                Err(
                    failure @ (StoreError::Conflict { .. } | StoreError::Corrupt { .. } | StoreError::Broken { .. }),
                ) => {
                    return Err(JournalError::Store(failure));
                }
            };
            match self.fate(commit).await {
                Fate::Written => return Ok(Outcome::Written),
                Fate::Fenced => return Err(JournalError::LeaseLost),
                Fate::NotWritten | Fate::Unknown => {}
            }
            if attempt == ATTEMPTS {
                return Err(JournalError::Store(failure));
            }
            before = Before::Unsure;
            attempt += 1;
            self.clock.sleep(pause).await;
            pause *= 2;
        }
    }

    /// After a lost answer: the fence tells whether the write happened.
    async fn fate(&self, commit: &Commit) -> Fate {
        let after = commit.segment.as_ref().map(|segment| segment.last_sequence + 1);
        match self.store.fence(self.execution).await {
            Ok(Some(fence)) if fence.epoch != self.epoch => Fate::Fenced,
            Ok(Some(fence)) if fence.next_sequence == commit.fence.next_sequence => Fate::NotWritten,
            Ok(Some(fence)) if Some(fence.next_sequence) == after => Fate::Written,
            Ok(_) => Fate::Fenced,
            Err(_) => Fate::Unknown,
        }
    }

    fn advance(&self, segment: Option<&Segment>, next_sequence: &mut u64) {
        if let Some(segment) = segment {
            *next_sequence = segment.last_sequence + 1;
            self.bus.committed(self.execution, segment);
        }
    }

    fn take_waiting(&self) -> Waiting {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts what a refused commit had taken before what came since.
    fn put_back(&self, mut events: Vec<(Timestamp, Event)>, mut commands: BTreeMap<ToolCallId, CommandPlace>) {
        if events.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.bytes += events.iter().map(|(_, event)| delta_bytes(event)).sum::<usize>();
        events.append(&mut waiting.events);
        waiting.events = events;
        // A newer cursor stays.
        commands.append(&mut waiting.commands);
        waiting.commands = commands;
    }

    fn has_waiting(&self) -> bool {
        !self.waiting.lock().unwrap_or_else(PoisonError::into_inner).events.is_empty()
    }
}

fn save_commands(commands: BTreeMap<ToolCallId, CommandPlace>) -> Vec<Change> {
    commands.into_values().map(|place| Change::SaveCommand(Box::new(place))).collect()
}

fn is_refusable(entry: &Entry) -> bool {
    entry.changes.iter().any(|change| matches!(change, Change::ReserveAccounts(_) | Change::OpenSandbox { .. }))
}

/// Whether output belongs to the same event as the output before it: a program may print thousands of short lines.
fn joins(last: &Event, next: &Event) -> bool {
    match (last, next) {
        (
            Event::SandboxOutput { tool_call_id, stream, text },
            Event::SandboxOutput { tool_call_id: next_id, stream: next_stream, .. },
        ) => tool_call_id == next_id && stream == next_stream && text.len() < URGENT_BYTES,
        _ => false,
    }
}

fn join(last: &mut Event, next: Event) {
    if let (Event::SandboxOutput { text, .. }, Event::SandboxOutput { text: more, .. }) = (last, next) {
        text.push_str(&more);
    }
}

fn delta_bytes(event: &Event) -> usize {
    const ENVELOPE: usize = 128;
    match event {
        Event::ModelCallDelta { text, .. } | Event::SandboxOutput { text, .. } => ENVELOPE + text.len(),
        other => {
            debug_assert!(!matches!(other, Event::ExecutionFinished { .. }), "a state change is no delta");
            ENVELOPE
        }
    }
}
