//! Control groups: the kernel's own bounds on memory, processes and processor time.
//!
//! Rule: a limit counts as a group's only when this runtime could make a writable group for it; what stands in for one
//! is told apart. Version 2 is tried first, then version 1 with its separate hierarchies. Groups lie below the runtime's own, under one directory that
//! is named after the state directory, so that a later runtime recognises what an earlier one has left.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::delegation::{Delegation, Family};
use super::freezer::Freezer;
use super::limits::Limits;

/// Whether the runtime may use control groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cgroups {
    /// Use them where they are writable.
    #[default]
    Auto,
    /// Act as on a host without them.
    Off,
}

/// How long the kernel may take to let go of a group whose processes were killed.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(5);
/// The file of a version 1 group that freezes and thaws it.
pub const FREEZER_STATE: &str = "freezer.state";
const CPU_PERIOD_US: u64 = 100_000;

/// The parent directories in which groups of sandboxes are made, by controller.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    version: Version,
    memory: Option<PathBuf>,
    pids: Option<PathBuf>,
    cpu: Option<PathBuf>,
    /// Version 1 only; the group of version 2 freezes by itself.
    freezer: Option<PathBuf>,
    /// Why there are no groups, where that is so.
    missing: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    One,
    Two,
}

/// The control groups of one sandbox.
#[derive(Clone, Debug, Default)]
pub struct Group {
    pub directories: Vec<PathBuf>,
    memory_usage: Option<PathBuf>,
    pub freezer: Freezer,
}

impl Ground {
    /// Finds out what this host allows, by trying.
    pub fn detect(mode: Cgroups, name: &str, family: Family) -> Self {
        if mode == Cgroups::Off {
            return Self::default();
        }
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let why = match version_two(&own, &mounts, name, family) {
            Ok(ground) => return ground,
            Err(why) => why,
        };
        let ground = version_one(&own, &mounts, name);
        if ground.memory.is_some() && ground.pids.is_some() {
            tracing::debug!(reason = why, "control groups of version 1 are used, and not those of version 2");
            return ground;
        }
        tracing::warn!(reason = why, "control groups are missing; what stands in for them bounds sandboxes");
        Self { missing: Some(why), ..ground }
    }

    /// Why there are no groups for memory and processes, or nothing.
    pub fn missing(&self) -> Option<&'static str> {
        self.missing
    }

    /// Memory, storage and processes are bounded everywhere, by a control group or by what stands behind the colon;
    /// the share of the processor only by a group.
    pub fn enforced(&self) -> Vec<&'static str> {
        let by = |group: &Option<PathBuf>, own, other| if group.is_some() { own } else { other };
        let mut enforced = vec![
            by(&self.memory, "memory", "memory:watched"),
            // The storage is a file system with a size of its own.
            "disk",
            by(&self.pids, "pids", "pids:rlimit"),
        ];
        enforced.extend(self.cpu.as_ref().map(|_| "cpu"));
        enforced
    }

    /// Whether a group bounds the number of processes.
    pub fn bounds_processes(&self) -> bool {
        self.pids.is_some()
    }

    /// Makes the groups of a sandbox with its limits set.
    pub fn create(&self, id: &str, limits: &Limits) -> io::Result<Group> {
        let mut group = Group::default();
        let outcome = self.fill(&mut group, id, limits);
        if outcome.is_err() {
            group.remove();
        }
        outcome.map(|()| group)
    }

    fn fill(&self, group: &mut Group, id: &str, limits: &Limits) -> io::Result<()> {
        let is_two = self.version == Version::Two;
        if let Some(directory) = group.add(self.memory.as_deref(), id)? {
            let bytes = limits.cgroup_memory_bytes().to_string();
            if is_two {
                write(&directory, "memory.max", &bytes)?;
                write_if_there(&directory, "memory.swap.max", "0")?;
            } else {
                write(&directory, "memory.limit_in_bytes", &bytes)?;
                write_if_there(&directory, "memory.memsw.limit_in_bytes", &bytes)?;
            }
            let usage = if is_two { "memory.current" } else { "memory.usage_in_bytes" };
            group.memory_usage = Some(directory.join(usage));
        }
        if let Some(directory) = group.add(self.pids.as_deref(), id)? {
            write(&directory, "pids.max", &limits.cgroup_pids().to_string())?;
        }
        if let (Some(milli), Some(directory)) = (limits.cpu_milli, group.add(self.cpu.as_deref(), id)?) {
            let quota = (milli * CPU_PERIOD_US / 1000).max(1000);
            if is_two {
                write(&directory, "cpu.max", &format!("{quota} {CPU_PERIOD_US}"))?;
            } else {
                write(&directory, "cpu.cfs_period_us", &CPU_PERIOD_US.to_string())?;
                write(&directory, "cpu.cfs_quota_us", &quota.to_string())?;
            }
        }
        group.freezer = match (group.directories.first(), &self.freezer) {
            (Some(own), _) if is_two && own.join("cgroup.freeze").exists() => Freezer::Two(own.clone()),
            (Some(own), Some(base)) => Freezer::One { directory: base.join(id), members_of: own.clone() },
            _ => Freezer::None,
        };
        Ok(())
    }

    /// Removes every group below this runtime's own directories: nobody else makes groups there.
    pub fn remove_leftovers(&self) {
        for base in self.bases() {
            let Ok(entries) = fs::read_dir(base) else { continue };
            let children = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
            recorded(children.collect()).remove();
        }
    }

    /// Removes the runtime's own directories, which must be empty.
    pub fn close(&self) {
        for base in self.bases() {
            let _ = fs::remove_dir(base);
        }
    }

    fn bases(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.memory, &self.pids, &self.cpu, &self.freezer].into_iter().flatten()
    }
}

