//! A command is one process (group) in a sandbox, asked for by shell text or by arguments.
//!
//! The words are here; running one while its output streams is in [`super::run`].

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::error::Error;
use super::lifecycle::{check_id, parse_time};
use super::sandbox::Sandbox;
use super::shell::shell_words;
use super::transport::Shape;

const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;
/// One argument or variable: 32 pages, with the NUL at its end. Shell text is one argument of the shell.
const MAX_WORD_BYTES: usize = 128 * 1024 - 1;
/// All of them: half of what a process with the usual stack is given, since the sandbox has variables of its own.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;
/// A word's NUL and the pointer to it.
const POINTER_BYTES: usize = 9;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Text for the sandbox's shell.
    Shell(String),
    /// A program and its arguments, without a shell. Where the server does not know that, a shell gets them quoted.
    Argv(Vec<String>),
}

/// As whom to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id; the user's own when it is missing.
    pub gid: Option<u32>,
}

/// A command. Its `Debug` shows names of variables, not their values, and not the program, which may hold secrets.
#[derive(Clone)]
pub struct CommandRequest {
    /// What to run.
    pub program: Program,
    /// An existing directory; the server's own when it is missing.
    pub cwd: Option<String>,
    /// Environment, over that of the sandbox.
    pub env: BTreeMap<String, String>,
    /// After which the server kills it.
    pub timeout: Option<Duration>,
    /// As whom; the server's own user when it is missing.
    pub user: Option<User>,
}

impl fmt::Debug for CommandRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandRequest")
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl CommandRequest {
    /// Shell text with default settings.
    #[must_use]
    pub fn shell(text: impl Into<String>) -> Self {
        Self::new(Program::Shell(text.into()))
    }

    /// A program and its arguments with default settings.
    #[must_use]
    pub fn argv<S: Into<String>>(arguments: impl IntoIterator<Item = S>) -> Self {
        Self::new(Program::Argv(arguments.into_iter().map(Into::into).collect()))
    }

    fn new(program: Program) -> Self {
        Self { program, cwd: None, env: BTreeMap::new(), timeout: None, user: None }
    }

    /// Refuses what no process can be given, before anything is sent.
    pub(super) fn check(&self) -> Result<(), Error> {
        let words: Vec<&str> = match &self.program {
            Program::Shell(text) if text.trim().is_empty() => return Err(Error::invalid("command is empty")),
            Program::Shell(text) => vec![text],
            Program::Argv(argv) if argv.first().is_none_or(String::is_empty) => {
                return Err(Error::invalid("argv has no program"));
            }
            Program::Argv(argv) => argv.iter().map(String::as_str).collect(),
        };
        let has_nul = words.iter().any(|word| word.contains('\0'));
        if has_nul || self.env.iter().any(|(name, value)| !is_env(name, value)) {
            return Err(Error::invalid("command or environment has characters that no process can be given"));
        }
        let words = words.into_iter().map(str::len);
        check_lengths(words.chain(self.env.iter().map(|(name, value)| name.len() + value.len() + 1)))
    }

    /// The program as shell text, which may be longer than the program was.
    pub(super) fn shell_text(&self) -> String {
        match &self.program {
            Program::Shell(text) => text.clone(),
            // In the shell's place, so that a signal to it is one to the program.
            Program::Argv(argv) => format!("exec {}", shell_words(argv)),
        }
    }

    /// The body of the call. Arguments that a shell must get quoted may be too long for it, though they were not by
    /// themselves.
    pub(super) fn to_json(&self, takes_argv: bool) -> Result<Value, Error> {
        let mut body = match &self.program {
            Program::Argv(argv) if takes_argv => json!({ "argv": argv }),
            Program::Argv(_) | Program::Shell(_) => {
                let text = self.shell_text();
                check_lengths(std::iter::once(text.len()))?;
                json!({ "command": text })
            }
        };
        if let Some(cwd) = &self.cwd {
            body["cwd"] = cwd.as_str().into();
        }
        if !self.env.is_empty() {
            body["envs"] = json!(self.env);
        }
        if let Some(timeout) = self.timeout {
            // Zero would mean none.
            body["timeout"] = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX >> 1).max(1).into();
        }
        if let Some(user) = self.user {
            body["uid"] = user.uid.into();
            if let Some(gid) = user.gid {
                body["gid"] = gid.into();
            }
        }
        Ok(body)
    }
}

/// What Linux gives a process: each word, and all of them.
pub(super) fn check_lengths(lengths: impl Iterator<Item = usize> + Clone) -> Result<(), Error> {
    let too_long = |bytes, limit| Err(Error::CommandTooLong { bytes, limit });
    match lengths.clone().max() {
        Some(bytes) if bytes > MAX_WORD_BYTES => return too_long(bytes, MAX_WORD_BYTES),
        _ => {}
    }
    let bytes = lengths.map(|length| length + POINTER_BYTES).sum();
    if bytes > MAX_COMMAND_BYTES { too_long(bytes, MAX_COMMAND_BYTES) } else { Ok(()) }
}

