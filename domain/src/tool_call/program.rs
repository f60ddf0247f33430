//! Runs a program of a tool call: its output goes into the log while it is printed, and capped into the result.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use super::collect::Outputs;
use super::credentials::Lent;
use super::egress;
use super::model::{ToolCall, ToolCallState, ToolResult, without_nul};
use super::output::CappedOutput;
use super::printed::{WholeOutput, cut_mark, keep_raw, raw_withheld};
use crate::agent::Claim;
use crate::event::Event;
use crate::execution::StopCause;
use crate::ids::ToolCallId;
use crate::sandbox::{Exit, LiveSandbox, OutputSink, OutputStream, Program, ProgramEnd, RevokedBecause, SandboxError};

/// Bytes of output that the model gets to read: from the start and from the end.
const MODEL_HEAD_BYTES: usize = 12 * 1024;
const MODEL_TAIL_BYTES: usize = 12 * 1024;
/// Bytes of output that the log holds: from the start and from the end.
const LOG_HEAD_BYTES: usize = 256 * 1024;
const LOG_TAIL_BYTES: usize = 64 * 1024;
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a program and tells its output. The second part is what there is to be recorded with its end.
pub(super) async fn run_program(
    claim: &Claim,
    call: &ToolCall,
    program: &Program,
    sandbox: &LiveSandbox,
) -> (Result<ToolResult, SandboxError>, Outputs) {
    let timeout = time_limit(claim);
    let output = ProgramOutput::new(claim, call.id);
    let ended = run_lent(claim, call, program, timeout, sandbox, &output).await;
    let EndedOutput { text, truncated, lossy, mut outputs } = output.ended(call, 0).await;
    let end = match ended {
        Ok(end) => end,
        Err(error) => return (Err(error), outputs),
    };
    for stream in end.raw_withheld {
        outputs.warnings.push(raw_withheld(stream));
    }
    if let Some(raw) = end.raw {
        for (file, event) in keep_raw(claim, call, raw).await {
            outputs.printed.push(file);
            outputs.last_words.push(event);
        }
    }
    let result = program_result(claim, sandbox, end.exit, text, timeout);
    (Ok(ToolResult { truncated, lossy, ..result }), outputs)
}

/// Runs a program with the credentials of the profile, and tells what it tried to reach. A sandbox in which something of
/// it may still run is not used again.
pub(super) async fn run_lent(
    claim: &Claim,
    call: &ToolCall,
    program: &Program,
    timeout: Duration,
    sandbox: &LiveSandbox,
    output: &dyn OutputSink,
) -> Result<ProgramEnd, SandboxError> {
    let mut lent = Lent::to(claim, call, sandbox).await?;
    let (context, of_call) = (claim.call_context(), lent.sandbox.clone());
    let run = claim.ports.sandboxes.execute(&context, &of_call, program, timeout, output);
    let ended = lent.during(egress::during(claim, call.id, sandbox, run)).await;
    lent.give_back(RevokedBecause::CallEnded).await;
    if ended.as_ref().is_ok_and(|end| end.sandbox_lost) {
        claim.sandbox.forget(claim, sandbox.id).await;
    }
    ended
}

/// The time limit of a program.
pub(super) fn time_limit(claim: &Claim) -> Duration {
    let configured = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    configured.map_or(DEFAULT_TIMEOUT, |sandbox| Duration::from_millis(sandbox.profile.command_timeout_ms.into()))
}

pub(super) fn program_result(
    claim: &Claim,
    sandbox: &LiveSandbox,
    exit: Exit,
    text: String,
    timeout: Duration,
) -> ToolResult {
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
        Exit::LineTooLong => {
            let why = "stopped, since it wrote a line that is too long to be read; write such output to a file";
            ended(ToolCallState::Failed, "LINE_TOO_LONG", why.to_owned())
        }
        Exit::NotStarted(why) => ended(ToolCallState::Failed, "EXEC_FAILED", why),
        Exit::Unknown => {
            let is_over = sandbox.expires_at.is_some_and(|at| at <= claim.ports.clock.now());
            let why = if is_over {
                "the time to live of the sandbox ran out while it ran"
            } else {
                "the connection to the sandbox broke"
            };
            ended(ToolCallState::Interrupted, "INTERRUPTED", format!("{why}; the program may have run in part"))
        }
    }
}

/// Output on its way into the log and into the model's result, each capped by itself.
pub(super) struct ProgramOutput<'a> {
    claim: &'a Claim,
    id: ToolCallId,
    caps: Mutex<Caps>,
    whole: WholeOutput,
}

