//! A supervisor is the helper that runs one command: it starts it, keeps its time, kills its whole tree, reports.
//!
//! Being a subreaper it keeps every process of its command below it, also those that changed session or were
//! orphaned, so a timeout or an interrupt reaches all of them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, wait};

use super::{drain, expand, tree};
use crate::local::bwrap_args::WORKSPACE;
use crate::local::protocol::{self, Execute, Exit, Failure, FailureKind, FollowUp, Program, Reply};
use crate::local::sys;

/// Between SIGTERM and SIGKILL of an interrupted command.
const INTERRUPT_GRACE: Duration = Duration::from_secs(3);
/// A tree that is still alive after so long cannot be killed from here.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

pub fn run(mut operation: UnixStream, execute: Execute, stdout: OwnedFd, stderr: OwnedFd) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let children = sys::child_signal_fd()?;
    let leader = match start(&execute, stdout, stderr) {
        Ok(leader) => leader,
        Err(failure) => return protocol::write_frame(&mut operation, &Reply::Failed(failure)),
    };
    protocol::write_frame(&mut operation, &Reply::Started { pid: leader.as_raw_nonzero().get().unsigned_abs() })?;
    let mut supervisor = Supervisor {
        operation,
        children,
        leader,
        status: None,
        timeout_at: execute.timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms)),
        kill_at: None,
        interrupted: false,
    };
    let survivors = supervisor.wait(execute.end_group_with_leader);
    let exit = supervisor.exit(survivors);
    protocol::write_frame(&mut supervisor.operation, &Reply::Exited(exit))
}

fn start(execute: &Execute, stdout: OwnedFd, stderr: OwnedFd) -> Result<Pid, Failure> {
    let cwd = working_directory(execute)?;
    let mut command = match &execute.program {
        Program::Shell(text) => {
            let shell = if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" };
            let mut command = Command::new(shell);
            command.args(["-c", text]);
            command
        }
        Program::Argv(argv) => {
            let mut words = argv.iter();
            let program = words.next().ok_or_else(|| failure(FailureKind::Invalid, "argv is empty"))?;
            let mut command = Command::new(program);
            command.args(words);
            command
        }
    };
    // The standard library empties the signal mask and restores SIGPIPE in the child.
    let child = command
        .env_clear()
        .envs(environment(&execute.env))
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0)
        .spawn()
        .map_err(|error| failure(FailureKind::Spawn, &format!("cannot start the command: {error}")))?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| failure(FailureKind::Spawn, "no process id"))
}

fn working_directory(execute: &Execute) -> Result<String, Failure> {
    let Some(cwd) = execute.cwd.as_deref().filter(|cwd| !cwd.is_empty()) else { return Ok(WORKSPACE.to_owned()) };
    let cwd = expand::path_with(cwd, &execute.env)?;
    if execute.create_cwd {
        std::fs::create_dir_all(&cwd)
            .map_err(|error| failure(FailureKind::WorkingDirectory, &format!("cannot create cwd {cwd}: {error}")))?;
    }
    if Path::new(&cwd).is_dir() {
        Ok(cwd)
    } else {
        Err(failure(FailureKind::WorkingDirectory, &format!("cwd {cwd} is not a directory")))
    }
}

/// The constructed environment of the sandbox, which this process itself was started with, and the declared names.
fn environment(declared: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = std::env::vars().collect();
    environment.extend(declared.iter().map(|(name, value)| (name.clone(), value.clone())));
    environment
}

struct Supervisor {
    operation: UnixStream,
    children: OwnedFd,
    leader: Pid,
    status: Option<WaitStatus>,
    timeout_at: Option<Instant>,
    kill_at: Option<Instant>,
    interrupted: bool,
}

impl Supervisor {
    /// Returns when the command has ended, and whether processes of it are left that should have been killed.
    fn wait(&mut self, end_group_with_leader: bool) -> bool {
        loop {
            self.reap();
            if self.status.is_some() && !self.interrupted {
                if end_group_with_leader {
                    let _ = kill_process_group(self.leader, Signal::KILL);
                }
                return false;
            }
            if self.status.is_some() && tree::descendants().is_empty() {
                return false;
            }
            let now = Instant::now();
            if is_over(self.timeout_at, now) || is_over(self.kill_at, now) {
                return !self.kill();
            }
            match self.next_word() {
                Word::None => {}
                Word::Interrupt => {
                    self.interrupted = true;
                    self.kill_at = Some(now + INTERRUPT_GRACE);
                    tree::signal_descendants(Signal::TERM);
                }
                Word::Kill => return !self.kill(),
            }
        }
    }

    /// Kills every process of the command; false when some would not go.
    fn kill(&mut self) -> bool {
        let until = Instant::now() + KILL_PATIENCE;
        let _ = kill_process_group(self.leader, Signal::KILL);
        while tree::signal_descendants(Signal::KILL) > 0 {
            if Instant::now() > until {
                return false;
            }
            self.poll(Some(Duration::from_millis(5)));
            self.reap();
        }
        self.reap();
        true
    }

    fn reap(&mut self) {
        drain(&self.children);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.leader {
                self.status = Some(status);
            }
        }
    }

    fn next_word(&mut self) -> Word {
        let next = [self.timeout_at, self.kill_at].into_iter().flatten().min();
        if !self.poll(next.map(|at| at.saturating_duration_since(Instant::now()))) {
            return Word::None;
        }
        match protocol::read_frame::<FollowUp>(&mut self.operation) {
            Ok(FollowUp::Interrupt) => Word::Interrupt,
            Ok(FollowUp::Kill | FollowUp::Range { .. }) | Err(_) => Word::Kill,
        }
    }

    /// Waits for a child, a word or the end of `patience`; says whether the runtime has spoken or is gone.
    fn poll(&self, patience: Option<Duration>) -> bool {
        let mut fds = [PollFd::new(&self.children, PollFlags::IN), PollFd::new(&self.operation, PollFlags::IN)];
        let patience = patience.and_then(|time| Timespec::try_from(time).ok());
        poll(&mut fds, patience.as_ref()).is_ok() && !fds[1].revents().is_empty()
    }

    fn exit(&self, survivors: bool) -> Exit {
        let killed = Exit { code: None, signal: Some(Signal::KILL.as_raw()), survivors };
        self.status.map_or(killed, |status| Exit {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            survivors,
        })
    }
}

enum Word {
    None,
    Interrupt,
    Kill,
}

fn is_over(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

fn failure(kind: FailureKind, message: &str) -> Failure {
    Failure { kind, message: message.to_owned() }
}
