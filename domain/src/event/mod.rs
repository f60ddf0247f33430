//! An event says what happened in an execution, in one ordered log without holes.
//!
//! Sequences start at 1. An event is visible to anyone only after its commit. There is one way into the log: a fenced
//! commit compares and sets the lease epoch and the next sequence and inserts one segment. Events are stored as
//! segments whose bytes are encoded once; everything that shows an execution folds this log.

mod cursor;
mod journal;
mod log_writer;
mod model;
mod ports;

pub use cursor::{Cursor, CursorError};
pub use journal::{Entry, Journal, JournalError};
pub use log_writer::{LogWriter, LogWriterHandle, log_writer};
pub use model::{Event, EventError, EventRecord, Segment, encode_segment};
pub use ports::{CommandWakeUps, EventBus, EventLog};

#[cfg(test)]
mod tests;
