//! Programs with a long time limit: they run as background commands of their sandbox and are followed from a cursor.
//!
//! 1. The row has the server's id of the command before a byte of its output is read.
//! 2. Each piece is told together with the cursor behind it, in one transaction. What belongs to the end is written with
//!    the end.
//! 3. A claim that loses the execution, or gives it back, lets go of the command. The next one reads the output from its
//!    first byte, for the result needs all of it, and tells the log what lies behind the cursor.
//! 4. A command is stopped only by a claim that still holds the execution; else somebody else follows it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{Either, select};
use tokio_util::sync::CancellationToken;

use super::collect::Outputs;
use super::egress;
use super::invocation::Invocation;
use super::model::{ToolCall, ToolResult};
use super::program::{EndedOutput, ProgramOutput, program_result, time_limit};
use super::run::{Invoked, Unfinished, conclude, no_sandbox, not_begun};
use crate::agent::{Claim, Halt, NoSandbox};
use crate::event::Event;
use crate::execution::{CallContext, Change, StopCause};
use crate::resource::SandboxTier;
use crate::sandbox::{
    BackgroundCommand, CommandPlace, Exit, Followed, LONGEST_STREAMED, LiveSandbox, OutputSink, OutputStream, Program,
    ProgramEnd, SandboxError, Setting, Start,
};

/// How long a server may be late with its own time limit.
const OVERDUE: Duration = Duration::from_secs(15);

/// A program that runs in the background, and its time limit.
pub(super) fn long_program<'a>(claim: &Claim, invocation: &'a Invocation) -> Option<(&'a Program, Duration)> {
    let limit = time_limit(claim);
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    // What is lent to a program is taken away by the worker that lent it.
    if pinned.is_some_and(|pinned| !pinned.profile.credentials.is_empty()) {
        return None;
    }
    invocation.program().filter(|_| limit > LONGEST_STREAMED).map(|program| (program, limit))
}

/// Starts a program in the background and follows it to its end.
pub(super) async fn begin(
    claim: &Claim,
    call: &ToolCall,
    program: &Program,
    limit: Duration,
    sandbox: &LiveSandbox,
) -> Result<Invoked, Unfinished> {
    let context = claim.call_context();
    let limit = limit.min(context.time_left);
    let id = match claim.ports.sandboxes.start(&context, &of_call(call, sandbox), program, limit).await {
        Ok(Start::Started(id)) => id,
        Ok(Start::NotStarted(why)) => {
            let result = program_result(claim, sandbox, Exit::NotStarted(why), String::new(), limit);
            return Ok((result, Outputs::default()));
        }
        Err(error) => return Ok(conclude(claim, call, sandbox, true, (Err(error), Outputs::default())).await),
    };
    let limit_ms = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX);
    let command = BackgroundCommand { id, cursor: 0, limit_ms };
    let place = CommandPlace { call: call.id, sandbox: sandbox.id, command: command.clone() };
    let stored = claim.record(|_| (vec![Change::SaveCommand(Box::new(place))], Vec::new())).await;
    stored.map_err(|error| Unfinished::LeftOpen(error.into()))?;
    follow(claim, call, command, sandbox).await
}

/// The sandbox as a program of this call has it.
fn of_call(call: &ToolCall, sandbox: &LiveSandbox) -> LiveSandbox {
    LiveSandbox { setting: Setting { call: Some(call.id), ..sandbox.setting.clone() }, ..sandbox.clone() }
}

/// Follows a command that an earlier claim started to its end.
pub(super) async fn go_on(claim: &Claim, call: &ToolCall, command: BackgroundCommand) -> Result<Invoked, Unfinished> {
    claim.check_stop().map_err(|halt| stopped(claim, halt, not_begun))?;
    let taken = match call.sandbox_id {
        Some(id) => {
            let taken = claim.sandbox.taken_over(claim, id).await;
            taken.map_err(|halt| stopped(claim, halt, |halt| no_sandbox(NoSandbox::Halt(halt))))?
        }
        None => None,
    };
    match taken {
        Some(sandbox) => {
            let followed = follow(claim, call, command, &sandbox).await;
            claim.sandbox.release(claim);
            followed
        }
        None => Ok((ToolResult::interrupted(&claim.sandbox.describe_loss().await), Outputs::default())),
    }
}

