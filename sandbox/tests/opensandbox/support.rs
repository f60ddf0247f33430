//! A fake server that speaks Lifecycle and execd on one port, records what it is sent, and breaks when told to.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method};
use sandbox::opensandbox::{
    Client, Connection, CreateSandbox, OutputSink, OutputStream, OutputWire, Sandbox, SandboxLabel, Timeouts,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub const KEY: &str = "k3y-that-must-not-leak";
pub const TOKEN: &str = "t0ken-of-this-sandbox";

/// What a stream does next.
#[derive(Clone)]
pub enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Until the command is interrupted.
    UntilInterrupted,
    Hang,
    Cut,
    /// These bytes again and again.
    Forever(Bytes),
}

pub fn send(text: impl Into<String>) -> Step {
    Step::Send(Bytes::from(text.into()))
}

pub fn event(value: Value) -> Step {
    send(format!("{value}\n\n"))
}

pub fn init() -> Step {
    event(json!({"type": "init", "text": "c1", "timestamp": 1}))
}

pub fn stdout(text: &str) -> Step {
    event(json!({"type": "stdout", "text": text, "timestamp": 2}))
}

pub fn complete() -> Step {
    event(json!({"type": "execution_complete", "execution_time": 5, "timestamp": 3}))
}

pub fn failed(value: &str) -> Step {
    event(json!({"type": "error", "error": {"ename": "CommandExecError", "evalue": value, "traceback": null}}))
}

/// One request that the server saw.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A prepared answer: status, headers, body.
#[derive(Clone)]
pub struct Canned {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<Step>,
}

pub fn canned(status: u16, body: impl Into<String>) -> Canned {
    Canned { status, headers: Vec::new(), body: vec![send(body)] }
}

pub struct World {
    pub address: SocketAddr,
    pub seen: Mutex<Vec<Seen>>,
    pub sandboxes: Mutex<BTreeMap<String, Value>>,
    pub endpoint: Mutex<Value>,
    /// One stream for each command that is not the probe.
    pub scripts: Mutex<VecDeque<Vec<Step>>>,
    pub wire: Mutex<OutputWire>,
    pub files: Mutex<BTreeMap<String, Bytes>>,
    /// Answers that come before the ordinary one, by method and end of path.
    pub overrides: Mutex<VecDeque<(Method, &'static str, Canned)>>,
    /// Requests to paths that end so are obeyed, but their answer is lost.
    pub lose_reply_to: Mutex<Option<&'static str>>,
    is_losing: Arc<AtomicBool>,
    interrupted: Notify,
    /// Set when the stream of a script was dropped or read to its end.
    pub stream_ended: CancellationToken,
}

pub struct Fake {
    pub world: Arc<World>,
    stop: CancellationToken,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Fake {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_losing = Arc::new(AtomicBool::new(false));
        let world = Arc::new(World {
            address,
            seen: Mutex::default(),
            sandboxes: Mutex::default(),
            endpoint: Mutex::new(json!({
                "endpoint": format!("{address}/execd/proxy/44772"),
                "headers": {"X-EXECD-ACCESS-TOKEN": TOKEN},
            })),
            scripts: Mutex::default(),
            wire: Mutex::new(OutputWire::Kept),
            files: Mutex::default(),
            overrides: Mutex::default(),
            lose_reply_to: Mutex::default(),
            is_losing: is_losing.clone(),
            interrupted: Notify::new(),
            stream_ended: CancellationToken::new(),
        });
        let stop = CancellationToken::new();
        let app = Router::new().fallback(handle).with_state(world.clone());
        let listener = Lossy { listener, is_losing };
        TaskTracker::new()
            .spawn(stop.clone().run_until_cancelled_owned(async move { axum::serve(listener, app).await }));
        Self { world, stop }
    }

    pub fn connection(&self) -> Connection {
        let url = format!("http://{}", self.world.address).parse().unwrap();
        let mut connection = Connection::new(url, KEY.to_owned().into());
        connection.timeouts = Timeouts {
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(5),
            request: Duration::from_secs(10),
            interrupt_grace: Duration::from_secs(5),
            ..Timeouts::default()
        };
        connection
    }

    pub fn client(&self) -> Client {
        Client::new(self.connection()).unwrap()
    }

    pub fn sandbox(&self) -> Sandbox {
        self.client().attach("sb1").unwrap()
    }

    pub fn script(&self, steps: impl IntoIterator<Item = Step>) {
        self.world.scripts.lock().unwrap().push_back(steps.into_iter().collect());
    }

    pub fn answer(&self, method: Method, path_end: &'static str, canned: Canned) {
        self.world.overrides.lock().unwrap().push_back((method, path_end, canned));
    }

    pub fn count(&self, method: Method, path_end: &str) -> usize {
        self.seen(method, path_end).len()
    }

    pub fn seen(&self, method: Method, path_end: &str) -> Vec<Seen> {
        let seen = self.world.seen.lock().unwrap();
        seen.iter().filter(|seen| seen.method == method && seen.path.ends_with(path_end)).cloned().collect()
    }

