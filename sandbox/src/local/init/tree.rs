//! The processes that descend from a supervisor, found in `/proc`.

use std::collections::HashMap;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Every living descendant of this process, parents before their children: a shell that is stopped after what it waits for
/// would end by itself first.
///
/// The supervisor is a subreaper: a descendant whose parent ended becomes its child, so nobody leaves the tree.
pub fn descendants() -> Vec<Pid> {
    let parents = living();
    let root = getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    for &pid in parents.keys() {
        let mut ancestor = pid;
        // A process can name itself as nobody's ancestor, so the length of the chain is bounded by the table.
        for depth in 0..parents.len() {
            let Some(&parent) = parents.get(&ancestor) else { break };
            if parent == root {
                found.extend(Pid::from_raw(pid).map(|pid| (depth, pid)));
                break;
            }
            ancestor = parent;
        }
    }
    found.sort_by_key(|(depth, _)| *depth);
    found.into_iter().map(|(_, pid)| pid).collect()
}

/// Sends `signal` to every living descendant and says how many there were.
pub fn signal_descendants(signal: Signal) -> usize {
    let found = descendants();
    for &pid in &found {
        let _ = kill_process(pid, signal);
    }
    found.len()
}

/// Process ids and parents of all processes that have not ended.
fn living() -> HashMap<i32, i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| Some((pid, parent_if_living(pid)?)))
        .collect()
}

fn parent_if_living(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name in parentheses may hold anything, further parentheses included.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok(),
    }
}
