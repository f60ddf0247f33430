//! The state directory: one lock, one directory per sandbox with a record of what must be cleaned after a crash.
//!
//! Rule: whoever holds the lock owns everything that a record names, and removes what it did not start itself.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cgroup;
use super::error::Error;

const RECORD: &str = "record.json";
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct StateDir {
    root: PathBuf,
    _lock: File,
}

/// What a sandbox has on the host.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    pub pid: u32,
    /// The start time of that process in the kernel's ticks, which tells it from a later one with the same number.
    pub started: u64,
    pub cgroups: Vec<PathBuf>,
}

impl StateDir {
    /// Takes the directory, making it when missing, and removes what a killed runtime has left there.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let sandboxes = root.join("sandboxes");
        let make = || DirBuilder::new().recursive(true).mode(0o700).create(&sandboxes);
        make().map_err(Error::io("cannot make the state directory"))?;
        let root = fs::canonicalize(root).map_err(Error::io("cannot resolve the state directory"))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(root.join("lock"))
            .map_err(Error::io("cannot open the lock of the state directory"))?;
        if !takes_lock(&lock) {
            return Err(Error::InUse(root));
        }
        let state = Self { root, _lock: lock };
        state.remove_leftovers().map_err(Error::io("cannot clean the state directory"))?;
        Ok(state)
    }

    /// A name that is the same for every runtime on this directory and different for others.
    pub fn name(&self) -> String {
        let digest = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        format!("vitrine-{}", data_encoding::HEXLOWER.encode(&digest[..8]))
    }

    /// Makes the directory of a sandbox.
    pub fn create(&self, id: &str) -> io::Result<PathBuf> {
        let directory = self.root.join("sandboxes").join(id);
        DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(directory)
    }

    fn remove_leftovers(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.root.join("sandboxes"))? {
            let directory = entry?.path();
            let record = fs::read(directory.join(RECORD)).ok();
            if let Some(record) = record.and_then(|text| serde_json::from_slice::<Record>(&text).ok()) {
                record.clean();
            }
            fs::remove_dir_all(&directory)?;
            tracing::info!(sandbox.directory = %directory.display(), "removed what a former runtime left");
        }
        Ok(())
    }
}

impl Record {
    pub fn of(pid: u32, cgroups: Vec<PathBuf>) -> Self {
        Self { pid, started: start_time(pid).unwrap_or(0), cgroups }
    }

    pub fn store(&self, directory: &Path) -> io::Result<()> {
        fs::write(directory.join(RECORD), serde_json::to_vec(self)?)
    }

    fn clean(self) {
        if self.started != 0 && start_time(self.pid) == Some(self.started) {
            let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
        }
        cgroup::recorded(self.cgroups).remove();
    }
}

/// A runtime whose server was killed needs a moment to end its sandboxes; its successor waits for that.
fn takes_lock(lock: &File) -> bool {
    let waiting_since = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return true,
            Err(_) if waiting_since.elapsed() > LOCK_PATIENCE => return false,
            Err(_) => std::thread::sleep(LOCK_PAUSE),
        }
    }
}

fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}
