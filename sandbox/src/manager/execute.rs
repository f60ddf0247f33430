//! Runs a program: its source goes up, its command runs, its output comes while it is printed.

use std::time::Duration;

use async_trait::async_trait;
use domain::execution::CallContext;
use domain::sandbox::{Exit, OutputSink, OutputStream, Program, ProgramEnd, SandboxError};

use super::failure::failure;
use super::raw;
use crate::opensandbox::{self, CommandEnd, CommandRequest, Error, Sandbox, Upload, User};
use crate::runner::{Capture, Environment, ImageFacts, Prepared, WORKSPACE, prepare};

/// The exit code of a shell whose program was ended by SIGKILL.
const KILLED: i32 = 128 + 9;

pub(super) async fn execute(
    remote: &Sandbox,
    facts: &ImageFacts,
    context: &CallContext,
    setting: &Setting<'_>,
    output: &dyn OutputSink,
) -> Result<ProgramEnd, SandboxError> {
    let (prepared, request) = ready(remote, facts, setting).await?;
    let request = CommandRequest { timeout: Some(setting.timeout.min(context.time_left)), ..request };
    let mut forward = Forward { output, has_nul: false };
    let outcome = match remote.run(&request, &mut forward, &context.cancel).await {
        Ok(outcome) => outcome,
        Err(Error::Rejected(reply)) => {
            raw::remove(remote, &prepared.dir).await;
            return Ok(ProgramEnd::of(Exit::NotStarted(reply.message)));
        }
        Err(error @ Error::OutcomeUnknown { .. }) => {
            tracing::warn!(sandbox.id = remote.id(), error.code = error.code(), "command may have run");
            return Ok(give_up(remote, Exit::Unknown).await);
        }
        Err(error) => return Err(failure(&error)),
    };
    if !outcome.is_stopped {
        return Ok(give_up(remote, exit(outcome.end)).await);
    }
    let is_text = !outcome.is_lossy && !forward.has_nul;
    let raw = match (setting.capture, &outcome.command_id) {
        (_, _) if is_text => None,
        (Capture::InSandbox, _) => raw::read(remote, &prepared.dir).await,
        (Capture::ByServer, Some(command)) => raw::ask(remote, command).await,
        (Capture::ByServer, None) | (Capture::Nothing, _) => None,
    };
    if prepared.leaves_files(setting.capture) {
        raw::remove(remote, &prepared.dir).await;
    }
    Ok(ProgramEnd { raw, ..ProgramEnd::of(exit(outcome.end)) })
}

/// Something of a program may still run, and nothing else may run beside it. A sandbox that cannot be removed here is given
/// up all the same; whoever finds it later removes it.
async fn give_up(remote: &Sandbox, exit: Exit) -> ProgramEnd {
    if let Err(error) = remote.kill().await {
        tracing::warn!(
            sandbox.id = remote.id(),
            error.code = error.code(),
            "sandbox of a lost program was not removed"
        );
    }
    ProgramEnd { sandbox_lost: true, ..ProgramEnd::of(exit) }
}

/// What a program is run with.
pub(super) struct Setting<'a> {
    pub program: &'a Program,
    /// Names the run, and the directory of its files.
    pub name: String,
    pub timeout: Duration,
    pub capture: Capture,
    /// What it gets beside the constructed environment.
    pub environment: Environment,
}

/// A program whose source is in the sandbox, and the command that runs it.
pub(super) async fn ready(
    remote: &Sandbox,
    facts: &ImageFacts,
    setting: &Setting<'_>,
) -> Result<(Prepared, CommandRequest), SandboxError> {
    let prepared = prepare(setting.program, &setting.name);
    let request = request(&prepared, facts, setting)?;
    if let Some((path, source)) = &prepared.file {
        let upload = Upload { path: path.clone(), mode: None, size_bytes: source.len() as u64 };
        let source = std::io::Cursor::new(source.clone().into_bytes());
        remote.upload(&upload, source).await.map_err(|error| failure(&error))?;
    }
    Ok((prepared, CommandRequest { timeout: Some(setting.timeout), ..request }))
}