/// Where somebody else goes on with the execution, the command is left to them.
fn stopped(claim: &Claim, halt: Halt, end: fn(Halt) -> Unfinished) -> Unfinished {
    if halt.ends_execution() {
        return end(halt);
    }
    claim.sandbox.leave();
    Unfinished::LeftOpen(halt)
}

async fn follow(
    claim: &Claim,
    call: &ToolCall,
    command: BackgroundCommand,
    sandbox: &LiveSandbox,
) -> Result<Invoked, Unfinished> {
    let limit = command.limit();
    let sandbox = &of_call(call, sandbox);
    let output = FollowedOutput::new(claim, call, sandbox, command);
    let following = follow_or_obey(claim, sandbox, &output);
    let (followed, word) = egress::during(claim, call.id, sandbox, following).await;
    let end = match followed {
        Ok(Followed::Ended(end)) => end,
        Ok(Followed::LetGo) => {
            claim.sandbox.leave();
            return Err(Unfinished::LeftOpen(word.map_or(Halt::Drain, Word::halt)));
        }
        Err(error) => {
            tracing::warn!(execution.id = %claim.execution.id, error.code = error.code, "command was not followed to its end");
            // It may go on unseen.
            ProgramEnd { sandbox_lost: true, ..ProgramEnd::of(Exit::Unknown) }
        }
    };
    let exit = match (end.exit, word) {
        (Exit::Interrupted, Some(Word::Overdue)) => Exit::TimedOut,
        (Exit::Code(_), None) if !output.has_all() => Exit::Unknown,
        (exit, _) => exit,
    };
    if end.sandbox_lost {
        claim.sandbox.give_up(claim, sandbox.id).await.map_err(Unfinished::LeftOpen)?;
    }
    let EndedOutput { text, truncated, lossy, outputs } = output.inner.ended(call, end.dropped_bytes).await;
    let result = ToolResult { truncated, lossy, ..program_result(claim, sandbox, exit, text, limit) };
    Ok(conclude(claim, call, sandbox, true, (Ok(result), outputs)).await)
}

/// What comes from outside while a command is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Somebody else follows it.
    LetGo(StopCause),
    /// This process shuts down, and the sandbox outlives it.
    Drain,
    /// The execution is to end.
    Stop,
    /// The server did not keep the command's time limit.
    Overdue,
}

impl Word {
    const fn halt(self) -> Halt {
        match self {
            Self::LetGo(cause) => Halt::Signal(cause),
            Self::Drain | Self::Stop | Self::Overdue => Halt::Drain,
        }
    }
}

/// Follows the command, and does what comes from outside; the call to the server is driven to its end either way.
async fn follow_or_obey(
    claim: &Claim,
    sandbox: &LiveSandbox,
    output: &FollowedOutput<'_>,
) -> (Result<Followed, SandboxError>, Option<Word>) {
    let (stop, let_go) = (CancellationToken::new(), CancellationToken::new());
    let context = CallContext { cancel: stop.clone(), ..claim.call_context() };
    let command = &output.place.command;
    let mut following = std::pin::pin!(claim.ports.sandboxes.follow(&context, sandbox, command, &let_go, output));
    let word = std::pin::pin!(word(claim, command));
    let word = match select(following.as_mut(), word).await {
        Either::Left((followed, _)) => return (followed, None),
        Either::Right((word, _)) => word,
    };
    match word {
        Word::LetGo(_) | Word::Drain => let_go.cancel(),
        Word::Stop | Word::Overdue => stop.cancel(),
    }
    (following.await, Some(word))
}

