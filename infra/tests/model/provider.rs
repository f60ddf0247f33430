//! A provider on loopback: plays steps byte by byte, and keeps what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::ctx::Principal;
use domain::execution::{CallContext, ExecutionRef};
use domain::ids::{ExecutionId, PrincipalId, TenantId};
use domain::model_call::{DeltaSink, Message, ModelEndpoint, ModelOutcome, ModelRequest, ModelRuntime, ReplyMode};
use infra::model::{CallLimits, OpenAiCompatible};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub const KEY: &str = "sk-test-0123456789abcdef";

#[derive(Clone, Debug)]
pub enum Step {
    /// Writes these bytes and flushes.
    Send(Vec<u8>),
    /// Says nothing more and keeps the connection.
    Stall,
    /// Closes the connection.
    Close,
}

#[derive(Clone, Debug)]
pub struct Recorded {
    pub head: String,
    pub body: serde_json::Value,
}

#[derive(Clone)]
pub struct Provider {
    pub address: SocketAddr,
    steps: Arc<Mutex<Vec<Step>>>,
    requests: Arc<Mutex<Vec<Recorded>>>,
    connections: Arc<AtomicUsize>,
    _stop: Arc<tokio_util::sync::DropGuard>,
}

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stop = CancellationToken::new();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            steps: Arc::default(),
            requests: Arc::default(),
            connections: Arc::default(),
            _stop: Arc::new(stop.clone().drop_guard()),
        };
        let (steps, requests) = (Arc::clone(&provider.steps), Arc::clone(&provider.requests));
        let connections = Arc::clone(&provider.connections);
        let tasks = TaskTracker::new();
        tasks.clone().spawn(async move {
            while let Some(Ok((socket, _))) = stop.run_until_cancelled(listener.accept()).await {
                connections.fetch_add(1, Ordering::Relaxed);
                let (steps, requests, stop) = (Arc::clone(&steps), Arc::clone(&requests), stop.clone());
                tasks.spawn(async move {
                    stop.run_until_cancelled(serve(socket, &steps, &requests)).await;
                });
            }
        });
        provider
    }

    pub async fn playing(steps: Vec<Step>) -> Self {
        let provider = Self::start().await;
        provider.play(steps);
        provider
    }

    pub fn play(&self, steps: Vec<Step>) {
        *self.steps.lock().unwrap() = steps;
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.requests.lock().unwrap().clone()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

async fn serve(mut socket: TcpStream, steps: &Mutex<Vec<Step>>, requests: &Mutex<Vec<Recorded>>) {
    socket.set_nodelay(true).unwrap();
    while let Some(request) = read_request(&mut socket).await {
        requests.lock().unwrap().push(request);
        let steps = steps.lock().unwrap().clone();
        for step in steps {
            match step {
                Step::Send(bytes) => {
                    if socket.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Stall => std::future::pending().await,
                Step::Close => return,
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Recorded> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    while bytes.len() < head_end + length {
        socket.read_buf(&mut bytes).await.ok()?;
    }
    Some(Recorded { head, body: serde_json::from_slice(&bytes[head_end..]).unwrap_or_default() })
}

/// A head, then the chunks, each a chunk of the transfer encoding and so a piece of its own for the reader.
pub fn chunked<'a>(media_type: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Step> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n").into_bytes();
    for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend(chunk);
        bytes.extend(b"\r\n");
    }
    vec![Step::Send(bytes)]
}

pub fn stream<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Step> {
    let mut steps = chunked("text/event-stream", chunks);
    steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
    steps
}

pub fn answer(status: &str, media_type: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n");
    vec![Step::Send(format!("{head}{body}").into_bytes())]
}

#[derive(Default)]
pub struct Pieces {
    pub pieces: Mutex<Vec<String>>,
    pub cancel_at_first: Option<CancellationToken>,
}

#[async_trait]
impl DeltaSink for Pieces {
    async fn text(&self, piece: &str) {
        self.pieces.lock().unwrap().push(piece.to_owned());
        if let Some(token) = &self.cancel_at_first {
            token.cancel();
        }
    }
}

pub fn context() -> CallContext {
    let tenant_id = TenantId::from_bits(1);
    CallContext {
        principal: Principal { id: PrincipalId::from_bits(2), tenant_id, project_id: None },
        execution: ExecutionRef { tenant_id, id: ExecutionId::from_bits(3) },
        attempt: 1,
        time_left: Duration::from_secs(60),
        cancel: CancellationToken::new(),
    }
}

pub fn request(url: &str, mode: ReplyMode) -> ModelRequest {
    ModelRequest {
        endpoint: ModelEndpoint {
            base_url: url.to_owned(),
            deployment: "test-model".to_owned(),
            api_key: Some(KEY.to_owned()),
        },
        messages: Arc::new(vec![Message::User { content: "hello".to_owned() }]),
        tools: Vec::new(),
        parameters: serde_json::Map::new(),
        max_output_tokens: 100,
        mode,
    }
}

pub fn adapter(limits: CallLimits) -> OpenAiCompatible {
    OpenAiCompatible::new(infra::http::client(Duration::from_secs(5)).unwrap(), limits)
}

pub async fn ask(provider: &Provider, mode: ReplyMode) -> (ModelOutcome, Vec<String>) {
    let sink = Pieces::default();
    let request = request(&provider.url(), mode);
    let outcome = adapter(CallLimits::default()).call(&context(), &request, &sink).await;
    (outcome, sink.pieces.into_inner().unwrap())
}
