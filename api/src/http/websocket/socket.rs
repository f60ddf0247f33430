//! The loop of one socket: it reads messages, and watches for everything that ends the socket.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::Error;
use axum::extract::ws::{Message, WebSocket};
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::SplitStream;
use futures_util::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::close::{Close, Closing};
use super::live::Live;
use super::message::{ClientMessage, ServerMessage};
use super::outbox::{Outbox, outbox};
use super::stream::Stream;
use crate::http::caller::{AuthError, Caller, Credentials};
use crate::http::fault::{Code, Fault};
use crate::http::params::Params;
use crate::http::request_id::RequestId;
use crate::http::transport::Transport;

/// Closes a socket whose peer does not speak the subprotocol. A browser can read the code of a close frame, but not the
/// status of a refused upgrade.
pub(super) async fn refuse(mut socket: WebSocket, close_time: Duration) {
    let farewell = async {
        if socket.send(Message::Close(Close::SUBPROTOCOL.frame())).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    // The peer has this long to answer; afterwards the connection is simply dropped.
    timeout(close_time, farewell).await.ok();
}

/// Serves a socket to its end.
pub(super) async fn run(transport: Arc<Transport>, socket: WebSocket, cookie: Option<String>) {
    let _open = transport.sockets.enter();
    let limits = transport.settings.socket.clone();
    let (sink, mut incoming) = socket.split();
    let (closing, live, unanswered_pings) = (Closing::new(), Live::default(), Arc::new(AtomicU32::new(0)));
    let (outbox, writer) = outbox(&limits, live.clone(), closing.clone(), Arc::clone(&unanswered_pings));
    let writing = transport.tasks.spawn(writer.run(sink));

    let mut session = Session {
        closing,
        live,
        outbox,
        unanswered_pings,
        cookie,
        caller: None,
        ended: pending().boxed(),
        init_by: Instant::now() + limits.init_time,
        token: CancellationToken::new(),
        serial: 0,
        transport,
    };
    session.read(&mut incoming).await;
    session.token.cancel();
    // The writer says goodbye; the peer's own close frame ends the reading.
    let farewell = async { while let Some(Ok(_)) = incoming.next().await {} };
    timeout(limits.close_time, farewell).await.ok();
    if let Err(error) = writing.await {
        tracing::error!(%error, "socket writer failed");
    }
}

struct Session {
    transport: Arc<Transport>,
    closing: Closing,
    live: Live,
    outbox: Outbox,
    unanswered_pings: Arc<AtomicU32>,
    cookie: Option<String>,
    caller: Option<Arc<dyn Caller>>,
    /// Resolves when the caller's right ends.
    ended: BoxFuture<'static, &'static str>,
    init_by: Instant,
    /// Parent of the operations' tokens.
    token: CancellationToken,
    /// The number of the latest operation.
    serial: u64,
}

impl Session {
    /// Reads until it is decided to close.
    async fn read(&mut self, incoming: &mut SplitStream<WebSocket>) {
        let (closing, drain) = (self.closing.clone(), self.transport.drain.clone());
        while closing.get().is_none() {
            let close = tokio::select! {
                biased;
                _ = closing.decided() => return,
                () = drain.cancelled() => Some(Close::GOING_AWAY),
                reason = &mut self.ended => Some(Close::forbidden(reason)),
                () = sleep_until(self.init_by), if self.caller.is_none() => Some(Close::INIT_TIMEOUT),
                message = incoming.next() => self.receive(message).await.err(),
            };
            if let Some(close) = close {
                closing.decide(close);
            }
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, Error>>) -> Result<(), Close> {
        self.unanswered_pings.store(0, Ordering::Release);
        let text = match message {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => return Ok(()),
            Some(Ok(Message::Binary(_))) => return Err(Close::malformed("Binary messages are not served")),
            Some(Ok(Message::Close(_))) | None => return Err(Close::GONE),
            Some(Err(error)) => return Err(close_after(&error)),
        };
        if text.len() > self.transport.settings.socket.message_bytes {
            return Err(Close::TOO_BIG);
        }
        match ClientMessage::parse(&text)? {
            ClientMessage::ConnectionInit { authorization } => self.initialise(authorization).await,
            ClientMessage::Ping => {
                // A pong that finds no room is left out: the peer has plenty to read that shows we are here.
                self.outbox.control(encode(&ServerMessage::Pong)?);
                Ok(())
            }
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe { id, params } => self.subscribe(&id, params),
            ClientMessage::Complete { id } => {
                self.live.stop(&id);
                Ok(())
            }
        }
    }

    async fn initialise(&mut self, authorization: Option<String>) -> Result<(), Close> {
        if self.caller.is_some() {
            return Err(Close::SECOND_INIT);
        }
        let cookie = self.cookie.take();
        let credentials = Credentials { bearer: None, cookie }.with_authorization(authorization.as_deref());
        let check = self.transport.authenticator.authenticate(credentials);
        let caller = timeout_at(self.init_by, check).await.map_err(|_| Close::INIT_TIMEOUT)?.map_err(close_for)?;
        self.ended = caller.ended();
        self.caller = Some(caller);
        self.control(&ServerMessage::ConnectionAck)
    }

    fn subscribe(&mut self, id: &str, params: Params) -> Result<(), Close> {
        let caller = self.caller.clone().ok_or(Close::UNAUTHORIZED)?;
        self.serial += 1;
        if self.live.count() >= self.transport.settings.socket.operations {
            return self.refuse_one_more(id);
        }
        let token = self.token.child_token();
        if !self.live.open(id, self.serial, &token) {
            return Err(Close::duplicate(id));
        }
        let stream = Stream {
            id: id.into(),
            serial: self.serial,
            token,
            outbox: self.outbox.clone(),
            transport: Arc::clone(&self.transport),
            caller,
        };
        self.transport.tasks.spawn(stream.run(params));
        Ok(())
    }

    fn refuse_one_more(&self, id: &str) -> Result<(), Close> {
        let limit = self.transport.settings.socket.operations;
        let message = format!("This socket has {limit} operations open already; end one first.");
        let error = Fault::new(Code::RateLimited, message).into_error(&RequestId::random());
        self.control(&ServerMessage::Error { id, payload: &[error] })
    }

    fn control(&self, message: &ServerMessage<'_>) -> Result<(), Close> {
        if self.outbox.control(encode(message)?) { Ok(()) } else { Err(Close::STALLED) }
    }
}

fn encode(message: &ServerMessage<'_>) -> Result<String, Close> {
    message.encode().map_err(|error| {
        tracing::error!(%error, "message could not be encoded");
        Close::INTERNAL
    })
}

fn close_for(error: AuthError) -> Close {
    match error {
        AuthError::Refused(reason) => Close::forbidden(Cow::Borrowed(reason)),
        AuthError::Unavailable(_) => {
            let _logged = Fault::from(error);
            Close::UNAVAILABLE
        }
    }
}

/// The library gives an opaque error; only its text tells what was wrong.
fn close_after(error: &Error) -> Close {
    let text = error.to_string();
    if text.contains("Message too long") {
        Close::TOO_BIG
    } else if text.contains("protocol error") || text.contains("UTF-8") {
        Close::PROTOCOL_ERROR
    } else {
        Close::GONE
    }
}