    /// Commands that were sent, the probe left out.
    pub fn commands(&self) -> Vec<Value> {
        let bodies =
            self.seen(Method::POST, "/command").into_iter().map(|seen| serde_json::from_slice(&seen.body).unwrap());
        bodies.filter(|body| !is_probe(body)).collect()
    }
}

fn is_probe(body: &Value) -> bool {
    body["command"] == r"printf 'a\n\nb'"
}

pub fn new_sandbox(label: &str) -> CreateSandbox {
    CreateSandbox::new(SandboxLabel::new(label).unwrap(), "vitrine/code")
}

async fn handle(State(world): State<Arc<World>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let is_upload = parts.uri.path().ends_with("/files/upload");
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let seen = Seen {
        method: parts.method.clone(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.clone(),
        body: body.clone(),
    };
    world.seen.lock().unwrap().push(seen.clone());
    if world.lose_reply_to.lock().unwrap().is_some_and(|end| seen.path.ends_with(end)) {
        world.is_losing.store(true, Ordering::SeqCst);
    }
    if let Some(canned) = take_override(&world, &seen) {
        return respond(&world, canned);
    }
    if is_upload {
        return upload(&world, Request::from_parts(parts, Body::from(body))).await;
    }
    let answer = match seen.path.strip_prefix("/execd/proxy/44772") {
        Some(path) => execd(&world, &seen, path),
        None => lifecycle(&world, &seen),
    };
    respond(&world, answer)
}

fn take_override(world: &World, seen: &Seen) -> Option<Canned> {
    let mut overrides = world.overrides.lock().unwrap();
    let at = overrides.iter().position(|(method, end, _)| *method == seen.method && seen.path.ends_with(end))?;
    overrides.remove(at).map(|(_, _, canned)| canned)
}

fn lifecycle(world: &World, seen: &Seen) -> Canned {
    if seen.headers.get("open-sandbox-api-key").is_none_or(|key| key != KEY) {
        return canned(401, r#"{"code":"MISSING_API_KEY","message":"no key"}"#);
    }
    let mut sandboxes = world.sandboxes.lock().unwrap();
    let path: Vec<&str> = seen.path.trim_start_matches("/v1/").split('/').collect();
    let missing = || canned(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}"#);
    match (&seen.method, path.as_slice()) {
        (&Method::POST, ["sandboxes"]) => {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            let id = format!("sb{}", sandboxes.len() + 1);
            let sandbox = json!({
                "id": id, "status": {"state": "Running"}, "metadata": body["metadata"], "entrypoint": body["entrypoint"],
                "createdAt": "2026-01-01T00:00:00.000001+00:00",
            });
            sandboxes.insert(id, sandbox.clone());
            canned(202, sandbox.to_string())
        }
        (&Method::GET, ["sandboxes"]) => {
            let query: BTreeMap<String, String> = pairs(&seen.query);
            let wanted = pairs(query.get("metadata").map_or("", String::as_str));
            let has_all = |sandbox: &&Value| wanted.iter().all(|(key, value)| sandbox["metadata"][key] == **value);
            let items: Vec<&Value> = sandboxes.values().filter(has_all).collect();
            canned(200, json!({"items": items, "pagination": {"hasNextPage": false, "page": 1}}).to_string())
        }
        (&Method::GET, ["sandboxes", id]) => {
            sandboxes.get(*id).map_or_else(missing, |sandbox| canned(200, sandbox.to_string()))
        }
        (&Method::DELETE, ["sandboxes", id]) => sandboxes.remove(*id).map_or_else(missing, |_| canned(204, "")),
        (&Method::POST, ["sandboxes", _, "renew-expiration"]) => {
            canned(200, seen.body.escape_ascii().to_string().replace("\\\"", "\""))
        }
        (&Method::GET, ["sandboxes", _, "endpoints", _]) => canned(200, world.endpoint.lock().unwrap().to_string()),
        _ => canned(404, r#"{"detail":"Not Found"}"#),
    }
}

fn execd(world: &World, seen: &Seen, path: &str) -> Canned {
    if seen.headers.get("x-execd-access-token").is_none_or(|token| token != TOKEN) {
        return canned(401, r#"{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}"#);
    }
    let query = pairs(&seen.query);
    match (&seen.method, path) {
        (&Method::GET, "/ping") => canned(200, ""),
        (&Method::POST, "/command") => Canned { status: 200, headers: Vec::new(), body: command(world, seen) },
        (&Method::DELETE, "/command") => {
            world.interrupted.notify_waiters();
            world.interrupted.notify_one();
            canned(200, "")
        }
        (&Method::GET, "/command/c1/logs") => {
            let from: usize = query["cursor"].parse().unwrap();
            let bytes = b"one\xfftwo".get(from..).unwrap_or_default();
            Canned { status: 200, headers: Vec::new(), body: vec![Step::Send(Bytes::from_static(bytes))] }
        }
        (&Method::GET, "/files/download") => match world.files.lock().unwrap().get(&query["path"]) {
            Some(bytes) => Canned { status: 200, headers: Vec::new(), body: vec![Step::Send(bytes.clone())] },
            None => canned(404, r#"{"code":"FILE_NOT_FOUND","message":"no such file"}"#),
        },
        (&Method::GET, "/directories/list") => canned(200, list(world).to_string()),
        (&Method::GET, "/files/info") => {
            let items = list(world).as_array().unwrap().clone();
            let map: serde_json::Map<String, Value> =
                items.into_iter().map(|item| (item["path"].as_str().unwrap().to_owned(), item)).collect();
            canned(200, Value::Object(map).to_string())
        }
        _ => canned(404, "404 page not found"),
    }
}

fn list(world: &World) -> Value {
    let files = world.files.lock().unwrap();
    let items: Vec<Value> = files
        .iter()
        .map(|(path, bytes)| {
            json!({"path": path, "type": "file", "size": bytes.len(), "mode": 640, "owner": "root",
                   "modified_at": "2026-01-02T03:04:05.123456789+02:00"})
        })
        .collect();
    json!(items)
}

fn command(world: &World, seen: &Seen) -> Vec<Step> {
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    if !is_probe(&body) {
        return world.scripts.lock().unwrap().pop_front().unwrap();
    }
    let texts = match *world.wire.lock().unwrap() {
        OutputWire::Kept => ["a\n", "\n", "b"],
        OutputWire::Stripped => ["a", "\n", "b"],
    };
    let events = texts.map(|text| format!("{}\n\n", json!({"type": "stdout", "text": text}))).concat();
    vec![send(format!("{events}{}\n\n", json!({"type": "execution_complete"})))]
}

async fn upload(world: &World, request: Request) -> Response {
    let mut form = Multipart::from_request(request, &()).await.unwrap();
    let mut path = None;
    while let Ok(Some(field)) = form.next_field().await {
        assert!(field.file_name().is_some(), "a part without a file name is a plain field");
        match field.name().unwrap() {
            "metadata" => {
                let metadata: Value = serde_json::from_slice(&field.bytes().await.unwrap()).unwrap();
                path = Some(metadata["path"].as_str().unwrap().to_owned());
            }
            "file" => {
                // A body that breaks off leaves no file.
                let Ok(bytes) = field.bytes().await else { break };
                world.files.lock().unwrap().insert(path.clone().unwrap(), bytes);
            }
            other => panic!("unexpected part {other}"),
        }
    }
    Response::new(Body::empty())
}

fn pairs(query: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn respond(world: &Arc<World>, canned: Canned) -> Response {
    let mut response = Response::builder().status(canned.status);
    for (name, value) in canned.headers {
        response = response.header(name, value);
    }
    let is_simple = matches!(canned.body.as_slice(), [Step::Send(_)]);
    let mut steps = VecDeque::from(canned.body);
    if is_simple && let Some(Step::Send(bytes)) = steps.pop_front() {
        return response.body(Body::from(bytes)).unwrap();
    }
    let guard = (world.clone(), world.stream_ended.clone().drop_guard());
    let body = stream::unfold((steps, guard), |(mut steps, guard)| async move {
        loop {
            let piece = match steps.pop_front()? {
                Step::Send(bytes) => Ok(bytes),
                Step::Wait(time) => {
                    tokio::time::sleep(time).await;
                    continue;
                }
                Step::UntilInterrupted => {
                    guard.0.interrupted.notified().await;
                    continue;
                }
                Step::Hang => std::future::pending().await,
                Step::Cut => {
                    // What was sent before must be on its way.
                    tokio::task::yield_now().await;
                    Err(io::Error::other("cut"))
                }
                Step::Forever(bytes) => {
                    steps.push_front(Step::Forever(bytes.clone()));
                    Ok(bytes)
                }
            };
            return Some((piece, (steps, guard)));
        }
    });
    response.body(Body::from_stream(body)).unwrap()
}

/// Accepts connections whose answers can be lost.
struct Lossy {
    listener: TcpListener,
    is_losing: Arc<AtomicBool>,
}

impl axum::serve::Listener for Lossy {
    type Io = LossyStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LossyStream, SocketAddr) {
        let (stream, address) = self.listener.accept().await.unwrap();
        (LossyStream { stream, is_losing: self.is_losing.clone() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

struct LossyStream {
    stream: TcpStream,
    is_losing: Arc<AtomicBool>,
}

impl AsyncRead for LossyStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for LossyStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_losing.swap(false, Ordering::SeqCst) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A sink that waits at each piece until it is let through.
pub struct SlowSink {
    pub permits: Arc<tokio::sync::Semaphore>,
    pub taken: usize,
}

#[async_trait::async_trait]
impl OutputSink for SlowSink {
    async fn output(&mut self, _: OutputStream, text: &str) {
        self.permits.acquire().await.unwrap().forget();
        self.taken += text.len();
    }
}