fn is_env(name: &str, value: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0')
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this exit code. A shell reports a killed child of its own as 128 and the signal.
    Exited(i32),
    /// By a signal that we did not send: it ran out of memory, or something killed it.
    Killed,
    /// It could not be started, or the server failed while it ran; the text is the server's.
    StartFailed(String),
    /// We were asked to cancel it.
    Interrupted,
    /// Its time was over.
    TimedOut,
    /// It was stopped, since it wrote a line that its server sends in one piece and that is longer than is read.
    LineTooLong,
    /// Its stream ended or fell silent without saying. Never a success, whatever else is known.
    Unknown,
}

/// What is known about a command afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub end: CommandEnd,
    /// From the request to the end, on our clock.
    pub duration: Duration,
    /// Events that this client did not understand and skipped.
    pub unknown_events: u64,
    /// Whether the output holds a replacement character: bytes that were no UTF-8 were lost on the way.
    pub is_lossy: bool,
    /// Whether output may be missing at its end: the stream broke off, or the output could not be read to the end.
    pub is_incomplete: bool,
    /// Whether the server said that the command is not running any more. If not, destroy the sandbox.
    pub is_stopped: bool,
    /// The server's id of the command, once it was known.
    pub command_id: Option<String>,
    /// What the server said when it was asked about a lost stream.
    pub status: Option<CommandStatus>,
}

/// What the server says about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandStatus {
    /// Whether it is running.
    pub is_running: bool,
    /// `-1` for a signal; missing while it is running.
    pub exit_code: Option<i32>,
    /// Why it failed, in the server's words.
    pub error: Option<String>,
    /// When it was started.
    pub started_at: Option<OffsetDateTime>,
    /// When it ended.
    pub finished_at: Option<OffsetDateTime>,
    /// How many bytes at the end of a background command's output its log does not have. Only the local runtime says so.
    pub dropped_bytes: u64,
}

impl CommandStatus {
    /// How the command ended, as far as its status says. `Unknown` while it is running or when no exit code is there.
    #[must_use]
    pub fn end(&self) -> CommandEnd {
        match (self.exit_code, &self.error) {
            _ if self.is_running => CommandEnd::Unknown,
            (Some(-1), _) => CommandEnd::Killed,
            (Some(code), _) => CommandEnd::Exited(code),
            (None, Some(error)) => CommandEnd::StartFailed(error.clone()),
            (None, None) => CommandEnd::Unknown,
        }
    }
}

#[derive(Deserialize)]
struct RawStatus {
    running: bool,
    exit_code: Option<i32>,
    error: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    #[serde(rename = "vitrine.dropped_bytes", default)]
    dropped_bytes: u64,
}

impl Shape for RawStatus {
    const MEMBERS: &'static [&'static str] =
        &["id", "content", "running", "exit_code", "error", "started_at", "finished_at", "vitrine.dropped_bytes"];
}

/// What an interrupt found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// It was running, and its process group is gone.
    Stopped,
    /// The server knows no such running command.
    NotRunning,
}

/// A piece of a background command's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// Standard output and error, interleaved. May begin or end inside a character.
    pub bytes: Bytes,
    /// Where the next piece begins.
    pub cursor: u64,
}

impl Sandbox {
    /// What the server says about a command. Right after the start of a background command that may be `NotFound`.
    pub async fn command_status(&self, command_id: &str) -> Result<CommandStatus, Error> {
        let execd = self.execd().await?;
        let url = execd.url(&["command", "status", check_command_id(command_id)?])?;
        let raw: RawStatus =
            self.read(&execd.call(Method::GET, url)).await?.object("command status", self.client().unknown())?;
        Ok(CommandStatus {
            is_running: raw.running,
            exit_code: raw.exit_code,
            error: raw.error.map(|error| execd.redactor.message(&error)),
            started_at: raw.started_at.as_deref().and_then(|text| parse_time(text).ok()),
            finished_at: raw.finished_at.as_deref().and_then(|text| parse_time(text).ok()),
            dropped_bytes: raw.dropped_bytes,
        })
    }

