//! A fake server that speaks Lifecycle and execd on one port, records what it is sent, and breaks when told to.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method};
use sandbox::opensandbox::{
    Client, Connection, CreateSandbox, OutputSink, OutputStream, OutputWire, Sandbox, SandboxLabel, Timeouts,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(test)]
mod answers;
#[cfg(test)]
mod lossy;
#[cfg(test)]
mod shell;

use answers::{execd, lifecycle, upload};
use lossy::Lossy;

pub const KEY: &str = "k3y-that-must-not-leak";
pub const TOKEN: &str = "t0ken-of-this-sandbox";

/// What a stream does next.
#[derive(Clone)]
pub enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Until the command is interrupted.
    UntilInterrupted,
    /// Until somebody asked for the status of a command.
    UntilAsked,
    Hang,
    Cut,
    /// These bytes again and again.
    Forever(Bytes),
    /// Runs shell text on this machine, and sends its output and end as the older wire does.
    Run(String),
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
    /// Commands are run on this machine, where the files of their output are.
    pub runs_commands: AtomicBool,
    pub files: Mutex<BTreeMap<String, Bytes>>,
    /// Answers that come before the ordinary one, by method and end of path.
    pub overrides: Mutex<VecDeque<(Method, &'static str, Canned)>>,
    /// Requests to paths that end so are obeyed, but their answer is lost.
    pub lose_reply_to: Mutex<Option<&'static str>>,
    is_losing: Arc<AtomicBool>,
    interrupted: Notify,
    asked: Notify,
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
            runs_commands: AtomicBool::new(false),
            files: Mutex::default(),
            overrides: Mutex::default(),
            lose_reply_to: Mutex::default(),
            is_losing: is_losing.clone(),
            interrupted: Notify::new(),
            asked: Notify::new(),
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

const PROBE: &str = r"printf 'a\n\nb'";

fn is_probe(body: &Value) -> bool {
    body["command"] == PROBE || body["argv"][2] == PROBE
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
    if seen.path.contains("/command/status/") {
        world.asked.notify_one();
    }
    if world.lose_reply_to.lock().unwrap().is_some_and(|end| seen.path.ends_with(end)) {
        world.is_losing.store(true, Ordering::SeqCst);
    }
    if let Some(canned) = take_override(&world, &seen) {
        return respond(&world, canned);
    }
    if is_upload {
        return upload(&world, Request::from_parts(parts, Body::from(body))).await;
    }
    if seen.path == "/version" {
        return respond(&world, canned(200, r#"{"version":"1.1.1"}"#));
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
                Step::UntilAsked => {
                    guard.0.asked.notified().await;
                    continue;
                }
                Step::Run(text) => Ok(shell::run(&text).await),
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
