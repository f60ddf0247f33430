//! `executionEvents` is a cursor and nothing else.
//!
//! It reads what is committed behind its cursor, a bounded piece at a time, and when there is nothing it waits to be
//! woken and reads again. So a slow client costs no memory, a lost wake-up loses nothing, and a client that comes back
//! with the cursor of its last event sees each event exactly once. It ends after the terminal event.

use std::collections::VecDeque;
use std::sync::Arc;

use async_graphql::{Context, ID, Subscription};
use bytes::Bytes;
use domain::event::{Cursor, CursorError, EventLog, EventRecord};
use domain::execution::ExecutionRef;
use domain::ids::ExecutionId;
use futures_util::stream::{Stream, unfold};

use super::follow::Follow;
use super::object::ExecutionEvent;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::execution::{Execution, has_expired, visible_execution};

/// Bytes of log that one read takes, about.
const READ_BYTES: usize = 64 * 1024;

/// The log, live.
#[derive(Default)]
pub struct EventSubscription;

#[Subscription]
impl EventSubscription {
    /// Replays the events after the cursor, then follows; completes after ExecutionFinished.
    async fn execution_events(
        &self,
        ctx: &Context<'_>,
        execution_id: ID,
        after: Option<String>,
    ) -> Result<impl Stream<Item = Result<ExecutionEvent, ApiError>> + use<>, ApiError> {
        ctx.principal()?;
        let reader = Reader::open(ctx, execution_id.parse()?, after.as_deref()).await?;
        Ok(unfold(reader, Reader::next))
    }
}

struct Reader {
    events: Arc<dyn EventLog>,
    follow: Arc<dyn Follow>,
    execution: ExecutionRef,
    seen: u64,
    lines: VecDeque<(u64, Bytes)>,
    /// Whether the whole log was there when it was opened.
    has_ended: bool,
    is_done: bool,
}

impl Reader {
    async fn open(ctx: &Context<'_>, id: ExecutionId, after: Option<&str>) -> Result<Self, ApiError> {
        let services = ctx.services()?;
        let Some(Execution(execution)) = visible_execution(ctx, id).await? else {
            return Err(if has_expired(ctx, id).await? { ApiError::events_expired() } else { ApiError::not_found() });
        };
        let reference = execution.reference();
        let head = services.events.head(reference.scope(), reference).await?.ok_or_else(ApiError::not_found)?;
        let seen = match after {
            Some(text) => sequence_of(text, id, head)?,
            None => 0,
        };
        // The client has the last event already: nothing will follow it.
        let has_ended = execution.progress.status.is_terminal();
        let is_done = has_ended && seen == head;
        let (events, follow) = (services.events.clone(), services.follow.clone());
        Ok(Self { events, follow, execution: reference, seen, lines: VecDeque::new(), has_ended, is_done })
    }

    async fn next(mut self) -> Option<(Result<ExecutionEvent, ApiError>, Self)> {
        while !self.is_done {
            if let Some((sequence, line)) = self.lines.pop_front() {
                let event = self.decode(sequence, &line);
                self.is_done |= event.is_err();
                return Some((event, self));
            }
            if let Err(error) = self.read().await {
                self.is_done = true;
                return Some((Err(error), self));
            }
        }
        None
    }

    /// Reads what is there, or waits until there may be more.
    async fn read(&mut self) -> Result<(), ApiError> {
        let segments = self.events.read(self.execution, self.seen, READ_BYTES).await?;
        self.lines.extend(segments.iter().flat_map(|segment| segment.lines_after(self.seen)));
        if !segments.is_empty() {
            return Ok(());
        }
        // A log that was whole and gives nothing more was removed while it was read.
        if self.has_ended && self.events.head(self.execution.scope(), self.execution).await?.is_none() {
            return Err(ApiError::events_expired());
        }
        self.follow.changed(self.execution, self.seen).await;
        Ok(())
    }

    fn decode(&mut self, sequence: u64, line: &Bytes) -> Result<ExecutionEvent, ApiError> {
        if sequence != self.seen + 1 {
            return Err(ApiError::internal(&format!("{} is followed by {sequence} in the log", self.seen)));
        }
        let text = std::str::from_utf8(line).map_err(|error| ApiError::internal(&error))?;
        let record: EventRecord = serde_json::from_str(text).map_err(|error| ApiError::internal(&error))?;
        self.seen = sequence;
        self.is_done = record.is_terminal();
        Ok(ExecutionEvent::new(self.execution.id, record, text.to_owned()))
    }
}

fn sequence_of(text: &str, execution: ExecutionId, head: u64) -> Result<u64, CursorError> {
    let cursor: Cursor = text.parse()?;
    if cursor.execution_id != execution {
        return Err(CursorError::Foreign);
    }
    if cursor.sequence > head {
        return Err(CursorError::BeyondHead);
    }
    Ok(cursor.sequence)
}
