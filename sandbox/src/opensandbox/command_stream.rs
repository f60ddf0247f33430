//! Reads the events of a command from the network.

use std::collections::VecDeque;
use std::time::Duration;

use http::{HeaderValue, Method, header::ACCEPT};
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::error::Error;
use super::sandbox::Port;
use super::stream::{Event, EventDecoder};
use super::transport::Transport;

/// The longest frame that is read: a line of a mebibyte whose every byte is escaped as `\u0000`, and some more.
const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;

/// An open stream.
pub(super) struct CommandStream {
    response: Response,
    decoder: EventDecoder,
    events: VecDeque<Event>,
    over: Option<Over>,
}

/// Why nothing more is read.
#[derive(Clone, Copy)]
enum Over {
    Ended,
    Broken,
    Overlong,
}

/// What came next.
pub(super) enum Next {
    Event(Event),
    /// No event for as long as the caller had patience.
    Silent,
    /// The body ended as bodies do.
    Ended,
    /// The connection broke.
    Broken,
    /// A frame is too long to be read, and so is whatever comes behind it. A server sends a command's line in one.
    Overlong,
}

impl CommandStream {
    /// Sends a command, once.
    pub async fn open(transport: &Transport, execd: &Port, body: &Value) -> Result<Self, Error> {
        let mut call = execd.call_with(Method::POST, execd.url(&["command"])?, body);
        call.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = transport
            .open(transport.request(&call), transport.timeouts.idle, call.redactor)
            .await
            .map_err(|error| error.after_sending("command"))?;
        let decoder = EventDecoder::new(MAX_FRAME_BYTES);
        Ok(Self { response, decoder, events: VecDeque::new(), over: None })
    }

    /// The next event. Bytes that complete none do not count as life.
    pub async fn next(&mut self, patience: Duration) -> Next {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Next::Event(event);
            }
            match self.over {
                Some(Over::Ended) => return Next::Ended,
                Some(Over::Broken) => return Next::Broken,
                Some(Over::Overlong) => return Next::Overlong,
                None => {}
            }
            let decoded = match timeout_at(deadline, self.response.chunk()).await {
                Err(_) => return Next::Silent,
                Ok(Ok(Some(chunk))) => self.decoder.push(&chunk, &mut self.events),
                Ok(last @ (Ok(None) | Err(_))) => {
                    self.over = Some(if last.is_err() { Over::Broken } else { Over::Ended });
                    self.decoder.finish(&mut self.events)
                }
            };
            if decoded.is_err() {
                self.over = Some(Over::Overlong);
            }
        }
    }

    /// Whether every event that has arrived was taken.
    pub fn is_drained(&self) -> bool {
        self.events.is_empty()
    }
}
