//! The pace of `executionUpdates`: at most five a second for each execution, the last value wins.
//!
//! A change makes its execution due, at once or a fifth of a second after it was last sent. What is sent is read when
//! it is due, so everything that happened meanwhile is in it.

use std::collections::HashMap;
use std::time::Duration;

use domain::execution::Execution;
use domain::ids::ExecutionId;

const INTERVAL: Duration = Duration::from_millis(200);
/// Executions that are remembered; beyond that, those that do not go on are forgotten, the oldest first.
const MOST_SHOWN: usize = 1000;

struct Shown {
    next_sequence: u64,
    at: Duration,
    standing: Standing,
}

#[derive(PartialEq, Eq)]
enum Standing {
    Live,
    Ended,
    /// Read and not sent; it is asked about again when it moves on.
    PassedOver,
}

/// What was sent, and what is due. Times are on the monotonic clock.
#[derive(Default)]
pub struct Pace {
    shown: HashMap<ExecutionId, Shown>,
    due: HashMap<ExecutionId, Duration>,
}

impl Pace {
    /// An execution changed.
    pub fn changed(&mut self, id: ExecutionId, now: Duration) {
        let earliest = self.shown.get(&id).map_or(now, |shown| now.max(shown.at + INTERVAL));
        self.due.entry(id).or_insert(earliest);
    }

    /// Executions that were sent and go on.
    pub fn live(&self) -> Vec<ExecutionId> {
        let live = self.shown.iter().filter(|(_, shown)| shown.standing == Standing::Live);
        live.map(|(id, _)| *id).collect()
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Duration> {
        self.due.values().min().copied()
    }

    /// Those that are due, in the order in which they became so.
    pub fn take_due(&mut self, now: Duration) -> Vec<ExecutionId> {
        let mut ready: Vec<_> = self.due.iter().filter(|(_, at)| **at <= now).map(|(id, at)| (*at, *id)).collect();
        ready.sort_unstable();
        for (_, id) in &ready {
            self.due.remove(id);
        }
        ready.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether it was sent before.
    pub fn was_shown(&self, id: ExecutionId) -> bool {
        self.shown.get(&id).is_some_and(|shown| shown.standing != Standing::PassedOver)
    }

    /// Whether it moved on since it was sent or passed over.
    pub fn is_news(&self, execution: &Execution) -> bool {
        self.shown.get(&execution.id).is_none_or(|shown| shown.next_sequence != execution.next_sequence)
    }

    /// It is being sent.
    pub fn show(&mut self, execution: &Execution, now: Duration) {
        let standing = if execution.progress.status.is_terminal() { Standing::Ended } else { Standing::Live };
        self.remember(execution, now, standing);
    }

    /// It is not sent: it does not match, or the caller may not see it.
    pub fn pass_over(&mut self, execution: &Execution, now: Duration) {
        self.remember(execution, now, Standing::PassedOver);
    }

    fn remember(&mut self, execution: &Execution, now: Duration, standing: Standing) {
        self.shown.insert(execution.id, Shown { next_sequence: execution.next_sequence, at: now, standing });
        if self.shown.len() > MOST_SHOWN {
            let idle = self.shown.iter().filter(|(_, shown)| shown.standing != Standing::Live);
            if let Some(oldest) = idle.min_by_key(|(_, shown)| shown.at).map(|(id, _)| *id) {
                self.shown.remove(&oldest);
            }
        }
    }
}
