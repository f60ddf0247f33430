//! Why a socket is closed. The official client decides by the code whether it tries again: it does after 4403, 4408,
//! 3008, 1012 and 1013, and never after the others here.

use std::borrow::Cow;

use axum::extract::ws::CloseFrame;
use tokio::sync::watch;

/// A close frame's reason holds 123 bytes; a longer one would break the frame.
const MAX_REASON_BYTES: usize = 123;

/// A close code and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Close {
    code: u16,
    reason: Cow<'static, str>,
}

impl Close {
    const fn with(code: u16, reason: &'static str) -> Self {
        Self { code, reason: Cow::Borrowed(reason) }
    }

    /// The peer has left or cannot be reached; nothing can be told to it.
    pub(super) const GONE: Self = Self::with(1006, "gone");
    pub(super) const PROTOCOL_ERROR: Self = Self::with(1002, "Invalid WebSocket frame");
    pub(super) const TOO_BIG: Self = Self::with(1009, "Message too big");
    pub(super) const GOING_AWAY: Self = Self::with(1012, "Server is going away, reconnect");
    pub(super) const STALLED: Self = Self::with(1013, "Client reads too slowly, try again later");
    pub(super) const UNAVAILABLE: Self = Self::with(1013, "Credentials cannot be checked, try again later");
    pub(super) const SILENT: Self = Self::with(3008, "No answer to pings");
    pub(super) const UNAUTHORIZED: Self = Self::with(4401, "Unauthorized");
    pub(super) const SUBPROTOCOL: Self = Self::with(4406, "Subprotocol not acceptable");
    pub(super) const INIT_TIMEOUT: Self = Self::with(4408, "Connection initialisation timeout");
    pub(super) const SECOND_INIT: Self = Self::with(4429, "Too many initialisation requests");
    pub(super) const INTERNAL: Self = Self::with(4500, "Internal server error");

    /// The message is not one of the protocol.
    pub(super) const fn malformed(reason: &'static str) -> Self {
        Self::with(4400, reason)
    }

    /// The credentials are refused, or have ended.
    pub(super) fn forbidden(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code: 4403, reason: reason.into() }
    }

    /// The id is in use.
    pub(super) fn duplicate(id: &str) -> Self {
        Self { code: 4409, reason: Cow::Owned(format!("Subscriber for {id} already exists")) }
    }

    /// The frame to send, unless the peer is gone.
    pub(super) fn frame(&self) -> Option<CloseFrame> {
        let end = self.reason.floor_char_boundary(MAX_REASON_BYTES);
        let is_sendable = self.code != Self::GONE.code;
        is_sendable.then(|| CloseFrame { code: self.code, reason: self.reason[..end].into() })
    }
}

/// The decision to close. The first one stands; everyone who works for the socket watches it.
#[derive(Clone)]
pub(super) struct Closing(watch::Sender<Option<Close>>);

impl Closing {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Decides, unless it was decided before.
    pub(super) fn decide(&self, close: Close) {
        self.0.send_if_modified(|decision| {
            let is_first = decision.is_none();
            decision.get_or_insert(close);
            is_first
        });
    }

    /// Waits for the decision.
    pub(super) async fn decided(&self) -> Close {
        let mut decision = self.0.subscribe();
        // The sender is held by self, so the wait ends only with a decision.
        decision.wait_for(Option::is_some).await.ok().and_then(|close| close.clone()).unwrap_or(Close::GONE)
    }

    /// The decision, if there is one.
    pub(super) fn get(&self) -> Option<Close> {
        self.0.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_decision_stands() {
        let closing = Closing::new();
        closing.decide(Close::STALLED);
        closing.decide(Close::GONE);
        assert_eq!(closing.get(), Some(Close::STALLED));
    }

    #[test]
    fn a_reason_fits_its_frame_and_a_lost_peer_gets_none() {
        let frame = Close::forbidden("é".repeat(100)).frame().unwrap();
        assert_eq!(frame.reason.len(), 122, "cut between characters");
        assert_eq!(Close::GONE.frame(), None);
    }
}
