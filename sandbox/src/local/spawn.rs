//! Starting bubblewrap.
//!
//! Rule: all sandboxes are started by one thread that lives as long as the runtime, because the kernel sends the
//! parent-death signal when the *thread* that started a child ends. bubblewrap never starts with the host's uid 0.

use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use rustix::fs::MemfdFlags;
use rustix::process::{getegid, geteuid};
use tokio::sync::oneshot;

use super::bwrap_args::{self, GENERATED_FILES, Plan, STORAGE_BINDS, STORAGE_MOUNT};
use super::catalogue::Mount;
use super::cgroup::Group;
use super::error::Error;
use super::limits::Limits;
use super::seccomp::{self, Uncounted};
use super::sys::{self, Prelude, Storage};

/// Where the runtime looks for bubblewrap, and sandboxes for their programs, whatever the environment says.
pub const PROGRAM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Host user ids that belong to sandboxes of a runtime that runs as root.
const UID_RANGE: std::ops::Range<u32> = 210_000..275_000;

/// What a sandbox is started from.
pub struct Recipe<'a> {
    pub mounts: &'a [Mount],
    pub limits: &'a Limits,
    pub environment: &'a BTreeMap<String, String>,
    pub proxy_port: Option<u16>,
    pub executable: &'a Path,
    pub group: &'a Group,
}

/// A started bubblewrap and the runtime's ends of what leads into it.
pub struct Spawned {
    pub child: Child,
    pub control: UnixStream,
    pub uid: Option<UidLease>,
    diagnostics: File,
}

impl Spawned {
    /// What bubblewrap or the init wrote before the sandbox was ready.
    pub fn diagnostics(&mut self) -> String {
        let mut text = String::new();
        let _ = self.diagnostics.rewind();
        let _ = (&self.diagnostics).take(2_000).read_to_string(&mut text);
        text.trim().to_owned()
    }
}

/// The thread that starts sandboxes.
pub struct Spawner {
    jobs: mpsc::Sender<Job>,
    uids: Arc<Mutex<HashSet<u32>>>,
    filters: [Vec<u8>; 2],
    /// The same for sandboxes whose memory no control group bounds.
    strict_filters: [Vec<u8>; 2],
}

struct Job {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    pub fn start() -> Result<Self, Error> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let serve = move || {
            while let Ok(Job { mut command, reply }) = queue.recv() {
                let _ = reply.send(command.spawn());
            }
        };
        let thread = std::thread::Builder::new().name("sandbox-spawner".to_owned());
        thread.spawn(serve).map_err(Error::io("cannot start the thread that starts sandboxes"))?;
        Ok(Self {
            jobs,
            uids: Arc::default(),
            filters: seccomp::programs(Uncounted::Allowed)?,
            strict_filters: seccomp::programs(Uncounted::Refused)?,
        })
    }

    pub async fn spawn(&self, recipe: &Recipe<'_>) -> io::Result<Spawned> {
        let uid = if geteuid().is_root() { Some(self.lease_uid()?) } else { None };
        let (control, inner) = UnixStream::pair()?;
        let filters = if recipe.group.bounds_memory() { &self.filters } else { &self.strict_filters };
        let filters = filters.iter().map(|filter| sealed(filter)).collect::<io::Result<Vec<_>>>()?;
        let generated =
            GENERATED_FILES.iter().map(|(_, text)| sealed(text.as_bytes())).collect::<io::Result<Vec<_>>>()?;
        let (filter_fds, generated_fds) = (borrowed(&filters), borrowed(&generated));
        let plan = Plan {
            mounts: recipe.mounts,
            limits: recipe.limits,
            environment: recipe.environment,
            proxy_port: recipe.proxy_port,
            watches_memory: !recipe.group.bounds_memory(),
            executable: recipe.executable,
            control: inner.as_fd(),
            filters: &filter_fds,
            generated: &generated_fds,
        };
        let arguments = sealed(&bwrap_args::encode(&plan))?;
        let diagnostics = File::from(memfd()?);
        let mut command = Command::new("bwrap");
        command.arg("--args").arg(std::os::fd::AsRawFd::as_raw_fd(&arguments).to_string());
        command.arg("--").args(bwrap_args::command(&plan)?);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(diagnostics.try_clone()?);
        command.env_clear().env("PATH", PROGRAM_PATH);
        let mut inherited = vec![arguments, OwnedFd::from(inner)];
        inherited.extend(filters);
        inherited.extend(generated);
        let storage = storage(uid.as_ref(), recipe.limits)?;
        let cgroups = recipe.group.open_procs()?;
        let identity = uid.as_ref().map(|lease| lease.uid);
        sys::attach_prelude(&mut command, Prelude { cgroups, identity, storage, inherited });
        let (reply, answer) = oneshot::channel();
        let gone = |_| io::Error::other("the thread that starts sandboxes has ended");
        self.jobs.send(Job { command, reply }).map_err(|_| io::ErrorKind::BrokenPipe)?;
        let child = answer.await.map_err(gone)??;
        Ok(Spawned { child, control, uid, diagnostics })
    }

    fn lease_uid(&self) -> io::Result<UidLease> {
        let mut used = self.uids.lock().unwrap_or_else(PoisonError::into_inner);
        // A random place to start from keeps two runtimes on one host apart.
        let mut seed = [0; 4];
        getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
        let size = UID_RANGE.end - UID_RANGE.start;
        let first = u32::from_ne_bytes(seed) % size;
        let free = (0..size).map(|step| UID_RANGE.start + (first + step) % size).find(|uid| !used.contains(uid));
        let uid = free.ok_or_else(|| io::Error::other("every user id for sandboxes is in use"))?;
        used.insert(uid);
        Ok(UidLease { uid, used: Arc::clone(&self.uids) })
    }
}

/// A host user id that belongs to one sandbox until this is dropped.
pub struct UidLease {
    uid: u32,
    used: Arc<Mutex<HashSet<u32>>>,
}

impl Drop for UidLease {
    fn drop(&mut self) {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.uid);
    }
}

fn storage(uid: Option<&UidLease>, limits: &Limits) -> io::Result<Storage> {
    let (uid, gid) = match uid {
        Some(lease) => (lease.uid, lease.uid),
        None => (geteuid().as_raw(), getegid().as_raw()),
    };
    let options = format!("size={},nr_inodes={},mode=0755", limits.disk_bytes, limits.inodes());
    let directories = STORAGE_BINDS.iter().map(|(source, _)| CString::new(*source)).collect::<Result<_, _>>()?;
    Ok(Storage {
        uid_map: format!("{uid} {uid} 1").into_bytes(),
        gid_map: format!("{gid} {gid} 1").into_bytes(),
        mount_point: STORAGE_MOUNT,
        options: CString::new(options)?,
        directories,
    })
}

fn sealed(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd()?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

fn memfd() -> io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(c"vitrine", MemfdFlags::CLOEXEC)?)
}

fn borrowed(fds: &[OwnedFd]) -> Vec<BorrowedFd<'_>> {
    fds.iter().map(AsFd::as_fd).collect()
}