/// The command for a program, if the image has what it needs.
fn request(prepared: &Prepared, facts: &ImageFacts, setting: &Setting<'_>) -> Result<CommandRequest, SandboxError> {
    if !facts.has(prepared.requires) {
        return Err(SandboxError::image_lacks(prepared.requires));
    }
    let mut request = CommandRequest::argv(prepared.words(setting.environment.clone(), setting.capture));
    request.cwd = Some(WORKSPACE.to_owned());
    request.user = facts.user.map(|(uid, gid)| User { uid, gid: Some(gid) });
    Ok(request)
}

/// A name for a run. Programs of one sandbox may run side by side: each gets a directory of its own.
pub(super) fn run_name() -> Result<String, SandboxError> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|_| SandboxError {
        code: "SANDBOX_REJECTED",
        message: "the system gives no randomness".to_owned(),
        sandbox_lost: false,
    })?;
    Ok(data_encoding::HEXLOWER.encode(&random))
}

pub(super) fn exit(end: CommandEnd) -> Exit {
    match end {
        // With the first, a shell says that its program was killed.
        CommandEnd::Exited(KILLED) | CommandEnd::Killed => Exit::Killed,
        CommandEnd::Exited(code) => Exit::Code(code),
        CommandEnd::StartFailed(why) => Exit::NotStarted(why),
        CommandEnd::Interrupted => Exit::Interrupted,
        CommandEnd::TimedOut => Exit::TimedOut,
        CommandEnd::LineTooLong => Exit::LineTooLong,
        CommandEnd::Unknown => Exit::Unknown,
    }
}

struct Forward<'a> {
    output: &'a dyn OutputSink,
    /// A NUL is text on the wire and none for whoever reads it.
    has_nul: bool,
}

#[async_trait]
impl opensandbox::OutputSink for Forward<'_> {
    async fn output(&mut self, stream: opensandbox::OutputStream, text: &str) {
        let stream = match stream {
            opensandbox::OutputStream::Stdout => OutputStream::Stdout,
            opensandbox::OutputStream::Stderr => OutputStream::Stderr,
        };
        self.has_nul |= text.contains('\0');
        self.output.output(stream, text).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(program: &Program) -> Setting<'_> {
        let (timeout, environment) = (Duration::from_secs(1), Environment::default());
        Setting { program, name: "x".to_owned(), timeout, capture: Capture::InSandbox, environment }
    }

    fn refusal(program: &Program, image: &str) -> Option<SandboxError> {
        let facts = ImageFacts::parse(&format!("{image}\nlayout made\nsurvey done")).unwrap();
        let setting = setting(program);
        request(&prepare(program, "x"), &facts, &setting).err()
    }

    #[test]
    fn a_program_that_the_image_lacks_is_named_and_not_tried() {
        let python = Program::Python("print(1)".to_owned());
        let refused = refusal(&python, "has bash\nhas node").unwrap();
        assert_eq!((refused.code, refused.sandbox_lost), ("spec_refused", false));
        assert!(refused.message.contains(" no python3 that runs;"), "{}", refused.message);
        assert_eq!(refusal(&python, "has python3"), None);
        assert_eq!(refusal(&Program::Shell("ls".to_owned()), "has sh").unwrap().code, "spec_refused");
    }

    #[test]
    fn programs_run_as_the_user_that_was_found_with_no_variable_of_the_server() {
        let facts = ImageFacts::parse("has bash\nuser 1000 100\nlayout made\nsurvey done").unwrap();
        let program = Program::Shell("id".to_owned());
        let setting = setting(&program);
        let request = request(&prepare(&program, "x"), &facts, &setting).unwrap();
        assert_eq!(request.user, Some(User { uid: 1000, gid: Some(100) }));
        assert!(request.env.is_empty());
        let opensandbox::Program::Argv(words) = request.program else { panic!("no arguments") };
        assert_eq!(words[..4], ["/usr/bin/env", "-i", "HOME=/tmp/vitrine-home", "LANG=C.UTF-8"]);
        assert_eq!(words[words.len() - 3..], ["bash", "-c", "id"]);
    }
}
