//! A Freezer stops every process of a sandbox at once and lets them go on, by its control group.
//!
//! Rule: no process of the sandbox can tell or undo it. Where no group can freeze, the init stops the others by
//! signal, which is as complete, but which a program can arrange to be woken from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::{FREEZER_STATE, kill_members, members, write};

/// How long the kernel may take until the last process stands still.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(1);

/// How the processes of one sandbox are frozen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Freezer {
    /// No control group can do it.
    #[default]
    None,
    /// Version 2: the sandbox's own group.
    Two(PathBuf),
    /// Version 1: a group of its own, which is made when it is first needed, since joining it costs time.
    One { directory: PathBuf, members_of: PathBuf },
}

impl Freezer {
    /// Returns when every process stands still. Blocks.
    pub fn freeze(&self) -> io::Result<()> {
        let outcome = self.try_freeze(Instant::now() + PATIENCE);
        if outcome.is_err() {
            let _ = self.thaw();
        }
        outcome
    }

    fn try_freeze(&self, until: Instant) -> io::Result<()> {
        match self {
            Self::None => Err(io::ErrorKind::Unsupported.into()),
            Self::Two(directory) => {
                write(directory, "cgroup.freeze", "1")?;
                let is_frozen = || Ok(fs::read_to_string(directory.join("cgroup.events"))?.contains("frozen 1"));
                wait_for(until, is_frozen)
            }
            Self::One { directory, members_of } => {
                fs::create_dir_all(directory)?;
                write(directory, FREEZER_STATE, "FROZEN")?;
                wait_for(until, || {
                    let inside = members(directory);
                    let outside: Vec<_> = members(members_of).into_iter().filter(|pid| !inside.contains(pid)).collect();
                    for pid in &outside {
                        // One that has ended meanwhile needs no freezing.
                        let _ = write(directory, "cgroup.procs", &pid.as_raw_nonzero().to_string());
                    }
                    let state = fs::read_to_string(directory.join(FREEZER_STATE))?;
                    Ok(outside.is_empty() && state.trim() == "FROZEN")
                })
            }
        }
    }

    /// Lets every process go on.
    pub fn thaw(&self) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Two(directory) => write(directory, "cgroup.freeze", "0"),
            Self::One { directory, .. } => write(directory, FREEZER_STATE, "THAWED"),
        }
    }

    /// Ends every frozen process: none of them runs another instruction of its own.
    pub fn kill(&self) {
        // A frozen process of version 1 dies when it is thawed.
        if let Self::One { directory, .. } = self {
            kill_members(directory);
            let _ = self.thaw();
        }
    }

    /// The group that was made for this alone.
    pub fn own_directory(&self) -> Option<&Path> {
        match self {
            Self::One { directory, .. } => Some(directory),
            Self::None | Self::Two(_) => None,
        }
    }
}

fn wait_for(until: Instant, is_so: impl Fn() -> io::Result<bool>) -> io::Result<()> {
    while !is_so()? {
        if Instant::now() > until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
