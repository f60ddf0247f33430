//! `sandbox-init` is the first process inside a sandbox: it forks a helper per operation and reaps everything.
//!
//! Rule: it is single-threaded, holds no state about operations, and trusts nobody inside. It cannot be signalled
//! or traced by the code it starts (first process of its pid namespace, undumpable), and when the runtime goes away
//! it exits, which ends the whole namespace. What it does not do: decide limits or check who may ask.

mod expand;
mod files;
mod memory;
mod supervise;
mod transfer;
mod tree;
mod usage;

use std::collections::HashSet;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions, setrlimit, wait};

use super::bwrap_args::{WORKSPACE, WORKSPACE_DIRECTORIES};
use super::protocol::{self, Failure, FailureKind, InitLimits, InitOrder, MemoryLimits, READY, Reply, Request};
use super::sys::{self, Fork};

/// Entry point of the hidden subcommand. Must be called before the program has started a thread.
pub fn init_main() -> ExitCode {
    match Init::set_up().and_then(Init::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The runtime reads this from the sandbox's standard error when it did not become ready.
            let _ = writeln!(io::stderr(), "sandbox-init: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Init {
    control: OwnedFd,
    children: OwnedFd,
    /// Supervisors that run; one that is killed loses track of its command's processes.
    supervisors: HashSet<Pid>,
    /// What to watch over, and when to look next.
    memory: Option<MemoryLimits>,
    look_at: Option<Instant>,
    /// Operations that came while everything is stopped; `None` while nothing is.
    waiting: Option<Vec<Vec<OwnedFd>>>,
}

impl Init {
    fn set_up() -> io::Result<Self> {
        let mut arguments = std::env::args().skip(2);
        let (Some(fd), Some(order)) = (arguments.next().and_then(|text| text.parse().ok()), arguments.next()) else {
            return Err(io::Error::other("this subcommand is started by the local runtime only"));
        };
        let order: InitOrder = serde_json::from_str(&order)?;
        let control = sys::adopt(fd)?;
        sys::reset_signals();
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        set_limits(&order.limits)?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        for directory in WORKSPACE_DIRECTORIES {
            std::fs::create_dir_all(format!("{WORKSPACE}/{directory}"))?;
        }
        let children = sys::child_signal_fd()?;
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        sys::replace_stderr(&null)?;
        say_ready(&control, order.proxy_port)?;
        Ok(Self { control, children, supervisors: HashSet::new(), memory: order.memory, look_at: None, waiting: None })
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            let mut fds = [PollFd::new(&self.control, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
            let patience = self.look_at.map(|at| at.saturating_duration_since(Instant::now()));
            let patience = patience.and_then(|time| Timespec::try_from(time).ok());
            match poll(&mut fds, patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let (control, children) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            self.watch_memory();
            if children {
                self.reap();
            }
            if control {
                let Some((word, descriptors)) = receive(&self.control)? else { return Ok(()) };
                if self.obey(word, descriptors)? == Role::Helper {
                    return Ok(());
                }
            }
        }
    }

    fn watch_memory(&mut self) {
        let now = Instant::now();
        if let Some(limits) = self.memory.as_ref().filter(|_| self.look_at.is_some_and(|at| at <= now)) {
            self.look_at = memory::look(limits).map(|pause| now + pause);
        }
    }

    fn obey(&mut self, word: u8, descriptors: Vec<OwnedFd>) -> io::Result<Role> {
        match (word, &mut self.waiting) {
            (protocol::STOP, _) => {
                self.waiting.get_or_insert_default();
                sys::signal_everybody(Signal::STOP);
                rustix::io::write(&self.control, &[READY])?;
            }
            (protocol::GO_ON, _) => {
                sys::signal_everybody(Signal::CONT);
                rustix::io::write(&self.control, &[READY])?;
                for descriptors in self.waiting.take().unwrap_or_default() {
                    if self.start(descriptors) == Role::Helper {
                        return Ok(Role::Helper);
                    }
                }
            }
            (_, Some(waiting)) => waiting.push(descriptors),
            (_, None) => return Ok(self.start(descriptors)),
        }
        Ok(Role::Init)
    }

    fn reap(&mut self) {
        drain(&self.children);
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if self.supervisors.remove(&pid) && status.terminating_signal().is_some() {
                // Its command's processes now belong to nobody, so nothing of any command may stay.
                sys::signal_everybody(Signal::KILL);
            }
        }
    }

    fn start(&mut self, descriptors: Vec<OwnedFd>) -> Role {
        let is_command = descriptors.len() == 3;
        match sys::fork_single_threaded() {
            Ok(Fork::Child) => {
                serve(descriptors);
                Role::Helper
            }
            Ok(Fork::Parent(pid)) => {
                self.look_at.get_or_insert_with(Instant::now);
                if is_command {
                    self.supervisors.insert(pid);
                }
                Role::Init
            }
            Err(error) => {
                if let Some(operation) = descriptors.into_iter().next() {
                    refuse(operation, &error);
                }
                Role::Init
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Role {
    Init,
    Helper,
}

/// Carries out one operation in a helper process. Errors on the socket mean that the runtime has lost interest.
fn serve(descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let (Some(operation), stdout, stderr) = (descriptors.next(), descriptors.next(), descriptors.next()) else {
        return;
    };
    let mut operation = UnixStream::from(operation);
    let Ok(request) = protocol::read_frame::<Request>(&mut operation) else { return };
    let _ = match (request, stdout, stderr) {
        (Request::Execute(execute), Some(stdout), Some(stderr)) => supervise::run(operation, execute, stdout, stderr),
        (Request::Read { path, lines }, ..) => transfer::read(operation, &path, lines),
        (Request::Write { path, access }, ..) => transfer::write(operation, &path, &access),
        (request, ..) => {
            let reply = match files::run(request) {
                Ok(value) => Reply::Done { value },
                Err(failure) => Reply::Failed(failure),
            };
            protocol::write_frame(&mut operation, &reply)
        }
    };
}

fn refuse(operation: OwnedFd, error: &io::Error) {
    let message = format!("the sandbox cannot start another process: {error}");
    let mut operation = UnixStream::from(operation);
    let _ = operation.set_nonblocking(true);
    let _ = protocol::write_frame(&mut operation, &Reply::Failed(Failure { kind: FailureKind::Spawn, message }));
}

/// The next word of the runtime and what came with it, or `None` when it has closed the control socket.
fn receive(control: &OwnedFd) -> io::Result<Option<(u8, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(Some((byte[0], descriptors)))
}

/// Says that the sandbox is ready, and hands the listening socket of its way out to the runtime. It is one socket for all
/// addresses of the sandbox, which has none but those of its loopback: by them callers tell themselves apart.
fn say_ready(control: &OwnedFd, proxy_port: Option<u16>) -> io::Result<()> {
    let listener = proxy_port.map(|port| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))).transpose()?;
    let descriptors: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    sendmsg(control, &[IoSlice::new(&[READY])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn set_limits(limits: &InitLimits) -> io::Result<()> {
    let fixed = |value| Rlimit { current: Some(value), maximum: Some(value) };
    setrlimit(Resource::Core, fixed(0))?;
    setrlimit(Resource::Nofile, fixed(limits.open_files))?;
    setrlimit(Resource::Fsize, fixed(limits.file_bytes))?;
    setrlimit(Resource::Nproc, fixed(limits.processes))?;
    Ok(())
}

/// Empties a signal descriptor; its content says nothing that `waitpid` does not.
fn drain(fd: &OwnedFd) {
    let mut buffer = [0_u8; 1024];
    while matches!(rustix::io::read(fd, &mut buffer), Ok(read) if read > 0) {}
}
