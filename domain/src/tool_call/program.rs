//! Runs a program of a tool call: its output goes into the log while it is printed, and capped into the result.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use super::credentials::Lent;
use super::egress;
use super::model::{ToolCall, ToolCallState, ToolResult};
use super::output::CappedOutput;
use crate::agent::Claim;
use crate::event::Event;
use crate::execution::StopCause;
use crate::ids::ToolCallId;
use crate::sandbox::{Exit, LiveSandbox, OutputSink, OutputStream, Program, RevokedBecause, SandboxError};

/// Bytes of output that the model gets to read: from the start and from the end.
const MODEL_HEAD_BYTES: usize = 12 * 1024;
const MODEL_TAIL_BYTES: usize = 12 * 1024;
/// Bytes of output that the log holds: from the start and from the end.
const LOG_HEAD_BYTES: usize = 256 * 1024;
const LOG_TAIL_BYTES: usize = 64 * 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

pub(super) async fn run_program(
    claim: &Claim,
    call: &ToolCall,
    program: &Program,
    sandbox: &LiveSandbox,
) -> Result<ToolResult, SandboxError> {
    let configured = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    let timeout =
        configured.map_or(DEFAULT_TIMEOUT, |sandbox| Duration::from_millis(sandbox.profile.command_timeout_ms.into()));
    let output = ProgramOutput::new(claim, call.id);
    let mut lent = Lent::to(claim, call, sandbox).await?;
    let (context, of_call) = (claim.call_context(), lent.sandbox.clone());
    let run = claim.ports.sandboxes.execute(&context, &of_call, program, timeout, &output);
    let exit = lent.during(egress::during(claim, call.id, sandbox, run)).await;
    lent.give_back(RevokedBecause::CallEnded).await;
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
