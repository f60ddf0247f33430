//! Live: wakes the followers and the lease holders of this process, and keeps the newest segments at hand.
//!
//! It is never the truth. A follower that was woken reads the committed log, from the shared tail here or from SQL; one
//! that missed a wake-up looks again by itself. Memory is bounded by the number of tails and the bytes of each.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use domain::ctx::Scope;
use domain::error::StoreError;
use domain::event::{CommandWakeUps, EventBus, EventLog, Segment};
use domain::execution::ExecutionRef;
use domain::ids::TenantId;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use tokio::sync::{Notify, Semaphore, broadcast, watch};

use crate::graphql::{Changed, Follow};

/// Bytes of one execution's tail.
const TAIL_BYTES: usize = 1024 * 1024;
/// Executions that have a tail at the same time.
const TAILS: usize = 64;
/// Fewer than the store has connections for readers.
const READS: usize = 2;
/// How long a follower waits for a wake-up before it looks by itself: another process may have written.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often lists look at everything: another process may have written.
const LOOK_AT_ALL_AGAIN: Duration = Duration::from_secs(2);
/// Changed executions that a slow list may lag behind; beyond that it reads everything again.
const CHANGES: usize = 1024;

/// What is known about an execution that somebody watches or that was written a moment ago.
struct Watched {
    head: watch::Sender<u64>,
    commands: Arc<Notify>,
    tail: VecDeque<Segment>,
    tail_bytes: usize,
    touched: u64,
    looked_at: Option<Instant>,
}

/// The wake-ups and tails of one process.
pub struct Live {
    log: Arc<dyn EventLog>,
    watched: Mutex<(u64, HashMap<ExecutionRef, Watched>)>,
    changes: broadcast::Sender<ExecutionRef>,
    queued: Notify,
    /// Reads of the store on behalf of followers at one time.
    reads: Semaphore,
}

impl Live {
    /// Follows this log.
    pub fn new(log: Arc<dyn EventLog>) -> Arc<Self> {
        let (changes, _) = broadcast::channel(CHANGES);
        Arc::new(Self { log, watched: Mutex::default(), changes, queued: Notify::new(), reads: Semaphore::new(READS) })
    }

    async fn head_moved(&self, execution: ExecutionRef, seen: u64) {
        let mut head = self.with(execution, |watched| watched.head.subscribe());
        // The sender may be dropped when the entry is evicted; then the timer ends the wait.
        let moved = async {
            if head.wait_for(|head| *head > seen).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let _ = tokio::time::timeout(LOOK_AGAIN, moved).await;
    }

    /// Resolves when an execution may wait for a worker.
    pub async fn queued(&self) {
        self.queued.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<ExecutionRef, Watched>)> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, execution: ExecutionRef, use_it: impl FnOnce(&mut Watched) -> T) -> T {
        let mut guard = self.lock();
        let (counter, watched) = &mut *guard;
        *counter += 1;
        let now = *counter;
        if !watched.contains_key(&execution) && watched.len() >= TAILS {
            evict(watched);
        }
        let entry = watched.entry(execution).or_insert_with(|| Watched {
            head: watch::Sender::new(0),
            commands: Arc::new(Notify::new()),
            tail: VecDeque::new(),
            tail_bytes: 0,
            touched: now,
            looked_at: None,
        });
        entry.touched = now;
        use_it(entry)
    }

    /// Whether the store was looked at a moment ago; if not, it is to be looked at now.
    fn was_looked_at(&self, execution: ExecutionRef) -> bool {
        self.with(execution, |watched| {
            let is_recent = watched.looked_at.is_some_and(|at| at.elapsed() < LOOK_AGAIN / 2);
            if !is_recent {
                watched.looked_at = Some(Instant::now());
            }
            is_recent
        })
    }