impl Group {
    /// Opens the files through which a process joins the groups.
    pub fn open_procs(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |directory: &PathBuf| OpenOptions::new().write(true).open(directory.join("cgroup.procs"));
        self.directories.iter().map(|directory| open(directory).map(OwnedFd::from)).collect()
    }

    /// Whether the kernel bounds the memory of all processes together.
    pub fn bounds_memory(&self) -> bool {
        self.memory_usage.is_some()
    }

    /// Bytes in use, storage included.
    pub fn memory_used(&self) -> Option<u64> {
        fs::read_to_string(self.memory_usage.as_ref()?).ok()?.trim().parse().ok()
    }

    /// Kills what is left in the groups and removes them. Blocks until the kernel has let go of them.
    pub fn remove(&self) {
        // What is frozen does not die: it is thawed first, with its end waiting for it.
        for directory in self.all_directories().filter(|directory| directory.join(FREEZER_STATE).exists()) {
            kill_members(directory);
            let _ = write(directory, FREEZER_STATE, "THAWED");
        }
        let until = Instant::now() + REMOVAL_PATIENCE;
        for directory in self.all_directories() {
            while let Err(error) = fs::remove_dir(directory) {
                if error.kind() == io::ErrorKind::NotFound || Instant::now() > until {
                    break;
                }
                kill_members(directory);
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// The directories of a sandbox, those that may be made later as well.
    pub fn all_directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(PathBuf::as_path).chain(self.freezer.own_directory())
    }

    fn add(&mut self, base: Option<&Path>, id: &str) -> io::Result<Option<PathBuf>> {
        let Some(base) = base else { return Ok(None) };
        let directory = base.join(id);
        if !self.directories.contains(&directory) {
            fs::create_dir_all(&directory)?;
            self.directories.push(directory.clone());
        }
        Ok(Some(directory))
    }
}

/// Rebuilds the handle of groups from the directories that a record names.
pub fn recorded(directories: Vec<PathBuf>) -> Group {
    Group { directories, ..Group::default() }
}

/// The processes of a group.
pub fn members(directory: &Path) -> Vec<Pid> {
    let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

pub fn kill_members(directory: &Path) {
    for pid in members(directory) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn version_two(own: &str, mounts: &str, name: &str, family: Family) -> Result<Ground, &'static str> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"));
    let group = path.and_then(|path| locate(mounts, path, |kind, _| kind == "cgroup2"));
    let Delegation { base, has_cpu } = Delegation::prepare(&group.ok_or("this host has no version 2")?, name, family)?;
    let cpu = has_cpu.then(|| base.clone());
    let (memory, pids) = (Some(base.clone()), Some(base));
    Ok(Ground { version: Version::Two, memory, pids, cpu, freezer: None, missing: None })
}

fn version_one(own: &str, mounts: &str, name: &str) -> Ground {
    let base = |controller: &str| {
        let names = |list: &str| list.split(',').any(|item| item == controller);
        let path = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            names(controllers).then_some(path)
        })?;
        let base = locate(mounts, path, |kind, options| kind == "cgroup" && names(options))?.join(name);
        fs::create_dir_all(&base).ok()?;
        // Joining is what matters; a directory alone may be made in places where nobody may be moved.
        OpenOptions::new().write(true).open(base.join("cgroup.procs")).ok()?;
        Some(base)
    };
    Ground {
        version: Version::One,
        memory: base("memory"),
        pids: base("pids"),
        cpu: base("cpu"),
        freezer: base("freezer"),
        missing: None,
    }
}

/// The directory of the cgroup `path` below the mount that `is_wanted(file system type, super options)`.
fn locate(mounts: &str, path: &str, is_wanted: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        if !is_wanted(kind, options) {
            return None;
        }
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, Path::new(mount.next()?));
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let directory = point.join(below);
        Some(if directory.is_dir() { directory } else { point.to_owned() })
    })
}

fn write_if_there(directory: &Path, file: &str, value: &str) -> io::Result<()> {
    if directory.join(file).exists() { write(directory, file, value) } else { Ok(()) }
}

pub fn write(directory: &Path, file: &str, value: &str) -> io::Result<()> {
    use io::Write;
    let mut file: File = OpenOptions::new().write(true).open(directory.join(file))?;
    file.write_all(value.as_bytes())
}
