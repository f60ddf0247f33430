//! Runs the tool calls of one reply, side by side, each to its recorded result.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;

use super::model::{ToolCall, ToolCallState, ToolResult};
use super::output::CappedOutput;
use super::plan::{Invocation, NOT_BEGUN, Planned, Todo, fill, finished_event};
use crate::agent::{Claim, Halt, checkpoint};
use crate::artifact::{Artifact, ArtifactKind, media_type, sha256_hex, store_text};
use crate::event::Event;
use crate::execution::{Change, StopCause, StopCode};
use crate::ids::{ArtifactId, ToolCallId};
use crate::loop_guard::{Outcome, with_warning};
use crate::model_call::run::millis;
use crate::sandbox::{Exit, LiveSandbox, OutputSink, OutputStream, Program, SandboxError};

/// Bytes of output that the model gets to read: from the start and from the end.
const MODEL_HEAD_BYTES: usize = 12 * 1024;
const MODEL_TAIL_BYTES: usize = 12 * 1024;
/// Bytes of output that the log holds: from the start and from the end.
const LOG_HEAD_BYTES: usize = 256 * 1024;
const LOG_TAIL_BYTES: usize = 64 * 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs the calls and returns what the model gets to read of each, in the order of the reply.
///
/// Every call is driven to its recorded end, also when another one fails: no call future is dropped.
pub async fn run_all(claim: &Claim, planned: Vec<Planned>) -> Result<Vec<(ToolCallId, String)>, Halt> {
    let ended = join_all(planned.into_iter().map(|planned| one(claim, planned))).await;
    ended.into_iter().collect()
}

async fn one(claim: &Claim, planned: Planned) -> Result<(ToolCallId, String), Halt> {
    let Planned { call, todo, warning, arguments } = planned;
    // The model knows the call by the id that it was asked under, which is also its idempotency key.
    let asked_as = call.idempotency_key.parse().unwrap_or(call.id);
    let invocation = match todo {
        Todo::Done(text) => return Ok((asked_as, text)),
        Todo::Do(invocation) => invocation,
    };
    let began = claim.ports.clock.monotonic();
    let (mut result, halt, outputs) = match invoke(claim, &call, &invocation).await {
        Ok((result, outputs)) => (result, None, outputs),
        Err(Refusal { result, halt }) => (result, halt, Outputs::default()),
    };
    if let Some(warning) = warning {
        result.text = with_warning(&result.text, &warning);
    }
    let duration = claim.ports.clock.monotonic().saturating_sub(began);
    let code = result.error.as_ref().map(|(code, _)| code.as_str());
    let outcome = Outcome::of(result.state, code, &result.text, &arguments);
    let limit = finish(claim, call, Ended { result: &result, outcome, outputs, duration }).await?;
    match halt.or(limit) {
        Some(halt) => Err(halt),
        None => Ok((asked_as, result.text)),
    }
}

/// A call that did not get as far as a result of its own.
struct Refusal {
    result: ToolResult,
    halt: Option<Halt>,
}

impl Refusal {
    fn of(state: ToolCallState, code: &str, message: String, halt: Option<Halt>) -> Self {
        Self { result: ToolResult::ended(state, code, message), halt }
    }
}

type Invoked = (ToolResult, Outputs);

/// What a call left in `outputs/`.
#[derive(Default)]
struct Outputs {
    files: Vec<(Artifact, Bytes)>,
    /// Say what of it could not be kept.
    warnings: Vec<Event>,
}

async fn invoke(claim: &Claim, call: &ToolCall, invocation: &Invocation) -> Result<Invoked, Refusal> {
    if let Err(halt) = claim.check_stop() {
        return Err(not_begun(halt));
    }
    if !invocation.needs_sandbox() {
        return Ok((ToolResult::succeeded("Noted."), Outputs::default()));
    }
    let (sandbox, note) = claim.sandbox.get_or_create(claim).await.map_err(no_sandbox)?;
    let (mut result, outputs) = invoke_in(claim, call, invocation, &sandbox).await;
    if let Some(note) = note {
        result.text = format!("{}\n{note}", result.text);
    }
    Ok((result, outputs))
}

