//! The routes below `/command`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path as UrlPath, Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::log::{self, Log};
use super::output::Wire;
use super::raw::RawBytes;
use super::records::{Ending, Record};
use super::stream::{self, OnDisconnect, Output, Source, Stream};
use crate::local::bwrap_args::{SANDBOX_GROUP_ID, SANDBOX_USER_ID};
use crate::local::channel::output_pipe;
use crate::local::error::ApiError;
use crate::local::protocol::{self, Execute, Failure, FailureKind, FollowUp, Program, Reply, Request};
use crate::local::sandbox::Sandbox;
use crate::local::server::Shared;
use crate::local::{clock, ids};

const CURSOR_HEADER: &str = "execd-commands-tail-cursor";
/// The extension by which a status says how many bytes of a background command's output its log does not have.
const DROPPED_BYTES: &str = "vitrine.dropped_bytes";
/// Encoded chunks that may wait for a reader.
pub const STREAM_DEPTH: usize = 2;

#[derive(Debug, Deserialize)]
pub struct RunRequest {
    #[serde(default)]
    pub command: String,
    pub argv: Option<Vec<String>>,
    pub cwd: Option<String>,
    #[serde(default)]
    pub background: bool,
    pub timeout: Option<i64>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub envs: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
pub struct CommandPath {
    command: String,
}

#[derive(Debug, Deserialize)]
pub struct RawPath {
    command: String,
    stream: String,
}

#[derive(Debug, Deserialize)]
pub struct Interrupt {
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Cursor {
    cursor: Option<String>,
}

pub async fn run(
    State(shared): State<Arc<Shared>>,
    Extension(sandbox): Extension<Arc<Sandbox>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let request: RunRequest = parse(&body)?;
    let program = program(&request)?;
    check_user(&request)?;
    let execute = Execute {
        program: program.clone(),
        cwd: request.cwd,
        create_cwd: false,
        env: environment(request.envs.unwrap_or_default())?,
        timeout_ms: timeout(request.timeout)?,
        end_group_with_leader: request.background,
    };
    let content = content(&program);
    let tasks = &shared.registry.tasks;
    if !request.background {
        return foreground(&sandbox, tasks, execute, content, None, OnDisconnect::GoOn).await;
    }
    let record = background(&sandbox, tasks, execute, content, ids::hex_id()?).await?;
    let mut frames = stream::opening(&record.id);
    // Here the event means only that the command has started.
    frames.extend(stream::closing(&record, Ending::Exited(0)));
    let (client, body) = mpsc::channel(1);
    let _ = client.send(Ok(frames.into())).await;
    Ok(stream::response(body))
}

/// Starts the entrypoint of a sandbox as a background command with the id `entrypoint`.
pub async fn start_entrypoint(sandbox: &Arc<Sandbox>, tasks: &TaskTracker, program: Program) -> Result<(), ApiError> {
    let content = content(&program);
    let execute = Execute {
        program,
        cwd: None,
        create_cwd: false,
        env: BTreeMap::new(),
        timeout_ms: None,
        end_group_with_leader: false,
    };
    background(sandbox, tasks, execute, content, "entrypoint".to_owned()).await.map(drop)
}

/// Runs a command whose output is the answer. A session's stream names the session in its first event.
pub async fn foreground(
    sandbox: &Arc<Sandbox>,
    tasks: &TaskTracker,
    execute: Execute,
    content: String,
    session: Option<String>,
    on_disconnect: OnDisconnect,
) -> Result<Response, ApiError> {
    let ((stdout, out), (stderr, err)) = (output_pipe()?, output_pipe()?);
    let streams = [(stdout, RawBytes::begin()?), (stderr, RawBytes::begin()?)];
    let (reader, writer) = start(sandbox, execute, [out, err]).await?.into_split();
    let record = Arc::new(Record::new(ids::hex_id()?, content, None, writer));
    sandbox.commands.add(Arc::clone(&record));
    tasks.spawn(stream::watch(Arc::clone(sandbox), Arc::clone(&record), reader));
    let (client, body) = mpsc::channel(STREAM_DEPTH);
    let output = Output::new(streams, sandbox.profile.wire);
    let name = session.unwrap_or_else(|| record.id.clone());
    let reader = Stream::new(client, Arc::clone(&record), on_disconnect, Arc::clone(sandbox));
    tasks.spawn(stream::pump(record, output, name, reader));
    Ok(stream::response(body))
}

async fn background(
    sandbox: &Arc<Sandbox>,
    tasks: &TaskTracker,
    execute: Execute,
    content: String,
    id: String,
) -> Result<Arc<Record>, ApiError> {
    let log = Log::create(&sandbox.directory, &id)?;
    // One pipe for both streams keeps the order in which the command wrote.
    let (output, writer) = output_pipe()?;
    let (reader, writer) = start(sandbox, execute, [writer.try_clone()?, writer]).await?.into_split();
    let record = Arc::new(Record::new(id, content, Some(log), writer));
    sandbox.commands.add(Arc::clone(&record));
    tasks.spawn(stream::watch(Arc::clone(sandbox), Arc::clone(&record), reader));
    tasks.spawn(stream::store(Arc::clone(sandbox), Arc::clone(&record), Source::new("stdout", output, Wire::Kept)));
    Ok(record)
}

/// Hands the command over and returns when its process exists.
async fn start(sandbox: &Sandbox, execute: Execute, pipes: [OwnedFd; 2]) -> Result<UnixStream, ApiError> {
    let mut operation = sandbox.channel.execute(&Request::Execute(execute), &pipes).await?;
    match protocol::receive::<Reply>(&mut operation).await? {
        Reply::Started { .. } => Ok(operation),
        Reply::Failed(Failure { kind: FailureKind::Spawn, message }) => Err(ApiError::runtime(message)),
        Reply::Failed(failure) => Err(ApiError::from_failure(failure)),
        Reply::Exited(_) | Reply::Done { .. } => Err(ApiError::runtime("unexpected answer")),
    }
}

pub async fn interrupt(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    Query(query): Query<Interrupt>,
) -> Result<StatusCode, ApiError> {
    let id = query.id.filter(|id| !id.is_empty()).ok_or_else(|| ApiError::missing_query("id"))?;
    if sandbox.sessions.remove(&id) {
        return Ok(StatusCode::OK);
    }
    let record = sandbox.commands.get(&id).ok_or_else(|| ApiError::runtime("no such session"))?;
    if record.finished().is_some() {
        return Err(ApiError::runtime(format!("{id} is not running")));
    }
    record.say(FollowUp::Interrupt).await;
    record.over().await;
    Ok(StatusCode::OK)
}

pub fn status(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    UrlPath(path): UrlPath<CommandPath>,
) -> Result<Json<Value>, ApiError> {
    let record = sandbox.commands.get(&path.command).ok_or_else(|| {
        ApiError::new(StatusCode::NOT_FOUND, "INVALID_REQUEST_BODY", format!("command not found: {}", path.command))
    })?;
    let mut status = Map::new();
    status.insert("id".to_owned(), json!(record.id));
    status.insert("content".to_owned(), json!(record.content));
    status.insert("started_at".to_owned(), json!(clock::text(record.started_at)));
    let finished = record.finished_and_logged();
    status.insert("running".to_owned(), json!(finished.is_none()));
    if let Some(dropped) = record.log.as_ref().map(Log::dropped).filter(|dropped| *dropped > 0) {
        status.insert(DROPPED_BYTES.to_owned(), json!(dropped));
    }
    if let Some(finished) = finished {
        status.insert("exit_code".to_owned(), json!(finished.ending.exit_code()));
        status.insert("finished_at".to_owned(), json!(clock::text(finished.at)));
        if finished.ending != Ending::Exited(0) {
            status.insert("error".to_owned(), json!(finished.ending.describe()));
        }
    }
    Ok(Json(Value::Object(status)))
}

pub async fn logs(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    UrlPath(path): UrlPath<CommandPath>,
    Query(query): Query<Cursor>,
) -> Result<Response, ApiError> {
    let record = sandbox.commands.get(&path.command).filter(|record| record.log.is_some());
    let record = record.ok_or_else(|| ApiError::bad_body(format!("no background command {}", path.command)))?;
    let cursor = query.cursor.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    let cursor = u64::try_from(cursor).map_err(|_| ApiError::bad_body("the cursor must not be negative"))?;
    let read = tokio::task::spawn_blocking(move || record.log.as_ref().map(|log| log.read(cursor)));
    let (content, next) = read.await.map_err(|error| ApiError::runtime(error.to_string()))?.unwrap_or_default();
    let mut response = ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], content).into_response();
    response.headers_mut().insert(CURSOR_HEADER, HeaderValue::from(next));
    Ok(response)
}

