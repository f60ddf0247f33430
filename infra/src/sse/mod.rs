//! An SSE decoder turns the bytes of a `text/event-stream` into events.
//!
//! It is pure and bounded: the same bytes give the same events however they are split, and a line or an event over its
//! limit is an error. Bytes become text only when a line is whole, so that no character is torn. It does not connect,
//! reconnect or wait.

mod decoder;

pub use decoder::{DecodeError, Decoder, Event, Limits};

#[cfg(test)]
mod tests;