    /// Stops a command and everything it started; returns when it is gone, after up to 3 s.
    pub async fn interrupt(&self, command_id: &str) -> Result<Interrupt, Error> {
        let execd = self.execd().await?;
        let mut url = execd.url(&["command"])?;
        url.query_pairs_mut().append_pair("id", check_command_id(command_id)?);
        match self.read(&execd.call(Method::DELETE, url)).await {
            Ok(_) => Ok(Interrupt::Stopped),
            Err(Error::NotFound(_)) => Ok(Interrupt::NotRunning),
            // A real execd fails so on an unknown id and on a command that has ended.
            Err(Error::ServerFailed(reply)) if reply.status == 500 && reply.has_code("RUNTIME_ERROR") => {
                Ok(Interrupt::NotRunning)
            }
            Err(error) => Err(error),
        }
    }

    /// Output of a background command from `cursor` on, which counts bytes. An empty piece means: nothing new.
    pub async fn logs(&self, command_id: &str, cursor: u64) -> Result<LogChunk, Error> {
        let execd = self.execd().await?;
        let mut url = execd.url(&["command", check_command_id(command_id)?, "logs"])?;
        url.query_pairs_mut().append_pair("cursor", &cursor.to_string());
        let call = execd.call(Method::GET, url);
        let transport = self.transport();
        let response = transport.open(transport.request(&call), transport.timeouts.idle, call.redactor).await?;
        let (bytes, _) = transport.read(response, MAX_LOG_BYTES).await?;
        // Counted, not taken from the answer: a real execd repeats a cursor beyond the end, and would skip output.
        Ok(LogChunk { cursor: cursor + bytes.len() as u64, bytes })
    }
}

pub(super) fn check_command_id(id: &str) -> Result<&str, Error> {
    check_id(id.to_owned()).map(|_| id).map_err(|_| Error::invalid("command id has characters that no id needs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_units_and_names_of_the_wire() {
        let mut request = CommandRequest::argv(["echo", "a b"]);
        request.cwd = Some("/workspace".into());
        request.timeout = Some(Duration::from_millis(1500));
        request.env.insert("TOKEN".into(), "hunter2".into());
        request.user = Some(User { uid: 1000, gid: None });
        let expected = json!({
            "argv": ["echo", "a b"], "cwd": "/workspace", "timeout": 1500, "envs": {"TOKEN": "hunter2"}, "uid": 1000,
        });
        assert_eq!(request.to_json(true).unwrap(), expected);
        assert_eq!(request.to_json(false).unwrap()["command"], "exec 'echo' 'a b'");
        assert!(!format!("{request:?}").contains("hunter2"));
        request.timeout = Some(Duration::from_nanos(1));
        assert_eq!(request.to_json(true).unwrap()["timeout"], 1, "milliseconds (W16)");
    }

    #[test]
    fn refuses_what_no_process_can_be_given() {
        for request in [CommandRequest::shell(" "), CommandRequest::shell("a\0b"), CommandRequest::argv([""])] {
            assert_eq!(request.check().unwrap_err().code(), "request_invalid");
        }
        let mut request = CommandRequest::shell("true");
        request.env.insert("A=B".into(), String::new());
        assert!(request.check().is_err());
    }

    #[test]
    fn refuses_what_is_too_long_for_a_process() {
        let code = |request: &CommandRequest| request.check().err().map(|error| error.code());
        assert_eq!(code(&CommandRequest::shell("x".repeat(MAX_WORD_BYTES))), None);
        assert_eq!(code(&CommandRequest::shell("x".repeat(MAX_WORD_BYTES + 1))), Some("command_too_long"));
        assert_eq!(code(&CommandRequest::argv(["x".repeat(MAX_WORD_BYTES + 1)])), Some("command_too_long"));
        assert_eq!(code(&CommandRequest::argv(vec!["x".repeat(1000); 1000])), None);
        assert_eq!(code(&CommandRequest::argv(vec!["x".repeat(1000); 1100])), Some("command_too_long"));
        let mut request = CommandRequest::shell("true");
        request.env.insert("A".into(), "x".repeat(MAX_WORD_BYTES));
        assert_eq!(code(&request), Some("command_too_long"));
    }

    /// Each quote takes four bytes of shell text.
    #[test]
    fn what_is_too_long_only_for_a_shell_is_refused_only_where_a_shell_gets_it() {
        let quotes = CommandRequest::argv(["echo".to_owned(), "'".repeat(MAX_WORD_BYTES / 2)]);
        quotes.check().unwrap();
        quotes.to_json(true).unwrap();
        assert_eq!(quotes.to_json(false).unwrap_err().code(), "command_too_long");
    }

    #[test]
    fn a_process_can_be_given_what_is_not_too_long() {
        let text = format!("printf %s {}", "x".repeat(MAX_WORD_BYTES - "printf %s ".len()));
        let output = std::process::Command::new("/bin/sh").args(["-c", &text]).output().unwrap();
        assert_eq!(output.stdout.len(), MAX_WORD_BYTES - "printf %s ".len());
    }
}