/// The bytes that a foreground command wrote to a stream, where its text lost something; once.
pub async fn raw_output(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    UrlPath(path): UrlPath<RawPath>,
) -> Result<Response, ApiError> {
    let stream = ["stdout", "stderr"].iter().position(|name| *name == path.stream);
    let file = stream.and_then(|stream| sandbox.raw_output.take(&path.command, stream));
    let file = file.ok_or_else(|| ApiError::bad_body(format!("no raw output of {}", path.command)))?;
    let read = tokio::task::spawn_blocking(move || log::read(&file, 0));
    let (content, _) = read.await.map_err(|error| ApiError::runtime(error.to_string()))?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], content).into_response())
}

fn program(request: &RunRequest) -> Result<Program, ApiError> {
    let has_nul = |text: &String| text.contains('\0');
    match (&request.argv, request.command.is_empty()) {
        (None, false) if has_nul(&request.command) => Err(ApiError::bad_body("command holds NUL")),
        (None, false) => Ok(Program::Shell(request.command.clone())),
        (Some(argv), true) if argv.first().is_none_or(String::is_empty) || argv.iter().any(has_nul) => {
            Err(ApiError::bad_body("argv must begin with a program and hold no NUL"))
        }
        (Some(argv), true) => Ok(Program::Argv(argv.clone())),
        _ => Err(ApiError::bad_body("exactly one of command and argv is required")),
    }
}

