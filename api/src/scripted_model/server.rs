//! The HTTP server of the scripted model.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::built_in;
use super::play::{Answer, Refusal};
use super::reply::{Part, Reply, Step};
use super::request::ChatRequest;
use super::script::Script;
use super::stats::{Counted, Stats};
use super::wire::Frame;

const MAX_BODY_BYTES: usize = 64 << 20;

/// How the server is set up.
#[derive(Debug)]
pub struct ScriptedModelOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What it plays beside the built-in scenarios.
    pub script: Script,
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct ScriptedModel {
    listener: TcpListener,
    address: SocketAddr,
    script: Script,
}

struct Stage {
    script: Script,
    stats: Stats,
    shutdown: CancellationToken,
}

impl ScriptedModel {
    /// Binds the address.
    pub async fn bind(options: ScriptedModelOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(options.listen).await?;
        Ok(Self { address: listener.local_addr()?, listener, script: options.script })
    }

    /// The base URL that a model resource gets.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers until `shutdown`; replies under way are cut then.
    pub async fn serve(self, shutdown: CancellationToken) -> io::Result<()> {
        let stage = Stage { script: self.script, stats: Stats::default(), shutdown: shutdown.clone() };
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(models))
            .route("/stats", get(stats))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::new(stage));
        let listener = self.listener.tap_io(|socket| {
            // A piece must not wait for the next one. Failing costs time only.
            let _ = socket.set_nodelay(true);
        });
        axum::serve(listener, router).with_graceful_shutdown(shutdown.cancelled_owned()).await
    }
}

async fn stats(State(stage): State<Arc<Stage>>) -> Response {
    Json(stage.stats.snapshot()).into_response()
}

async fn models(State(stage): State<Arc<Stage>>) -> Json<Value> {
    let scripted = stage.script.scenarios.iter().map(|scenario| scenario.model.as_str());
    let models: Vec<Value> = scripted
        .chain(built_in::NAMES.iter().copied())
        .map(|name| json!({"id": name, "object": "model", "created": 0, "owned_by": "scripted"}))
        .collect();
    Json(json!({"object": "list", "data": models}))
}

async fn complete(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    let request: ChatRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return refuse(&Refusal::new(400, "bad_request", format!("the request is no chat: {error}"))),
    };
    stage.stats.count(&Counted {
        model: &request.model,
        scenario: &stage.script.scenario_name(&request),
        turn: request.turn(),
        key: headers.get("x-vitrine-model-call").and_then(|value| value.to_str().ok()),
        body: &body,
    });
    match stage.script.answer(&request) {
        Err(refusal) => refuse(&refusal),
        Ok(Answer::Silence) => {
            stage.shutdown.cancelled().await;
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        Ok(Answer::Reply(reply)) if request.stream => send_stream(&stage, reply, request),
        Ok(Answer::Reply(reply)) => send_whole(&stage, &reply, &request).await,
    }
}

fn refuse(refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(refusal.body())).into_response()
}

async fn send_whole(stage: &Stage, reply: &Reply, request: &ChatRequest) -> Response {
    // The pace between pieces is for those who watch them come.
    if let Some(first) = reply.steps.first() {
        stage.shutdown.run_until_cancelled(tokio::time::sleep(first.at)).await;
    }
    for step in &reply.steps {
        match &step.part {
            Part::Stall => stage.shutdown.cancelled().await,
            Part::Garbage(text) => return ([(header::CONTENT_TYPE, "application/json")], text.clone()).into_response(),
            Part::Error(message) => return refuse(&Refusal::new(500, "server_error", message.clone())),
            Part::Cut => return Body::from_stream(stream::once(async { cut() })).into_response(),
            Part::Text(_) | Part::CallStart { .. } | Part::CallArguments { .. } => {}
        }
    }
    Json(Frame::new(request).whole(reply, request)).into_response()
}

/// A reply that is being sent.
struct Sending {
    frame: Frame,
    steps: std::vec::IntoIter<Step>,
    started: Instant,
    last: String,
    shutdown: CancellationToken,
    phase: Phase,
}

enum Phase {
    First,
    Parts,
    Over,
}

fn send_stream(stage: &Stage, reply: Reply, request: ChatRequest) -> Response {
    let frame = Frame::new(&request);
    let sending = Sending {
        last: frame.last_chunks(&reply, &request),
        frame,
        steps: reply.steps.into_iter(),
        started: Instant::now(),
        shutdown: stage.shutdown.clone(),
        phase: Phase::First,
    };
    let body = Body::from_stream(stream::unfold(sending, next_chunk));
    ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

async fn next_chunk(mut sending: Sending) -> Option<(io::Result<String>, Sending)> {
    let chunk = match sending.phase {
        Phase::First => {
            sending.phase = Phase::Parts;
            Ok(sending.frame.first_chunk())
        }
        Phase::Over => return None,
        Phase::Parts => match sending.next_part().await {
            Some(chunk) => chunk,
            None => {
                sending.phase = Phase::Over;
                Ok(std::mem::take(&mut sending.last))
            }
        },
    };
    Some((chunk, sending))
}

impl Sending {
    async fn next_part(&mut self) -> Option<io::Result<String>> {
        let step = self.steps.next()?;
        if self.shutdown.run_until_cancelled(sleep_until(self.started + step.at)).await.is_none() {
            return Some(cut());
        }
        if step.part == Part::Stall {
            self.shutdown.cancelled().await;
        }
        Some(self.frame.part_chunk(&step.part).map_or_else(cut, Ok))
    }
}

/// An error of the body cuts the connection before its end was said.
fn cut() -> io::Result<String> {
    Err(io::ErrorKind::ConnectionAborted.into())
}
