//! The memory watch: where no control group bounds the memory of a sandbox, its init adds up what the processes hold.
//!
//! Rule: it looks often while programs run and kills the largest process when the sum is over the limit, as the kernel
//! does in a group. For a moment between two looks the sum may be over it. What processes share counts once.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::local::protocol::MemoryLimits;

/// Between two looks: while there is room, and when more than half is used.
const CALM: Duration = Duration::from_millis(50);
const CLOSE: Duration = Duration::from_millis(10);
/// After a kill, until the kernel has taken the memory back.
const AFTER_KILL: Duration = Duration::from_millis(5);
const KIB: u64 = 1024;

/// What one process holds, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// Memory of its own.
    anonymous: u64,
    /// Memory that looks like a file and is none: shared memory, and pages of the sandbox's storage.
    shared: u64,
}

/// Looks once, kills if it must, and says when to look again; `None` when there is no process to watch.
pub fn look(limits: &MemoryLimits) -> Option<Duration> {
    let processes: Vec<(Pid, Held)> = pids().filter_map(|pid| Some((pid, roughly(pid)?))).collect();
    if processes.is_empty() {
        return None;
    }
    let sum = total(&processes);
    if !is_over(limits, sum) {
        return Some(if sum.anonymous > limits.memory_bytes / 2 { CLOSE } else { CALM });
    }
    // The rough sum counts what is shared by fork once for each process; the exact one takes longer to get.
    let exactly: Vec<_> = processes.into_iter().map(|(pid, held)| (pid, exactly(pid).unwrap_or(held))).collect();
    if !is_over(limits, total(&exactly)) {
        return Some(CALM);
    }
    let largest = exactly.into_iter().max_by_key(|(_, held)| held.anonymous + held.shared);
    let _ = largest.map(|(pid, _)| kill_process(pid, Signal::KILL));
    Some(AFTER_KILL)
}

fn is_over(limits: &MemoryLimits, sum: Held) -> bool {
    sum.anonymous > limits.memory_bytes || sum.anonymous + sum.shared > limits.memory_bytes + limits.storage_bytes
}

fn total(processes: &[(Pid, Held)]) -> Held {
    processes.iter().fold(Held::default(), |sum, (_, held)| Held {
        anonymous: sum.anonymous + held.anonymous,
        shared: sum.shared + held.shared,
    })
}

/// Every process but the init, whose memory is part of the allowance.
fn pids() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|number| *number > 1).filter_map(Pid::from_raw)
}

fn roughly(pid: Pid) -> Option<Held> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    // One that has ended holds nothing and has no such lines.
    Some(Held { anonymous: kib(&status, "RssAnon:")?, shared: kib(&status, "RssShmem:")? })
}

fn exactly(pid: Pid) -> Option<Held> {
    let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero())).ok()?;
    Some(Held { anonymous: kib(&rollup, "Pss_Anon:")?, shared: kib(&rollup, "Pss_Shmem:")? })
}

fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|number| number * KIB)
}

#[cfg(test)]
mod tests {
    use super::{Held, is_over, kib};
    use crate::local::protocol::MemoryLimits;

    #[test]
    fn storage_is_no_excuse_for_memory() {
        let limits = MemoryLimits { memory_bytes: 100, storage_bytes: 50 };
        for (anonymous, shared, expected) in [(100, 50, false), (101, 0, true), (60, 91, true), (0, 150, false)] {
            assert_eq!(is_over(&limits, Held { anonymous, shared }), expected, "{anonymous} {shared}");
        }
    }

    #[test]
    fn reads_the_kernels_lines() {
        assert_eq!(kib("RssAnon:\t    12 kB\nRssFile:\t 1 kB\n", "RssAnon:"), Some(12 * 1024));
        assert_eq!(kib("State:\tZ (zombie)\n", "RssAnon:"), None);
    }
}