fn content(program: &Program) -> String {
    match program {
        Program::Shell(text) => text.clone(),
        Program::Argv(argv) => argv.join(" "),
    }
}

/// A sandbox has one user, and its commands run as that one.
fn check_user(request: &RunRequest) -> Result<(), ApiError> {
    if request.gid.is_some() && request.uid.is_none() {
        return Err(ApiError::bad_body("gid needs uid"));
    }
    let is_other = |given: Option<u32>, own| given.is_some_and(|id| id != own);
    if is_other(request.uid, SANDBOX_USER_ID) || is_other(request.gid, SANDBOX_GROUP_ID) {
        return Err(ApiError::bad_body(format!("commands run as uid {SANDBOX_USER_ID} and no other")));
    }
    Ok(())
}

pub fn environment(given: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, ApiError> {
    let is_bad =
        |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    if given.iter().any(is_bad) {
        return Err(ApiError::bad_body("envs: a name or value holds a character that it must not"));
    }
    Ok(given)
}

pub fn timeout(given: Option<i64>) -> Result<Option<u64>, ApiError> {
    let given = u64::try_from(given.unwrap_or(0)).map_err(|_| ApiError::bad_body("timeout must not be negative"))?;
    // Ten years are no limit, and an instant that far away still exists.
    Ok((given > 0).then(|| given.min(315_360_000_000)))
}

/// Reads a JSON body whatever its content type says.
pub fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_body(format!("invalid JSON or wrong type at line {} column {}", error.line(), error.column()))
    })
}