async fn invoke_in(claim: &Claim, call: &ToolCall, invocation: &Invocation, sandbox: &LiveSandbox) -> Invoked {
    let outcome = use_sandbox(claim, call, invocation, sandbox).await;
    let mut outputs = Outputs::default();
    match &outcome {
        Ok(_) => outputs = collect(claim, call, sandbox).await,
        Err(error) if error.sandbox_lost => claim.sandbox.forget(sandbox.id).await,
        Err(_) => {}
    }
    let is_live = outcome.as_ref().map_or_else(|error| !error.sandbox_lost, |_| true);
    if is_live && invocation.changes_workspace() {
        outputs.warnings.extend(checkpoint::take(claim, sandbox).await);
    }
    let failed = |error: SandboxError| ToolResult::ended(ToolCallState::Failed, error.code, error.message);
    (outcome.unwrap_or_else(failed), outputs)
}

/// A call that did not begin: the next worker makes it where the execution goes on, and nobody where it ends.
fn not_begun(halt: Halt) -> Refusal {
    let (state, code, message) = match &halt {
        Halt::Drain | Halt::Journal(_) | Halt::Signal(StopCause::LeaseLost) => {
            (ToolCallState::Lost, NOT_BEGUN, "the worker stopped before this began")
        }
        Halt::Stop { .. } | Halt::Limit(_) | Halt::Signal(_) => {
            (ToolCallState::Cancelled, "CANCELLED", "the execution was stopped")
        }
    };
    Refusal::of(state, code, message.to_owned(), Some(halt))
}

fn no_sandbox(halt: Halt) -> Refusal {
    let (code, message) = match &halt {
        Halt::Stop { code: StopCode::AccessDenied, message, .. } => ("ACCESS_DENIED", message.clone()),
        Halt::Stop { message, .. } => ("SANDBOX_UNAVAILABLE", message.clone()),
        Halt::Limit(_) | Halt::Signal(_) | Halt::Drain | Halt::Journal(_) => return not_begun(halt),
    };
    Refusal::of(ToolCallState::Failed, code, message, Some(halt))
}

async fn use_sandbox(
    claim: &Claim,
    call: &ToolCall,
    invocation: &Invocation,
    sandbox: &LiveSandbox,
) -> Result<ToolResult, SandboxError> {
    let context = claim.call_context();
    let sandboxes = &claim.ports.sandboxes;
    match invocation {
        Invocation::Run(program) => run_program(claim, call, program, sandbox).await,
        Invocation::WriteFile { path, content } => {
            let size = content.len();
            sandboxes.upload(&context, sandbox, path, Bytes::from(content.clone())).await?;
            Ok(ToolResult::succeeded(format!("Wrote {size} bytes to {path}.")))
        }
        Invocation::ReadFile { path, offset, limit } => {
            match sandboxes.download(&context, sandbox, path, *offset, *limit).await? {
                Some(bytes) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let lossy = text.contains(char::REPLACEMENT_CHARACTER);
                    Ok(ToolResult { lossy, ..ToolResult::succeeded(text) })
                }
                None => {
                    Ok(ToolResult::ended(ToolCallState::Failed, "FILE_NOT_FOUND", format!("there is no file {path}")))
                }
            }
        }
        Invocation::Note => Ok(ToolResult::succeeded("Noted.")),
    }
}

async fn run_program(
    claim: &Claim,
    call: &ToolCall,
    program: &Program,
    sandbox: &LiveSandbox,
) -> Result<ToolResult, SandboxError> {
    let configured = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    let timeout =
        configured.map_or(DEFAULT_TIMEOUT, |sandbox| Duration::from_millis(sandbox.profile.command_timeout_ms.into()));
    let output = ProgramOutput::new(claim, call.id);
    let exit = claim.ports.sandboxes.execute(&claim.call_context(), sandbox, program, timeout, &output).await;
    let (text, truncated, lossy) = output.end().await;
    Ok(ToolResult { truncated, lossy, ..program_result(exit?, text, timeout) })
}

