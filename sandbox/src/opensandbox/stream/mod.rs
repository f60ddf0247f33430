//! A command's stream: bytes to frames, frames to events. Pure; the reading is done in [`super::command_stream`].
//!
//! Rule: whatever the framing (bare JSON lines, `data:` fields, comments, CRLF, a cut anywhere), the same events come
//! out, and memory is bounded by one frame. What is not understood is counted and skipped.

mod event;
mod frame;

#[cfg(test)]
mod tests;

pub use event::OutputStream;
pub(super) use event::{Event, EventDecoder};
pub(super) use frame::FrameDecoder;
