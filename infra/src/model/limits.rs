//! How long a call may take and how much a reply may be.

use std::time::Duration;

/// Limits of one model call. The time to connect is the HTTP client's.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// From sending to the first byte of the reply's body, connecting included. In complete mode a provider is silent
    /// until its reply is whole, so there `total` takes its place.
    pub first_byte: Duration,
    /// Silence between two pieces of a reply.
    pub idle: Duration,
    /// The whole call; what the execution has left may be less.
    pub total: Duration,
    /// From the finish reason to the end of the stream: usage comes in between, if at all.
    pub tail: Duration,
    /// Text and tool calls of one reply together.
    pub reply_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(900),
            tail: Duration::from_secs(5),
            reply_bytes: 8 << 20,
        }
    }
}