fn program_result(exit: Exit, text: String, timeout: Duration) -> ToolResult {
    let ended = |state, code: &str, message: String| {
        let result = ToolResult::ended(state, code, message);
        ToolResult { text: format!("{text}\n[{}]", result.text), ..result }
    };
    match exit {
        Exit::Code(0) if text.is_empty() => ToolResult { exit_code: Some(0), ..ToolResult::succeeded("(no output)") },
        Exit::Code(0) => ToolResult { exit_code: Some(0), ..ToolResult::succeeded(text) },
        Exit::Code(code) => {
            let result = ended(ToolCallState::Failed, "EXIT_CODE", format!("exit code {code}"));
            ToolResult { exit_code: Some(code), ..result }
        }
        Exit::Killed => ended(ToolCallState::Failed, "KILLED", "killed by a signal or for want of memory".to_owned()),
        Exit::TimedOut => ended(
            ToolCallState::Failed,
            "TIMED_OUT",
            format!("stopped after {} ms, its time limit", timeout.as_millis()),
        ),
        Exit::Interrupted => ended(ToolCallState::Cancelled, "CANCELLED", "stopped with the execution".to_owned()),
        Exit::NotStarted(why) => ended(ToolCallState::Failed, "EXEC_FAILED", why),
        Exit::Unknown => ended(
            ToolCallState::Interrupted,
            "INTERRUPTED",
            "the connection to the sandbox broke; the program may have run in part".to_owned(),
        ),
    }
}

/// Output on its way into the log and into the model's result, each capped by itself.
struct ProgramOutput<'a> {
    claim: &'a Claim,
    id: ToolCallId,
    caps: Mutex<Caps>,
}

struct Caps {
    log: CappedOutput,
    model: CappedOutput,
    last_stream: OutputStream,
    has_begun: bool,
    lossy: bool,
}

impl<'a> ProgramOutput<'a> {
    fn new(claim: &'a Claim, id: ToolCallId) -> Self {
        let caps = Caps {
            log: CappedOutput::new(LOG_HEAD_BYTES, LOG_TAIL_BYTES),
            model: CappedOutput::new(MODEL_HEAD_BYTES, MODEL_TAIL_BYTES),
            last_stream: OutputStream::Stdout,
            has_begun: false,
            lossy: false,
        };
        Self { claim, id, caps: Mutex::new(caps) }
    }

    async fn tell(&self, stream: OutputStream, text: String, is_first: bool) {
        let event = Event::SandboxOutput { tool_call_id: self.id, stream, text };
        if self.claim.journal.delta(event, is_first).await.is_err() {
            self.claim.signal.trip(StopCause::LeaseLost);
        }
    }

    /// The model's text, and whether it is truncated or lossy. What the log's head left out is told as its tail.
    async fn end(self) -> (String, bool, bool) {
        let (tail, omitted_bytes, stream, ended) = {
            let caps = self.caps.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let ended = (caps.model.text(), caps.model.omitted_bytes() > 0, caps.lossy);
            (caps.log.tail(), caps.log.omitted_bytes(), caps.last_stream, ended)
        };
        if omitted_bytes > 0 {
            let event = Event::OutputTruncated { tool_call_id: self.id, omitted_bytes, artifact_id: None };
            if self.claim.journal.delta(event, false).await.is_err() {
                self.claim.signal.trip(StopCause::LeaseLost);
            }
        }
        if !tail.is_empty() {
            self.tell(stream, tail, false).await;
        }
        ended
    }
}

#[async_trait]
impl OutputSink for ProgramOutput<'_> {
    async fn output(&self, stream: OutputStream, text: &str) {
        let (head, is_first) = {
            let mut caps = self.caps.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            caps.lossy |= text.contains(char::REPLACEMENT_CHARACTER);
            caps.last_stream = stream;
            caps.model.push(text);
            let head = caps.log.push(text).to_owned();
            let is_first = !std::mem::replace(&mut caps.has_begun, true);
            (head, is_first)
        };
        if !head.is_empty() {
            self.tell(stream, head, is_first).await;
        }
    }
}