async fn word(claim: &Claim, command: &BackgroundCommand) -> Word {
    let overdue = std::pin::pin!(overdue(claim, command));
    let drain = std::pin::pin!(drain(claim));
    let stop = std::pin::pin!(claim.signal.token().cancelled());
    select(stop, select(drain, overdue)).await;
    match claim.signal.cause() {
        Some(StopCause::LeaseLost) => Word::LetGo(StopCause::LeaseLost),
        None if claim.signal.is_draining() && outlives_us(claim) => Word::Drain,
        Some(StopCause::Cancelled | StopCause::Deadline | StopCause::ActiveTime) | None if !claim.may_act().await => {
            Word::LetGo(StopCause::LeaseLost)
        }
        Some(StopCause::Cancelled | StopCause::Deadline | StopCause::ActiveTime) => Word::Stop,
        None => Word::Overdue,
    }
}

/// The local runtime ends with this process: there, a program is waited for.
fn outlives_us(claim: &Claim) -> bool {
    let pinned = claim.pinned.get().and_then(|pinned| pinned.sandbox.as_ref());
    pinned.is_some_and(|sandbox| sandbox.target.tier == SandboxTier::Remote)
}

async fn drain(claim: &Claim) {
    if outlives_us(claim) {
        claim.signal.draining().cancelled().await;
    } else {
        std::future::pending().await
    }
}

/// Returns when a command has gone on for longer than its limit while this claim followed it. When its call began says
/// nothing: it may have waited for others.
async fn overdue(claim: &Claim, command: &BackgroundCommand) {
    let ends_by = command.ends_by(claim.ports.clock.now()).plus(OVERDUE);
    loop {
        let left = ends_by.since(claim.ports.clock.now());
        if left.is_zero() {
            return;
        }
        claim.ports.clock.sleep(left).await;
    }
}

/// The output of a command, told from its cursor on.
struct FollowedOutput<'a> {
    inner: ProgramOutput<'a>,
    claim: &'a Claim,
    place: CommandPlace,
    /// Bytes that came.
    seen: AtomicU64,
}

impl<'a> FollowedOutput<'a> {
    fn new(claim: &'a Claim, call: &ToolCall, sandbox: &LiveSandbox, command: BackgroundCommand) -> Self {
        let place = CommandPlace { call: call.id, sandbox: sandbox.id, command };
        Self { inner: ProgramOutput::new(claim, call.id), claim, place, seen: AtomicU64::new(0) }
    }

    /// Whether everything that was told before has come again. A server that has less has lost it, and what else cannot be
    /// said.
    fn has_all(&self) -> bool {
        self.seen.load(Ordering::Acquire) >= self.place.command.cursor
    }

    async fn tell(&self, stream: OutputStream, text: &str, cursor: u64) {
        let (text, is_first) = self.inner.absorb(stream, text).await;
        if text.is_empty() {
            return;
        }
        let event = Event::SandboxOutput { tool_call_id: self.place.call, stream, text };
        let command = BackgroundCommand { cursor, ..self.place.command.clone() };
        let place = CommandPlace { command, ..self.place.clone() };
        if self.claim.journal.delta_of_command(event, place, is_first).await.is_err() {
            self.claim.signal.trip(StopCause::LeaseLost);
        }
    }
}

#[async_trait]
impl OutputSink for FollowedOutput<'_> {
    async fn output(&self, stream: OutputStream, text: &str) {
        let begin = self.seen.fetch_add(text.len() as u64, Ordering::AcqRel);
        let told = self.place.command.cursor.saturating_sub(begin);
        let cut = usize::try_from(told).map_or(text.len(), |told| text.floor_char_boundary(told));
        let (before, behind) = text.split_at(cut);
        if !before.is_empty() {
            self.inner.absorb(stream, before).await;
        }
        if !behind.is_empty() {
            self.tell(stream, behind, begin + text.len() as u64).await;
        }
    }
}
