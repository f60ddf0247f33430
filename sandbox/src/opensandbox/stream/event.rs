//! An Event is what one frame of a command's stream says.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::frame::{FrameDecoder, FrameTooLong};

const MAX_NAME_CHARS: usize = 64;

/// Which of the two outputs of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One thing that happened to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// The process runs under this id.
    Init { id: String },
    /// Nothing happened, and the server is alive.
    Ping,
    /// The command wrote.
    Output { stream: OutputStream, text: String },
    /// The command ended with exit code 0, or a background command has started.
    Complete { execution_time_ms: Option<u64> },
    /// The command ended otherwise; the value is an exit code, `-1` for a signal, or a message.
    Failed { value: String },
    /// The server failed after the stream had begun.
    LateError { code: String, message: String },
    /// Something that this client does not know, by the name that it gives itself.
    Unknown { kind: Option<String> },
}

impl Event {
    /// Whether nothing of the command comes after it.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Complete { .. } | Self::Failed { .. } | Self::LateError { .. })
    }
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    text: Option<String>,
    execution_time: Option<Value>,
    error: Option<Value>,
    code: Option<Value>,
    message: Option<Value>,
    eid: Option<Value>,
}

/// Turns the bytes of a stream into events.
#[derive(Debug)]
pub(crate) struct EventDecoder {
    frames: FrameDecoder,
    /// The number of the newest event that had one; a resumed stream repeats older ones.
    last_eid: Option<u64>,
}

impl EventDecoder {
    pub fn new(max_frame_bytes: usize) -> Self {
        Self { frames: FrameDecoder::new(max_frame_bytes), last_eid: None }
    }

    /// Takes the next bytes, and appends the events that they complete.
    pub fn push(&mut self, bytes: &[u8], events: &mut impl Extend<Event>) -> Result<(), FrameTooLong> {
        let last_eid = &mut self.last_eid;
        self.frames.push(bytes, |frame| read_frame(frame, last_eid, events))
    }

    /// The stream has ended: appends the events that nothing terminated.
    pub fn finish(&mut self, events: &mut impl Extend<Event>) -> Result<(), FrameTooLong> {
        let last_eid = &mut self.last_eid;
        self.frames.finish(|frame| read_frame(frame, last_eid, events))
    }
}

/// Appends the events of a frame: one, unless a server forgot the separator between two.
fn read_frame(frame: &[u8], last_eid: &mut Option<u64>, events: &mut impl Extend<Event>) {
    // Bytes that are no UTF-8 cost themselves, not the whole event. To look for them is slower than to see that all are.
    let text = std::str::from_utf8(frame).map_or_else(|_| String::from_utf8_lossy(frame), Cow::Borrowed);
    for raw in serde_json::Deserializer::from_str(&text).into_iter::<RawEvent<'_>>() {
        let Ok(raw) = raw else {
            events.extend([Event::Unknown { kind: None }]);
            return;
        };
        let eid = raw.eid.as_ref().and_then(Value::as_u64);
        if eid.is_some() && eid <= *last_eid {
            continue;
        }
        *last_eid = eid.or(*last_eid);
        events.extend([read_event(raw)]);
    }
}

fn read_event(raw: RawEvent<'_>) -> Event {
    let text = raw.text.unwrap_or_default();
    match raw.kind.as_deref() {
        Some("init") => Event::Init { id: text },
        Some("ping") => Event::Ping,
        Some("stdout") => Event::Output { stream: OutputStream::Stdout, text },
        Some("stderr") => Event::Output { stream: OutputStream::Stderr, text },
        Some("execution_complete") => Event::Complete { execution_time_ms: raw.execution_time.and_then(to_ms) },
        Some("error") => Event::Failed { value: failure_value(raw.error.as_ref(), text) },
        None if raw.code.is_some() || raw.message.is_some() => {
            Event::LateError { code: to_text(raw.code.as_ref()), message: to_text(raw.message.as_ref()) }
        }
        kind => Event::Unknown { kind: kind.map(clean_name) },
    }
}

/// A name that is safe to show.
fn clean_name(kind: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    kind.chars().filter(is_plain).take(MAX_NAME_CHARS).collect()
}

/// The exit code or message of an `error` event; its name is the best there is when it has no value.
fn failure_value(error: Option<&Value>, text: String) -> String {
    let member = |name: &str| error.and_then(|error| error.get(name)).map(|value| to_text(Some(value)));
    member("evalue").filter(|value| !value.is_empty()).or_else(|| member("ename")).unwrap_or(text)
}

fn to_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float is cut to whole milliseconds")]
fn to_ms(value: Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().map(|ms| ms as u64))
}