/// New and changed files in `outputs/`. A collection that fails leaves the tool's result as it is, with a warning.
async fn collect(claim: &Claim, call: &ToolCall, sandbox: &LiveSandbox) -> Outputs {
    let found = match claim.ports.sandboxes.collect(&claim.call_context(), sandbox).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(execution.id = %claim.execution.id, error.code = error.code, "outputs were not collected");
            let message = format!("The files in outputs/ could not be collected. {error}");
            return Outputs { files: Vec::new(), warnings: vec![warning_event("OUTPUTS_NOT_COLLECTED", message)] };
        }
    };
    let artifact = |name: String, bytes: &Bytes| Artifact {
        id: ArtifactId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        execution_id: claim.execution.id,
        kind: ArtifactKind::Output,
        media_type: media_type(&name).to_owned(),
        byte_size: bytes.len() as u64,
        sha256: sha256_hex(bytes),
        tool_call_id: Some(call.id),
        created_at: claim.ports.clock.now(),
        name,
    };
    let left_out = found.left_out;
    Outputs {
        files: found
            .files
            .into_iter()
            .map(|file| (artifact(file.name, &file.bytes), file.bytes))
            .filter(|(artifact, _)| !claim.sandbox.has_collected(&artifact.name, &artifact.sha256))
            .collect(),
        warnings: Vec::from_iter((left_out > 0).then(|| {
            let message =
                format!("Left out of the artifacts, being too many or too large: {left_out} files in outputs/.");
            warning_event("OUTPUTS_LEFT_OUT", message)
        })),
    }
}

fn warning_event(code: &str, message: String) -> Event {
    Event::WarningRaised { code: code.to_owned(), message }
}

/// How a call ended, and what it left.
struct Ended<'a> {
    result: &'a ToolResult,
    /// What the loop guard compares.
    outcome: Option<Outcome>,
    outputs: Outputs,
    duration: Duration,
}

/// Records the result, its files and their events in one commit. Names the limit when a tool failed too often.
async fn finish(claim: &Claim, mut call: ToolCall, ended: Ended<'_>) -> Result<Option<Halt>, Halt> {
    let Ended { result, outcome, outputs, duration } = ended;
    let stored = store_text(&*claim.ports.artifacts, claim.scope(), result.text.clone()).await?;
    fill(&mut call, result, stored);
    call.ended_at = Some(claim.ports.clock.now());
    call.sandbox_id = claim.sandbox.current().await;
    let mut rows = Vec::with_capacity(outputs.files.len());
    for (artifact, bytes) in outputs.files {
        claim.ports.artifacts.put(claim.scope(), bytes).await?;
        rows.push(artifact);
    }
    let mut too_many_errors = None;
    claim
        .record(|moving| {
            if let Some(outcome) = outcome {
                moving.guard.note(call.iteration, call.ordinal, outcome);
            }
            if result.state == ToolCallState::Failed {
                let errors = moving.tool_errors.entry(call.tool.clone()).or_default();
                *errors += 1;
                let limit = claim.execution.limits.max_errors_per_tool;
                too_many_errors = limit.filter(|most| *errors >= *most);
            }
            let mut events: Vec<_> = rows.iter().map(created_event).chain(outputs.warnings).collect();
            events.push(finished_event(&call, &result.text, millis(duration)));
            let mut changes: Vec<_> = rows.into_iter().map(Change::AddArtifact).collect();
            changes.extend(claim.sandbox.unsaved_checkpoint(call.iteration));
            changes.push(Change::SaveToolCall(Box::new(call)));
            (changes, events)
        })
        .await?;
    Ok(too_many_errors.map(|_| Halt::Limit(crate::budget::Limit::ErrorsPerTool)))
}

fn created_event(artifact: &Artifact) -> Event {
    Event::ArtifactCreated {
        artifact_id: artifact.id,
        name: artifact.name.clone(),
        media_type: artifact.media_type.clone(),
        byte_size: artifact.byte_size,
        sha256: artifact.sha256.clone(),
    }
}
