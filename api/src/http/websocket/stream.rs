//! One operation on a socket, from `subscribe` to `complete` or `error`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::message::ServerMessage;
use super::outbox::{Delivery, Outbox};
use crate::http::caller::Caller;
use crate::http::envelope::{Envelope, INTERNAL_MESSAGE};
use crate::http::fault::{Code, Fault};
use crate::http::operation::Operation;
use crate::http::params::Params;
use crate::http::request_id::RequestId;
use crate::http::transport::Transport;

/// What an operation's task holds.
pub(super) struct Stream {
    pub id: Arc<str>,
    /// Tells it from other operations that had the same id.
    pub serial: u64,
    /// Cancelled when the peer gives the operation up or the socket ends.
    pub token: CancellationToken,
    pub outbox: Outbox,
    pub transport: Arc<Transport>,
    pub caller: Arc<dyn Caller>,
}

impl Stream {
    /// Runs to the end of the operation, or until it is given up; then nothing more is said of it.
    pub(super) async fn run(self, params: Params) {
        let _open = self.transport.socket_operations.enter();
        let request_id = RequestId::random();
        let answer = AssertUnwindSafe(self.answer(params, &request_id)).catch_unwind();
        tokio::select! {
            biased;
            () = self.token.cancelled() => {}
            outcome = answer => if outcome.is_err() {
                tracing::error!(request.id = %request_id, "subscription panicked");
                let fault = Fault::new(Code::Internal, INTERNAL_MESSAGE);
                self.error(&Envelope::refused(fault, &request_id)).await;
            }
        }
    }

    async fn answer(&self, params: Params, request_id: &RequestId) {
        let settings = &self.transport.settings;
        let operation = match Operation::prepare(params, self.caller.as_ref(), request_id, &settings.gate) {
            Ok(operation) => operation,
            Err(fault) => return self.error(&Envelope::refused(fault, request_id)).await,
        };
        if operation.kind == OperationType::Subscription {
            return self.follow(operation).await;
        }
        let limit = settings.http.execution_time;
        let envelope = operation.execute(self.transport.engine.as_ref(), limit, &self.transport.tasks).await;
        if envelope.refusal().is_some() {
            return self.error(&envelope).await;
        }
        if self.next(&envelope).await {
            self.complete().await;
        }
    }

    async fn follow(&self, operation: Operation) {
        let Operation { request, audience, request_id, .. } = operation;
        let mut responses = self.transport.engine.subscribe(request);
        let mut is_first = true;
        while let Some(response) = responses.next().await {
            let envelope = Envelope::answered(response, &request_id, audience);
            if is_first && envelope.refusal().is_some() {
                return self.error(&envelope).await;
            }
            is_first = false;
            if !self.next(&envelope).await {
                return;
            }
        }
        self.complete().await;
    }

    /// Returns false when the operation cannot go on.
    async fn next(&self, envelope: &Envelope) -> bool {
        self.send(&ServerMessage::Next { id: &self.id, payload: envelope }).await
    }

    async fn error(&self, envelope: &Envelope) {
        self.send(&ServerMessage::Error { id: &self.id, payload: &envelope.errors }).await;
    }

    async fn complete(&self) {
        self.send(&ServerMessage::Complete { id: &self.id }).await;
    }

    /// Returns false when the operation has ended with it, or cannot go on.
    async fn send(&self, message: &ServerMessage<'_>) -> bool {
        let (text, is_last) = match message.encode() {
            Ok(text) => (text, message.is_last()),
            Err(error) => {
                tracing::error!(%error, "message could not be encoded");
                // A completion holds nothing but the id, so it can be encoded; the peer must not wait for ever.
                (ServerMessage::Complete { id: &self.id }.encode().unwrap_or_default(), true)
            }
        };
        let (id, token) = (Arc::clone(&self.id), self.token.clone());
        let delivery = Delivery { id, serial: self.serial, text, is_last, token };
        self.outbox.deliver(delivery).await && !is_last
    }
}
