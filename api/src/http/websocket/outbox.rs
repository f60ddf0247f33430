//! The Outbox is the queue of a socket and the task that writes it.
//!
//! The rule: operations wait for room (in messages and in bytes), so a slow peer slows only its own operations, each in
//! its turn; control messages never wait; a decision to close goes before everything and drops what is queued. A peer
//! that takes nothing for the stall time is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::SocketLimits;
use super::close::{Close, Closing};
use super::live::Live;

/// Control messages that may wait; a peer that causes more without reading is stalled.
const CONTROL_MESSAGES: usize = 64;
/// Bytes that are gathered before a flush.
const FLUSH_BYTES: usize = 64 * 1024;

/// A message of one operation.
pub(super) struct Delivery {
    pub id: Arc<str>,
    pub serial: u64,
    pub text: String,
    /// Whether the operation ends with it.
    pub is_last: bool,
    /// Cancelled when the peer gave the operation up: then the message is not written.
    pub token: CancellationToken,
}

/// The sending side. Clones share the queue.
#[derive(Clone)]
pub(super) struct Outbox {
    deliveries: mpsc::Sender<(Delivery, OwnedSemaphorePermit)>,
    control: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
    capacity: u32,
}

/// The writing side.
pub(super) struct Writer {
    deliveries: mpsc::Receiver<(Delivery, OwnedSemaphorePermit)>,
    control: mpsc::Receiver<Message>,
    live: Live,
    closing: Closing,
    unanswered_pings: Arc<AtomicU32>,
    limits: SocketLimits,
}

/// Makes the two sides. `unanswered_pings` is set to zero by whoever hears from the peer.
pub(super) fn outbox(
    limits: &SocketLimits,
    live: Live,
    closing: Closing,
    unanswered_pings: Arc<AtomicU32>,
) -> (Outbox, Writer) {
    let (send_delivery, deliveries) = mpsc::channel(limits.queued_messages);
    let (send_control, control) = mpsc::channel(CONTROL_MESSAGES);
    let room = Arc::new(Semaphore::new(limits.queued_bytes as usize));
    let outbox = Outbox { deliveries: send_delivery, control: send_control, room, capacity: limits.queued_bytes };
    (outbox, Writer { deliveries, control, live, closing, unanswered_pings, limits: limits.clone() })
}

impl Outbox {
    /// Queues a message of an operation, when there is room. Returns false when the socket is gone.
    pub(super) async fn deliver(&self, delivery: Delivery) -> bool {
        // A message above the capacity takes all of the room, so that it can pass alone.
        let bytes = u32::try_from(delivery.text.len()).unwrap_or(u32::MAX).min(self.capacity);
        let Ok(permit) = Arc::clone(&self.room).acquire_many_owned(bytes).await else { return false };
        self.deliveries.send((delivery, permit)).await.is_ok()
    }

    /// Queues a control message at once. Returns false when there is no room for it.
    pub(super) fn control(&self, text: String) -> bool {
        self.control.try_send(Message::text(text)).is_ok()
    }
}

impl Writer {
    /// Writes until it is decided to close, then says why.
    pub(super) async fn run(mut self, mut sink: SplitSink<WebSocket, Message>) {
        let close = self.write(&mut sink).await;
        if let Some(frame) = close.frame() {
            let farewell = sink.send(Message::Close(Some(frame)));
            if timeout(self.limits.close_time, farewell).await.is_err() {
                tracing::debug!("peer did not take the close frame");
            }
        }
    }

    async fn write(&mut self, sink: &mut SplitSink<WebSocket, Message>) -> Close {
        let every = self.limits.ping_every;
        let mut pings = interval_at(Instant::now() + every, every);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let closing = self.closing.clone();
        loop {
            let written = tokio::select! {
                biased;
                close = closing.decided() => return close,
                Some(message) = self.control.recv() => self.flush(sink, message, None).await,
                _ = pings.tick() => {
                    if self.unanswered_pings.fetch_add(1, Ordering::AcqRel) >= 2 {
                        closing.decide(Close::SILENT);
                        continue;
                    }
                    self.flush(sink, Message::Ping(bytes::Bytes::new()), None).await
                }
                Some((delivery, permit)) = self.deliveries.recv() => match self.admit(delivery) {
                    Some(message) => self.flush(sink, message, Some(permit)).await,
                    None => Ok(()),
                },
            };
            if let Err(close) = written {
                self.closing.decide(close);
            }
        }
    }

    /// The message, unless its operation was given up. The last one frees the id.
    fn admit(&self, delivery: Delivery) -> Option<Message> {
        let is_wanted = if delivery.is_last {
            self.live.end(&delivery.id, delivery.serial)
        } else {
            !delivery.token.is_cancelled()
        };
        is_wanted.then(|| Message::text(delivery.text))
    }

    /// Writes a message and what else is queued, in one flush. Room is given back when the bytes have left.
    async fn flush(
        &mut self,
        sink: &mut SplitSink<WebSocket, Message>,
        first: Message,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Close> {
        let (stall_time, closing) = (self.limits.stall_time, self.closing.clone());
        let write = async {
            let mut gathered = weight(&first);
            let mut permits = Vec::from_iter(permit);
            sink.feed(first).await?;
            while gathered < FLUSH_BYTES {
                let Ok((delivery, permit)) = self.deliveries.try_recv() else { break };
                if let Some(message) = self.admit(delivery) {
                    gathered += weight(&message);
                    permits.push(permit);
                    sink.feed(message).await?;
                }
            }
            sink.flush().await
        };
        tokio::select! {
            biased;
            _ = closing.decided() => Ok(()),
            written = within(stall_time, write) => written,
        }
    }
}

async fn within<E>(limit: Duration, write: impl Future<Output = Result<(), E>>) -> Result<(), Close> {
    match timeout(limit, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(Close::GONE),
        Err(_elapsed) => Err(Close::STALLED),
    }
}

fn weight(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        _ => 0,
    }
}
