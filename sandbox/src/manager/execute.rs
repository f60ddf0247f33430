//! Runs a program: its source goes up, its command runs, its output comes while it is printed.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use domain::execution::CallContext;
use domain::sandbox::{Exit, OutputSink, OutputStream, Program, SandboxError};

use super::failure::failure;
use crate::opensandbox::{self, CommandEnd, CommandRequest, Error, Sandbox, Upload};
use crate::runner::{WORKSPACE, prepare};

pub(super) async fn execute(
    remote: &Sandbox,
    environment: BTreeMap<String, String>,
    context: &CallContext,
    program: &Program,
    timeout: Duration,
    output: &dyn OutputSink,
) -> Result<Exit, SandboxError> {
    let prepared = prepare(program, &run_name()?);
    if let Some((path, source)) = &prepared.file {
        let upload = Upload { path: path.clone(), mode: None, size_bytes: source.len() as u64 };
        let source = std::io::Cursor::new(source.clone().into_bytes());
        remote.upload(&upload, source).await.map_err(|error| failure(&error))?;
    }
    let mut request = CommandRequest::shell(prepared.command);
    request.cwd = Some(WORKSPACE.to_owned());
    request.env = environment;
    request.env.extend(prepared.env);
    request.timeout = Some(timeout.min(context.time_left));
    match remote.run(&request, &mut Forward(output), &context.cancel).await {
        Ok(outcome) => {
            if !outcome.is_stopped {
                // Something of it may still run: nothing else may run beside it. The next tool finds the sandbox gone.
                remote.kill().await.map_err(|error| failure(&error))?;
            }
            Ok(exit(outcome.end))
        }
        Err(Error::Rejected(reply)) => Ok(Exit::NotStarted(reply.message)),
        Err(error) => Err(failure(&error)),
    }
}

/// Programs of one sandbox may run side by side: each gets a directory of its own.
fn run_name() -> Result<String, SandboxError> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|_| SandboxError {
        code: "SANDBOX_REJECTED",
        message: "the system gives no randomness".to_owned(),
        sandbox_lost: false,
    })?;
    Ok(data_encoding::HEXLOWER.encode(&random))
}

fn exit(end: CommandEnd) -> Exit {
    match end {
        CommandEnd::Exited(code) => Exit::Code(code),
        CommandEnd::Killed => Exit::Killed,
        CommandEnd::StartFailed(why) => Exit::NotStarted(why),
        CommandEnd::Interrupted => Exit::Interrupted,
        CommandEnd::TimedOut => Exit::TimedOut,
        CommandEnd::Unknown => Exit::Unknown,
    }
}

struct Forward<'a>(&'a dyn OutputSink);

#[async_trait]
impl opensandbox::OutputSink for Forward<'_> {
    async fn output(&mut self, stream: opensandbox::OutputStream, text: &str) {
        let stream = match stream {
            opensandbox::OutputStream::Stdout => OutputStream::Stdout,
            opensandbox::OutputStream::Stderr => OutputStream::Stderr,
        };
        self.0.output(stream, text).await;
    }
}
