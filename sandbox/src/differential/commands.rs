//! Operations on commands.

use std::ops::ControlFlow;
use std::time::Duration;

use async_trait::async_trait;
use sandbox::opensandbox::{
    Captured, CommandEnd, CommandRequest, CommandStatus, Interrupt, LogPiece, LogSink, OutputSink, OutputStream,
    Program,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::answer::Failure;
use super::lifecycle::moment;
use super::operation::Operation;
use super::session::Session;

const FINISHED_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

/// Keeps the output, and cancels when it holds a certain text.
struct Watcher {
    captured: Captured,
    cancel_on: Option<String>,
    cancel: CancellationToken,
}

#[async_trait]
impl OutputSink for Watcher {
    async fn output(&mut self, stream: OutputStream, text: &str) {
        self.captured.output(stream, text).await;
        if self.cancel_on.as_deref().is_some_and(|mark| self.captured.stdout.contains(mark)) {
            self.cancel.cancel();
        }
    }
}

pub async fn run(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let cancel = CancellationToken::new();
    let cancel_on = operation.find("interrupt_on")?;
    let mut watcher = Watcher { captured: Captured::default(), cancel_on, cancel: cancel.clone() };
    let outcome = sandbox.run(&request(operation)?, &mut watcher, &cancel).await?;
    session.keep_command(operation, outcome.command_id.clone())?;
    let (end, exit_code) = match outcome.end {
        CommandEnd::Exited(code) => ("exited", Some(code)),
        CommandEnd::Killed => ("killed", Some(-1)),
        CommandEnd::TimedOut => ("timed_out", Some(-1)),
        CommandEnd::Interrupted => ("interrupted", Some(-1)),
        CommandEnd::StartFailed(_) => ("start_failed", None),
        CommandEnd::LineTooLong => ("line_too_long", None),
        CommandEnd::Unknown => ("unknown", None),
    };
    let Captured { stdout, stderr } = watcher.captured;
    Ok(json!({ "end": end, "exit_code": exit_code, "stdout": stdout, "stderr": stderr }))
}

pub async fn start(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let id = sandbox.start(&request(operation)?).await?;
    session.keep_command(operation, Some(id.clone()))?;
    Ok(json!({ "id": id }))
}

pub async fn status(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let id = session.command_id(operation)?;
    let until_finished = operation.find::<String>("until")?.is_some();
    let deadline = Instant::now() + FINISHED_WITHIN;
    loop {
        let status = sandbox.command_status(&id).await?;
        if !(until_finished && status.is_running) || Instant::now() > deadline {
            return Ok(describe(&status));
        }
        sleep(POLL).await;
    }
}

pub async fn logs(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let id = session.command_id(operation)?;
    let chunk = sandbox.logs(&id, operation.find("cursor")?.unwrap_or(0)).await?;
    Ok(json!({ "text": String::from_utf8_lossy(&chunk.bytes), "cursor": chunk.cursor }))
}

/// Reads a background command's output until its end.
pub async fn follow(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    let id = session.command_id(operation)?;
    let mut log = Log::default();
    let cursor = operation.find("cursor")?.unwrap_or(0);
    let outcome = sandbox.follow(&id, cursor, &mut log, &CancellationToken::new()).await?;
    let exit_code = match outcome.end {
        Some(CommandEnd::Exited(code)) => Some(code),
        Some(CommandEnd::Killed) => Some(-1),
        _ => None,
    };
    Ok(json!({ "text": log.0, "cursor": outcome.cursor, "exit_code": exit_code }))
}

#[derive(Default)]
struct Log(String);

#[async_trait]
impl LogSink for Log {
    async fn piece(&mut self, piece: LogPiece<'_>) -> ControlFlow<()> {
        self.0.push_str(piece.text);
        ControlFlow::Continue(())
    }
}

pub async fn interrupt(session: &mut Session, operation: &Operation) -> Result<Value, Failure> {
    let sandbox = session.sandbox(operation)?;
    match sandbox.interrupt(&session.command_id(operation)?).await? {
        Interrupt::Stopped => Ok(json!({})),
        Interrupt::NotRunning => Ok(json!({ "found": "not_running" })),
    }
}

fn request(operation: &Operation) -> Result<CommandRequest, Failure> {
    let program = match operation.find("argv")? {
        Some(argv) => Program::Argv(argv),
        None => Program::Shell(operation.need("text")?),
    };
    Ok(CommandRequest {
        program,
        cwd: operation.find("cwd")?,
        env: operation.map("env")?,
        timeout: operation.milliseconds("timeout_ms")?,
        user: None,
    })
}

fn describe(status: &CommandStatus) -> Value {
    json!({
        "is_running": status.is_running,
        "exit_code": status.exit_code,
        "error": status.error,
        "started_at": moment(status.started_at),
        "finished_at": moment(status.finished_at),
    })
}