    /// The tail behind `after`, when it reaches back that far.
    fn read_tail(&self, execution: ExecutionRef, after: u64, max_bytes: usize) -> Option<Vec<Segment>> {
        let guard = self.lock();
        let watched = guard.1.get(&execution)?;
        if watched.tail.front()?.first_sequence > after + 1 {
            return None;
        }
        let mut bytes = 0;
        let behind = watched.tail.iter().filter(|segment| segment.last_sequence > after);
        let fits = |segment: &&Segment| {
            let is_first = bytes == 0;
            bytes += segment.bytes.len().max(1);
            is_first || bytes <= max_bytes
        };
        Some(behind.take_while(fits).cloned().collect())
    }
}

/// Makes room: of those that nobody watches the one that was touched longest ago.
fn evict(watched: &mut HashMap<ExecutionRef, Watched>) {
    let idle = watched.iter().filter(|(_, entry)| entry.head.receiver_count() == 0);
    if let Some(execution) = idle.min_by_key(|(_, entry)| entry.touched).map(|(execution, _)| *execution) {
        watched.remove(&execution);
    }
}

impl EventBus for Live {
    fn committed(&self, execution: ExecutionRef, segment: &Segment) {
        self.with(execution, |watched| {
            let follows = watched.tail.back().is_none_or(|last| last.last_sequence + 1 == segment.first_sequence);
            if !follows {
                // Another process wrote in between.
                watched.tail.clear();
                watched.tail_bytes = 0;
            }
            watched.tail_bytes += segment.bytes.len();
            watched.tail.push_back(segment.clone());
            while watched.tail_bytes > TAIL_BYTES && watched.tail.len() > 1 {
                watched.tail_bytes -= watched.tail.pop_front().map_or(0, |first| first.bytes.len());
            }
            watched.head.send_if_modified(|head| {
                let is_newer = segment.last_sequence > *head;
                *head = segment.last_sequence.max(*head);
                is_newer
            });
        });
        if segment.first_sequence == 1 {
            self.queued.notify_one();
        }
        // Nobody listening is no fault.
        let _ = self.changes.send(execution);
    }

    fn command_arrived(&self, execution: ExecutionRef) {
        let commands = self.with(execution, |watched| Arc::clone(&watched.commands));
        commands.notify_one();
        self.queued.notify_one();
    }
}

#[async_trait]
impl CommandWakeUps for Live {
    async fn command(&self, execution: ExecutionRef) {
        let commands = self.with(execution, |watched| Arc::clone(&watched.commands));
        commands.notified().await;
    }
}

#[async_trait]
impl Follow for Live {
    async fn changed(&self, execution: ExecutionRef, seen_head: u64) {
        self.head_moved(execution, seen_head).await;
    }

    fn changes(&self, tenant: TenantId) -> BoxStream<'static, Changed> {
        unfold(self.changes.subscribe(), move |mut changes| async move {
            loop {
                let changed = match tokio::time::timeout(LOOK_AT_ALL_AGAIN, changes.recv()).await {
                    Ok(Ok(execution)) if execution.tenant_id == tenant => Changed::Execution(execution),
                    Ok(Ok(_)) => continue,
                    Ok(Err(broadcast::error::RecvError::Lagged(_))) | Err(_) => Changed::Any,
                    Ok(Err(broadcast::error::RecvError::Closed)) => return None,
                };
                return Some((changed, changes));
            }
        })
        .boxed()
    }
}

/// The log with the tails in front of it.
#[async_trait]
impl EventLog for Live {
    async fn read(&self, execution: ExecutionRef, after: u64, max_bytes: usize) -> Result<Vec<Segment>, StoreError> {
        match self.read_tail(execution, after, max_bytes) {
            Some(segments) if !segments.is_empty() => return Ok(segments),
            // Nothing is behind the tail, unless another process wrote: one look a moment is enough for all followers.
            Some(_) if self.was_looked_at(execution) => return Ok(Vec::new()),
            Some(_) | None => {}
        }
        // Followers that lag must not take the connections of those who work.
        let _place = self.reads.acquire().await;
        self.log.read(execution, after, max_bytes).await
    }

    async fn head(&self, scope: Scope, execution: ExecutionRef) -> Result<Option<u64>, StoreError> {
        self.log.head(scope, execution).await
    }
}
