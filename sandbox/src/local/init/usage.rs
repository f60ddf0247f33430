//! What the processes of the sandbox use, summed over `/proc`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::local::sys;

/// The unit in which Linux reports processor time to programs, on every architecture.
const TICKS_PER_SECOND: u64 = 100;

/// Processor share over `sample_ms` and resident memory now.
pub fn sample(sample_ms: u64) -> Value {
    let (before, _) = totals();
    std::thread::sleep(Duration::from_millis(sample_ms.min(5_000)));
    let (after, resident_pages) = totals();
    let ticks = after.saturating_sub(before);
    json!({
        "cpu_ms": ticks * 1_000 / TICKS_PER_SECOND,
        "resident_bytes": resident_pages * sys::page_size(),
        "cpu_count": std::thread::available_parallelism().map_or(1, usize::from),
    })
}

fn totals() -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir("/proc") else { return (0, 0) };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(of_process)
        .fold((0, 0), |(ticks, pages), (more_ticks, more_pages)| (ticks + more_ticks, pages + more_pages))
}

fn of_process(pid: u32) -> Option<(u64, u64)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // Counted from the state, which is the third field: utime and stime are 14 and 15, rss is 24.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let number = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok());
    Some((number(11)? + number(12)?, number(21)?))
}
