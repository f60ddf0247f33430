//! GraphQL over WebSocket: the `graphql-transport-ws` subprotocol on an upgrade of the GraphQL path.
//!
//! A socket has three kinds of tasks: a [`socket`] loop that reads and never writes, one writer ([`outbox`]) that never
//! waits for anything but the peer, and one [`stream`] task per operation. The rule: nothing that a peer does or leaves
//! undone makes the server hold more than the socket's queue, and nothing of it outlives the socket.

mod close;
mod live;
mod message;
mod outbox;
mod socket;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};

use super::caller::cookie_value;
use super::transport::Transport;

/// Each socket holds this all the time, so it is small: peers seldom send more than a line.
const READ_BUFFER_BYTES: usize = 8 * 1024;
const SUBPROTOCOL: &str = "graphql-transport-ws";

/// What a socket may be. The times are named so that tests can shorten them.
#[derive(Clone, Debug)]
pub struct SocketLimits {
    /// Bytes of one message from the peer.
    pub message_bytes: usize,
    /// Operations at once.
    pub operations: usize,
    /// Messages that wait to be written.
    pub queued_messages: usize,
    /// Bytes that wait to be written.
    pub queued_bytes: u32,
    /// How long the peer may take to send `connection_init`.
    pub init_time: Duration,
    /// How often the peer is pinged; after two pings without any sign of life the socket is closed.
    pub ping_every: Duration,
    /// How long a write may make no progress.
    pub stall_time: Duration,
    /// How long the closing handshake may take.
    pub close_time: Duration,
}

impl Default for SocketLimits {
    fn default() -> Self {
        Self {
            message_bytes: 256 * 1024,
            operations: 100,
            queued_messages: 256,
            queued_bytes: 1024 * 1024,
            init_time: Duration::from_secs(10),
            ping_every: Duration::from_secs(20),
            stall_time: Duration::from_secs(30),
            close_time: Duration::from_secs(2),
        }
    }
}

/// Whether the request asks for a WebSocket.
pub(super) fn is_upgrade(request: &Request) -> bool {
    request.headers().get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Accepts the upgrade and runs the socket as a tracked task.
///
/// A browser adds its cookie to any upgrade, so the Origin is checked here as well as in front of all routes.
pub(super) async fn upgrade(transport: Arc<Transport>, request: Request) -> Response {
    let (mut parts, _body) = request.into_parts();
    if let Err(status) = transport.settings.hosts.check(&parts.headers) {
        return status.into_response();
    }
    if transport.drain.is_cancelled() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let cookie = cookie_value(&parts.headers, &transport.settings.session_cookie);
    let is_spoken = offers_subprotocol(&parts.headers);
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade.protocols([SUBPROTOCOL]),
        Err(rejection) => return rejection.into_response(),
    };
    // The limit itself is checked by the loop, which can then name its reason; this one bounds the memory.
    let bytes = transport.settings.socket.message_bytes.saturating_mul(2);
    let tasks = transport.tasks.clone();
    upgrade.read_buffer_size(READ_BUFFER_BYTES).max_frame_size(bytes).max_message_size(bytes).on_upgrade(
        move |socket| {
            tasks.track_future(async move {
                if is_spoken {
                    socket::run(transport, socket, cookie).await;
                } else {
                    socket::refuse(socket, transport.settings.socket.close_time).await;
                }
            })
        },
    )
}

fn offers_subprotocol(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|name| name.trim() == SUBPROTOCOL)
}
