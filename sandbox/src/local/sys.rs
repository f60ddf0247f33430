//! The few kernel calls that neither the standard library nor rustix offers as safe functions.
//!
//! Rule: every `unsafe` block of this crate stands here, behind a function that is safe to call as its doc says.
//! This file decides nothing; it only carries out what `spawn` and `init` ask for.
#![expect(unsafe_code, reason = "fork, signalfd and the steps between fork and exec have no safe form")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::Mode;
use rustix::io::FdFlags;
use rustix::process::{DumpableBehavior, Pid, Signal};
use tokio::io::unix::AsyncFd;

const CLOSE_ON_EXEC: libc::c_int = libc::CLOSE_RANGE_CLOEXEC as libc::c_int;

/// Which side of a fork the caller is on.
pub enum Fork {
    Parent(Pid),
    Child,
}

/// Forks a process that has a single thread, so that the child may go on running ordinary Rust code.
pub fn fork_single_threaded() -> io::Result<Fork> {
    // SAFETY: the only callers are `sandbox-init` and its helpers, which never start a thread; no lock can be held
    // by somebody who does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Pid::from_raw(pid).map(Fork::Parent).ok_or_else(|| io::Error::other("fork returned no process id")),
    }
}

/// Blocks SIGCHLD and returns a descriptor that becomes readable when a child has changed state.
pub fn child_signal_fd() -> io::Result<OwnedFd> {
    // SAFETY: `set` is initialised by sigemptyset before it is read; the returned descriptor is owned by nobody else.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Takes ownership of a descriptor that was inherited at a number agreed with the parent.
pub fn adopt(raw: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: called once per number, at the start of a single-threaded program that opened nothing at that number.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    rustix::io::fcntl_setfd(&fd, FdFlags::CLOEXEC)?;
    Ok(fd)
}

/// Gives every signal its default effect, whatever this process was started with.
pub fn reset_signals() {
    for signal in 1..libc::SIGSYS + 1 {
        // SAFETY: no handler is installed; SIGKILL and SIGSTOP refuse, which changes nothing.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    // SAFETY: a helper that writes to a socket without a reader must get an error and not die.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Makes `fd` the standard error of this process.
pub fn replace_stderr(fd: &impl AsFd) -> io::Result<()> {
    // SAFETY: both numbers are open descriptors; standard error is owned by nobody.
    if unsafe { libc::dup2(fd.as_fd().as_raw_fd(), libc::STDERR_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Registers a pidfd with the reactor: it becomes readable when its process ends.
pub fn watch_pidfd(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor always returns the same number and closes it only when it is dropped.
    Ok(unsafe { AsyncFd::register(pidfd) }?)
}

/// The size of a memory page in bytes.
pub fn page_size() -> u64 {
    // SAFETY: sysconf has no memory effects.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Signals every process that the caller may signal, itself and its namespace's first process excepted, all at once.
pub fn signal_everybody(signal: Signal) {
    // SAFETY: kill has no memory effects. Inside a pid namespace -1 reaches that namespace only.
    unsafe {
        libc::kill(-1, signal.as_raw());
    }
}

/// What happens in the child between fork and exec of bubblewrap, in the order of the members.
pub struct Prelude {
    /// Open `cgroup.procs` files that the process joins.
    pub cgroups: Vec<OwnedFd>,
    /// The user id and group id to change to; `None` keeps the runtime's own.
    pub identity: Option<u32>,
    /// The private storage of the sandbox.
    pub storage: Storage,
    /// Descriptors that bubblewrap inherits under the same numbers.
    pub inherited: Vec<OwnedFd>,
}

/// A size-limited tmpfs, mounted in a mount namespace that dies with the sandbox.
pub struct Storage {
    pub uid_map: Vec<u8>,
    pub gid_map: Vec<u8>,
    pub mount_point: &'static CStr,
    pub options: std::ffi::CString,
    pub directories: Vec<std::ffi::CString>,
}

/// Makes `command` run the prelude in its child. The descriptors stay open until `command` is dropped.
pub fn attach_prelude(command: &mut Command, prelude: Prelude) {
    // SAFETY: the closure makes raw system calls on data prepared before the fork and allocates nothing.
    unsafe {
        command.pre_exec(move || prelude.run());
    }
}

impl Prelude {
    fn run(&self) -> io::Result<()> {
        for procs in &self.cgroups {
            rustix::io::write(procs, b"0")?;
        }
        if let Some(id) = self.identity {
            become_user(id)?;
        }
        self.storage.set_up()?;
        // The runtime itself may have inherited descriptors that its own parent forgot to close.
        // SAFETY: the call only sets a flag on the descriptors of this process.
        if unsafe { libc::close_range(3, u32::MAX, CLOSE_ON_EXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        for fd in &self.inherited {
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok(())
    }
}

impl Storage {
    fn set_up(&self) -> io::Result<()> {
        // A change of user made the process undumpable, and its own files in /proc would belong to root.
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        // SAFETY: the child has one thread and shares no descriptor table.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } != 0 {
            return Err(io::Error::last_os_error());
        }
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", &self.uid_map)?;
        write_file(c"/proc/self/gid_map", &self.gid_map)?;
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
        rustix::mount::mount(c"tmpfs", self.mount_point, c"tmpfs", flags, self.options.as_c_str())?;
        for directory in &self.directories {
            rustix::fs::mkdir(directory.as_c_str(), Mode::from_raw_mode(0o700))?;
        }
        Ok(())
    }
}

fn become_user(id: u32) -> io::Result<()> {
    // SAFETY: raw system calls without memory effects beyond the empty group list.
    let changed = unsafe {
        libc::syscall(libc::SYS_setgroups, 0_usize, std::ptr::null::<libc::gid_t>()) == 0
            && libc::syscall(libc::SYS_setresgid, id, id, id) == 0
            && libc::syscall(libc::SYS_setresuid, id, id, id) == 0
    };
    if changed { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn write_file(path: &CStr, content: &[u8]) -> io::Result<()> {
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::io::write(&file, content)?;
    Ok(())
}
