//! Bash sessions: runs that share working directory and exported variables.
//!
//! Rule: a session is no living shell. Each run starts a fresh bash that restores the state that the former left in
//! the sandbox's home, so what a run says about its own end is not to be trusted further than the sandbox itself.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{self, parse, timeout};
use super::stream::OnDisconnect;
use crate::local::bwrap_args::HOME;
use crate::local::error::ApiError;
use crate::local::ids;
use crate::local::protocol::{Access, Execute, Program, Request};
use crate::local::sandbox::Sandbox;
use crate::local::server::Shared;

/// A run gets this long when it names no other time.
const DEFAULT_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;
const MAX_SESSIONS: usize = 256;

/// Arguments: the command, the state file, and a working directory or nothing.
const SCRIPT: &str = r#"exec 2>&1
__state=$2
[ -f "$__state" ] && . "$__state"
[ -n "$3" ] && { cd -- "$3" || exit 1; }
trap '__code=$?; { export -p; printf "cd -- %q\n" "$PWD"; } > "$__state.new" && mv -f -- "$__state.new" "$__state"; exit $__code' EXIT
eval "$1"
"#;

/// The sessions of one sandbox: id and the directory that the first run starts in.
#[derive(Default)]
pub struct Sessions(Mutex<HashMap<String, Option<String>>>);

impl Sessions {
    /// Closes a session; false when there is none of that id.
    pub fn remove(&self, id: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id).is_some()
    }

    fn get(&self, id: &str) -> Option<Option<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn add(&self, id: String, cwd: Option<String>) -> Result<(), ApiError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_SESSIONS {
            return Err(ApiError::runtime(format!("more than {MAX_SESSIONS} sessions")));
        }
        all.insert(id, cwd);
        Ok(())
    }
}

#[derive(Debug, Default, Deserialize)]
struct CreateRequest {
    cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RunRequest {
    #[serde(default)]
    command: String,
    cwd: Option<String>,
    timeout: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub struct SessionPath {
    session: String,
}

pub async fn create(Extension(sandbox): Extension<Arc<Sandbox>>, body: Bytes) -> Result<Json<Value>, ApiError> {
    let request: CreateRequest = if body.is_empty() { CreateRequest::default() } else { parse(&body)? };
    let cwd = request.cwd.filter(|cwd| !cwd.is_empty());
    if let Some(cwd) = &cwd {
        let entries = [(cwd.clone(), Access::default())].into();
        sandbox.channel.ask(&Request::MakeDirectories { entries }).await?;
    }
    let id = ids::hex_id()?;
    sandbox.sessions.add(id.clone(), cwd)?;
    Ok(Json(json!({ "session_id": id })))
}

pub async fn run(
    State(shared): State<Arc<Shared>>,
    Extension(sandbox): Extension<Arc<Sandbox>>,
    Path(path): Path<SessionPath>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let first_cwd = sandbox.sessions.get(&path.session).ok_or_else(|| unknown(&path.session))?;
    let request: RunRequest = parse(&body)?;
    if request.command.is_empty() || request.command.contains('\0') {
        return Err(ApiError::bad_body("command must not be empty or hold NUL"));
    }
    let state = format!("{HOME}/.vitrine-session-{}", path.session);
    let cwd = request.cwd.unwrap_or_default();
    let argv = ["/bin/bash", "--noprofile", "--norc", "-c", SCRIPT, "bash", &request.command, &state, &cwd];
    let execute = Execute {
        program: Program::Argv(argv.map(str::to_owned).to_vec()),
        cwd: first_cwd,
        create_cwd: true,
        env: BTreeMap::new(),
        timeout_ms: Some(timeout(request.timeout)?.unwrap_or(DEFAULT_TIMEOUT_MS)),
        end_group_with_leader: false,
    };
    let tasks = &shared.registry.tasks;
    command::foreground(&sandbox, tasks, execute, request.command, Some(path.session), OnDisconnect::Kill).await
}

pub async fn close(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    Path(path): Path<SessionPath>,
) -> Result<StatusCode, ApiError> {
    if !sandbox.sessions.remove(&path.session) {
        return Err(unknown(&path.session));
    }
    let paths = vec![format!("{HOME}/.vitrine-session-{}", path.session)];
    sandbox.channel.ask(&Request::RemoveFiles { paths }).await?;
    Ok(StatusCode::OK)
}

fn unknown(id: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "CONTEXT_NOT_FOUND", format!("session {id} not found"))
}
