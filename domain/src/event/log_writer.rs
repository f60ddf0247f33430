//! The log writer commits the waiting deltas of all executions of this process together.
//!
//! It writes at the first delta of a call, at 4 KiB, or 25 ms after the first waiting delta; a state change takes the
//! waiting deltas of its execution along. One grouped transaction costs about as much as a single one.

use std::sync::Arc;
use std::time::Duration;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::future::{Either, select};
use futures_util::stream::FusedStream;
use futures_util::{FutureExt, StreamExt};

use super::journal::Journal;
use crate::clock::Clock;
use crate::execution::{Commit, ExecutionStore};

const WINDOW: Duration = Duration::from_millis(25);

struct Notice {
    journal: Arc<Journal>,
    is_urgent: bool,
}

/// Where journals say that they have something to write.
#[derive(Clone)]
pub struct LogWriterHandle {
    notices: UnboundedSender<Notice>,
}

impl LogWriterHandle {
    pub(super) fn notify(&self, journal: &Arc<Journal>, is_urgent: bool) {
        // The writer outlives every journal; when the process ends, the final state commit takes the deltas along.
        let _ = self.notices.unbounded_send(Notice { journal: Arc::clone(journal), is_urgent });
    }
}

/// The task that writes; run it as long as there are journals.
pub struct LogWriter {
    notices: UnboundedReceiver<Notice>,
    store: Arc<dyn ExecutionStore>,
    clock: Arc<dyn Clock>,
}

/// Makes the process's one log writer and the handle for its journals.
pub fn log_writer(store: Arc<dyn ExecutionStore>, clock: Arc<dyn Clock>) -> (LogWriter, LogWriterHandle) {
    let (sender, receiver) = unbounded();
    (LogWriter { notices: receiver, store, clock }, LogWriterHandle { notices: sender })
}

impl LogWriter {
    /// Writes until every handle is gone.
    pub async fn run(mut self) {
        while let Some(first) = self.notices.next().await {
            let dirty = self.gather(first).await;
            self.write(&dirty).await;
        }
    }

    async fn gather(&mut self, first: Notice) -> Vec<Arc<Journal>> {
        let mut is_urgent = first.is_urgent;
        let mut dirty = vec![first.journal];
        let mut window = self.clock.sleep(WINDOW).fuse();
        while !is_urgent && !self.notices.is_terminated() {
            match select(self.notices.next(), &mut window).await {
                Either::Left((Some(notice), _)) => {
                    is_urgent = notice.is_urgent;
                    add(&mut dirty, notice.journal);
                }
                Either::Left((None, _)) | Either::Right(_) => break,
            }
        }
        while let Ok(notice) = self.notices.try_recv() {
            add(&mut dirty, notice.journal);
        }
        dirty
    }

    async fn write(&self, dirty: &[Arc<Journal>]) {
        let (journals, prepared): (Vec<_>, Vec<_>) =
            dirty.iter().filter_map(|journal| Some((journal, journal.try_prepare()?))).unzip();
        let (mut heads, commits): (Vec<_>, Vec<Commit>) = prepared.into_iter().unzip();
        if commits.is_empty() {
            return;
        }
        let outcomes = self.store.append(&commits).await.ok();
        for (index, (journal, head)) in journals.iter().zip(&mut heads).enumerate() {
            let outcome = outcomes.as_ref().and_then(|outcomes| outcomes.get(index).copied());
            journal.conclude(&commits[index], outcome, head).await;
        }
    }
}

fn add(dirty: &mut Vec<Arc<Journal>>, journal: Arc<Journal>) {
    if !dirty.iter().any(|known| Arc::ptr_eq(known, &journal)) {
        dirty.push(journal);
    }
}
