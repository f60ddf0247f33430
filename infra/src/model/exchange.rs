//! One call: one request, its reply read to the end, and no way out that forgets what was received.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::execution::CallContext;
use domain::model_call::{
    DeltaSink, FinishReason, ModelCallEnd, ModelFailure, ModelFailureKind, ModelOutcome, ModelRequest, ReplyMode,
    RetryAdvice,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::assembly::Assembly;
use super::body::UsageInStream;
use super::failure::Fault;
use super::limits::CallLimits;
use super::redact::redact;
use super::retry_after;
use super::stream_options::{StreamOptions, is_complaint};
use super::upstream_request::upstream_request;
use crate::sse::{Decoder, Event, Limits};

const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);
/// Behind `[DONE]` nothing is expected but the end, which frees the connection for the next call.
const DRAIN_TIME: Duration = Duration::from_millis(5);

/// Why a call ends without a whole reply.
#[derive(Debug)]
pub(super) enum Interruption {
    /// We were told to stop.
    Cancelled,
    /// Something failed.
    Failed(Fault),
}

impl From<Fault> for Interruption {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

#[derive(PartialEq, Eq)]
enum Progress {
    Goes,
    IsDone,
}

/// A call under way.
pub(super) struct Exchange<'a> {
    limits: &'a CallLimits,
    stream_options: &'a StreamOptions,
    context: &'a CallContext,
    request: &'a ModelRequest,
    deltas: &'a dyn DeltaSink,
    usage: UsageInStream,
    started: Instant,
    deadline: Instant,
    assembly: Assembly,
    first_delta_ms: Option<u32>,
    was_sent: Arc<AtomicBool>,
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        limits: &'a CallLimits,
        stream_options: &'a StreamOptions,
        context: &'a CallContext,
        request: &'a ModelRequest,
        deltas: &'a dyn DeltaSink,
    ) -> Self {
        let started = Instant::now();
        let usage = match stream_options.are_known_to(&request.endpoint.base_url) {
            true => UsageInStream::AskedFor,
            false => UsageInStream::Unasked,
        };
        Self {
            limits,
            stream_options,
            context,
            request,
            deltas,
            usage,
            started,
            deadline: started + limits.total.min(context.time_left),
            assembly: Assembly::new(limits.reply_bytes),
            first_delta_ms: None,
            was_sent: Arc::default(),
        }
    }

    /// Sends the request and reads the reply to its end.
    pub(super) async fn run(&mut self, client: &Client) -> Result<FinishReason, Interruption> {
        let request = upstream_request(client, self.request, self.usage, &self.was_sent)?;
        let sending = Box::pin(client.execute(request));
        let response = self.wait_until(self.first_byte_until(), sending).await?.map_err(Fault::of_transport)?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if self.is_event_stream(&response) { self.read_stream(response).await } else { self.read_whole(response).await }
    }

    /// The outcome, with whatever was received.
    pub(super) fn into_outcome(self, result: Result<FinishReason, Interruption>) -> ModelOutcome {
        let end = match result {
            Ok(reason) => ModelCallEnd::Finished(reason),
            Err(Interruption::Cancelled) => ModelCallEnd::Cancelled,
            Err(Interruption::Failed(Fault(failure))) => ModelCallEnd::Failed(ModelFailure {
                message: redact(&failure.message, self.request.endpoint.api_key.as_deref()),
                ..failure
            }),
        };
        ModelOutcome {
            reply: self.assembly.into_reply(),
            end,
            first_delta_ms: self.first_delta_ms,
            was_sent: self.was_sent.load(Ordering::Acquire),
        }
    }

    async fn refusal(&self, mut response: Response) -> Interruption {
        let (status, advice) = (response.status(), retry_after::advice(response.headers()));
        let until = Instant::now() + ERROR_BODY_TIME;
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BODY_BYTES {
            match self.wait_until(until, response.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                Err(Interruption::Cancelled) => return Interruption::Cancelled,
                // The status says enough.
                Ok(Ok(None) | Err(_)) | Err(Interruption::Failed(_)) => break,
            }
        }
        let mut fault = Fault::of_status(status, advice, &body);
        if self.has_asked_for_usage() && fault.0.kind == ModelFailureKind::Rejected && is_complaint(&fault.0.message) {
            self.stream_options.note_refusal(&self.request.endpoint.base_url);
            fault.0.advice = RetryAdvice::AtOnce;
        }
        fault.into()
    }

    fn has_asked_for_usage(&self) -> bool {
        self.request.mode == ReplyMode::Stream && self.usage == UsageInStream::AskedFor
    }

    /// What came decides, not what was asked for: endpoints answer either with the other.
    fn is_event_stream(&self, response: &Response) -> bool {
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let media_type = media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        match media_type.as_str() {
            "text/event-stream" => true,
            // A web page is what a wrong base URL gives.
            "application/json" | "text/html" => false,
            _ => self.request.mode == ReplyMode::Stream,
        }
    }

    async fn read_stream(&mut self, mut response: Response) -> Result<FinishReason, Interruption> {
        let mut decoder = Decoder::new(Limits::default());
        let mut events = Vec::new();
        let mut has_events = false;
        let mut until = self.first_byte_until();
        let mut tail: Option<Instant> = None;
        loop {
            let received = match self.wait_until(tail.unwrap_or(until), response.chunk()).await {
                Err(Interruption::Failed(_)) | Ok(Err(_)) if self.assembly.has_finish() => break,
                Err(interruption) => return Err(interruption),
                Ok(received) => received,
            };
            let Some(bytes) = received.map_err(|error| Fault::truncated(broken(error)))? else {
                self.read_rest(decoder, has_events).await?;
                break;
            };
            let decoded = decoder.feed(&bytes, |event| events.push(event));
            has_events |= !events.is_empty();
            for event in events.drain(..) {
                if self.take_event(&event).await? == Progress::IsDone {
                    let _ = self.wait(DRAIN_TIME, response.chunk()).await;
                    return Ok(self.assembly.conclude()?);
                }
            }
            decoded.map_err(|error| Fault::protocol(error.to_string()))?;
            until = Instant::now() + self.limits.idle;
            if tail.is_none() && self.assembly.has_finish() {
                tail = Some(Instant::now() + self.limits.tail);
            }
        }
        Ok(self.assembly.conclude()?)
    }

    /// The end of the stream without `[DONE]`: fine behind a finish reason, else the reply is cut off. A last event may
    /// lack its blank line; it counts when it is whole JSON.
    async fn read_rest(&mut self, decoder: Decoder, has_events: bool) -> Result<(), Interruption> {
        let last = decoder.finish().ok().flatten();
        if let Some(event) = last.filter(is_whole)
            && self.take_event(&event).await? == Progress::IsDone
        {
            return Ok(());
        }
        match (self.assembly.has_finish(), has_events) {
            (true, _) => Ok(()),
            (false, true) => Err(Fault::truncated("the stream ended before the reply was whole").into()),
            (false, false) => Err(Fault::truncated("the stream ended without a whole event").into()),
        }
    }

    async fn take_event(&mut self, event: &Event) -> Result<Progress, Interruption> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(Progress::IsDone);
        }
        let body = serde_json::from_str::<Value>(data);
        if event.name == "error" {
            let error = body.unwrap_or_else(|_| Value::String(data.to_owned()));
            return Err(Fault::of_envelope(error.get("error").unwrap_or(&error)).into());
        }
        let body = body.map_err(|_| Fault::protocol("an event of the stream is no JSON"))?;
        self.take_body(&body).await?;
        Ok(Progress::Goes)
    }

    async fn read_whole(&mut self, mut response: Response) -> Result<FinishReason, Interruption> {
        let mut body = Vec::new();
        loop {
            let received = self.wait(self.limits.idle, response.chunk()).await?;
            let Some(bytes) = received.map_err(|error| Fault::truncated(broken(error)))? else { break };
            // Escapes and the frame around the reply take room, too.
            if body.len() + bytes.len() > self.limits.reply_bytes.saturating_mul(2).saturating_add(1 << 20) {
                return Err(Fault::protocol("the reply is too large").into());
            }
            body.extend_from_slice(&bytes);
        }
        let body: Value = serde_json::from_slice(&body).map_err(|_| Fault::protocol("the reply is no JSON"))?;
        self.take_body(&body).await?;
        Ok(self.assembly.conclude()?)
    }

    async fn take_body(&mut self, body: &Value) -> Result<(), Interruption> {
        let text = self.assembly.add(body)?;
        if self.request.mode == ReplyMode::Stream && !text.is_empty() {
            let elapsed = self.started.elapsed().as_millis();
            self.first_delta_ms.get_or_insert(u32::try_from(elapsed).unwrap_or(u32::MAX));
            self.deltas.text(text).await;
        }
        Ok(())
    }

    fn first_byte_until(&self) -> Instant {
        match self.request.mode {
            ReplyMode::Stream => self.started + self.limits.first_byte,
            ReplyMode::Complete => self.deadline,
        }
    }

    async fn wait<T>(&self, limit: Duration, future: impl Future<Output = T>) -> Result<T, Interruption> {
        self.wait_until(Instant::now() + limit, future).await
    }

    async fn wait_until<T>(&self, until: Instant, future: impl Future<Output = T>) -> Result<T, Interruption> {
        let until = until.min(self.deadline);
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(Interruption::Cancelled),
            result = timeout_at(until, future) => result.map_err(|_| self.timeout().into()),
        }
    }

    fn timeout(&self) -> Fault {
        let message = if Instant::now() >= self.deadline {
            "the call took longer than it may in all"
        } else if self.assembly.is_empty() {
            "the model did not begin to answer in time"
        } else {
            "the model fell silent in the middle of its reply"
        };
        Fault::new(ModelFailureKind::Timeout, message)
    }
}

fn is_whole(event: &Event) -> bool {
    event.data.trim() == "[DONE]" || event.name == "error" || serde_json::from_str::<Value>(&event.data).is_ok()
}

fn broken(error: reqwest::Error) -> String {
    Fault::of_transport(error).0.message
}