struct Caps {
    log: CappedOutput,
    model: CappedOutput,
    last_stream: OutputStream,
    has_begun: bool,
    /// Whether the log's head is full.
    is_beyond: bool,
    lossy: bool,
}

impl<'a> ProgramOutput<'a> {
    pub(super) fn new(claim: &'a Claim, id: ToolCallId) -> Self {
        let caps = Caps {
            log: CappedOutput::new(LOG_HEAD_BYTES, LOG_TAIL_BYTES),
            model: CappedOutput::new(MODEL_HEAD_BYTES, MODEL_TAIL_BYTES),
            last_stream: OutputStream::Stdout,
            has_begun: false,
            is_beyond: false,
            lossy: false,
        };
        Self { claim, id, caps: Mutex::new(caps), whole: WholeOutput::default() }
    }

    async fn tell(&self, stream: OutputStream, text: String, is_first: bool) {
        let event = Event::SandboxOutput { tool_call_id: self.id, stream, text };
        if self.claim.journal.delta(event, is_first).await.is_err() {
            self.claim.signal.trip(StopCause::LeaseLost);
        }
    }

    /// What there is of the output when nothing more comes. What the log's head left out is told with the call's end, and
    /// how much did not come, since nobody has kept it.
    pub(super) async fn ended(self, call: &ToolCall, dropped_bytes: u64) -> EndedOutput {
        let caps = self.caps.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (omitted_bytes, tail) = (caps.log.omitted_bytes().saturating_add(dropped_bytes), caps.log.tail());
        let mut outputs = Outputs::default();
        if omitted_bytes > 0 {
            outputs.printed.extend(self.whole.keep(self.claim, call, dropped_bytes).await);
            let artifact_id = outputs.printed.first().map(|file| file.id);
            outputs.last_words.push(Event::OutputTruncated { tool_call_id: self.id, omitted_bytes, artifact_id });
        }
        if !tail.is_empty() {
            let tool_call_id = self.id;
            outputs.last_words.push(Event::SandboxOutput { tool_call_id, stream: caps.last_stream, text: tail });
        }
        let text = caps.model.text() + &cut_mark(dropped_bytes);
        let truncated = caps.model.omitted_bytes() > 0 || dropped_bytes > 0;
        EndedOutput { text, truncated, lossy: caps.lossy, outputs }
    }

    /// Takes a piece. Returns what of it the log tells now, and whether that is the first of all.
    pub(super) async fn absorb(&self, stream: OutputStream, text: &str) -> (String, bool) {
        let cleaned = text.contains('\0').then(|| without_nul(text));
        let text = cleaned.as_deref().unwrap_or(text);
        let Taken { head, is_first, earlier } = self.take(stream, text);
        if let Some(earlier) = earlier {
            self.whole.take(self.claim, &earlier).await;
        }
        let beyond = text.get(head.len()..).unwrap_or_default();
        if !beyond.is_empty() {
            self.whole.take(self.claim, beyond).await;
        }
        (head, is_first)
    }

    /// Takes a piece into the caps.
    fn take(&self, stream: OutputStream, text: &str) -> Taken {
        let mut caps = self.caps.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        caps.lossy |= text.contains(char::REPLACEMENT_CHARACTER);
        caps.last_stream = stream;
        caps.model.push(text);
        let head = caps.log.push(text).to_owned();
        let is_first = !std::mem::replace(&mut caps.has_begun, true);
        let is_beyond = head.len() < text.len();
        let earlier =
            (is_beyond && !std::mem::replace(&mut caps.is_beyond, is_beyond)).then(|| caps.log.head().to_owned());
        Taken { head, is_first, earlier }
    }
}

/// What a piece is to the log.
struct Taken {
    /// What of it the log tells now.
    head: String,
    /// Whether it is the first of all.
    is_first: bool,
    /// The whole head of the log, when this piece is the first to go beyond it.
    earlier: Option<String>,
}

/// Output that has come to its end.
pub(super) struct EndedOutput {
    /// For the model.
    pub text: String,
    /// Whether something is left out of the text.
    pub truncated: bool,
    /// Whether it held bytes that are no UTF-8.
    pub lossy: bool,
    /// What the log's head left out.
    pub outputs: Outputs,
}

#[async_trait]
impl OutputSink for ProgramOutput<'_> {
    async fn output(&self, stream: OutputStream, text: &str) {
        let (head, is_first) = self.absorb(stream, text).await;
        if !head.is_empty() {
            self.tell(stream, head, is_first).await;
        }
    }
}
