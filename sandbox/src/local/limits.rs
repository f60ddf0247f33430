//! Limits of one sandbox, read from the `resourceLimits` of a create request.

use std::collections::BTreeMap;

use super::protocol::{InitLimits, MemoryLimits};

const MIB: u64 = 1024 * 1024;
/// The cgroup's allowance for the init, its helpers and page tables.
const OVERHEAD_BYTES: u64 = 32 * MIB;
/// What the kernel keeps per file of a tmpfs, rounded up.
const BYTES_PER_INODE: u64 = 1280;
/// A thousand processors, in thousandths of one.
const MAX_CPU_MILLI: u64 = 1_000_000;

/// What a sandbox may use at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Thousandths of a processor.
    pub cpu_milli: Option<u64>,
    pub memory_bytes: u64,
    /// Everything that the sandbox stores: workspace, home, temporary files, shared memory.
    pub disk_bytes: u64,
    pub pids: u64,
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_milli: None, memory_bytes: 512 * MIB, disk_bytes: 256 * MIB, pids: 256, open_files: 1024 }
    }
}

impl Limits {
    /// Reads the known keys; others are ignored, as the protocol asks.
    pub fn parse(given: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut limits = Self::default();
        for (key, text) in given {
            let invalid = || format!("resourceLimits.{key}: {text:?} is not valid: {}", rule(key));
            match key.as_str() {
                "cpu" => {
                    let milli = cpu(text).filter(|milli| (10..=MAX_CPU_MILLI).contains(milli));
                    limits.cpu_milli = Some(milli.ok_or_else(invalid)?);
                }
                "memory" => limits.memory_bytes = bytes(text).filter(|n| *n >= 16 * MIB).ok_or_else(invalid)?,
                "disk" => limits.disk_bytes = bytes(text).filter(|n| *n >= MIB).ok_or_else(invalid)?,
                "pids" => limits.pids = text.parse().ok().filter(|n| (8..=100_000).contains(n)).ok_or_else(invalid)?,
                _ => {}
            }
        }
        Ok(limits)
    }

    /// How many files and directories the sandbox may make.
    pub fn inodes(&self) -> u64 {
        (self.disk_bytes / 8192).clamp(4096, 262_144)
    }

    /// The cgroup's limit: with storage added, a full disk is an error of `write` and not a kill.
    pub fn cgroup_memory_bytes(&self) -> u64 {
        self.memory_bytes + self.disk_bytes + self.inodes() * BYTES_PER_INODE + OVERHEAD_BYTES
    }

    /// bubblewrap and the init come on top of what the profile allows.
    pub fn cgroup_pids(&self) -> u64 {
        self.pids + 2
    }

    /// What the init lets the processes hold where there is no cgroup.
    pub fn watched_memory(&self) -> MemoryLimits {
        MemoryLimits { memory_bytes: self.memory_bytes + OVERHEAD_BYTES, storage_bytes: self.disk_bytes }
    }

    pub fn init_limits(&self) -> InitLimits {
        // Above the storage, so that whoever fills it gets an error and not a signal.
        let file_bytes = self.disk_bytes + MIB;
        InitLimits { open_files: self.open_files, file_bytes, processes: self.cgroup_pids() }
    }
}

fn rule(key: &str) -> &'static str {
    match key {
        "cpu" => "give a number of processors from 10m to 1000, as 500m or 1.5",
        "memory" => "give at least 16Mi and less than 65536Gi, as 512Mi or 2Gi",
        "disk" => "give at least 1Mi and less than 65536Gi, as 512Mi or 2Gi",
        _ => "give a number from 8 to 100000",
    }
}

fn cpu(text: &str) -> Option<u64> {
    if let Some(milli) = text.strip_suffix('m') {
        return milli.parse().ok();
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 || !fraction.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(fraction)
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1024,
        "Mi" => MIB,
        "Gi" => 1024 * MIB,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes < 1 << 46)
}

#[cfg(test)]
mod tests {
    use super::{Limits, bytes, cpu};

    #[test]
    fn reads_units() {
        assert_eq!(bytes("512Mi"), Some(512 << 20));
        assert_eq!(bytes("2G"), Some(2_000_000_000));
        assert_eq!(bytes("17"), Some(17));
        assert_eq!(bytes("1.5Gi"), None);
        assert_eq!(bytes("Mi"), None);
        assert_eq!(bytes("99999999999999999999"), None);
        assert_eq!(cpu("500m"), Some(500));
        assert_eq!(cpu("1.5"), Some(1500));
        assert_eq!(cpu("2"), Some(2000));
        assert_eq!(cpu("-1"), None);
    }

    #[test]
    fn refuses_limits_of_zero() {
        for key in ["cpu", "memory", "disk", "pids"] {
            let given = [(key.to_owned(), "0".to_owned())].into();
            assert!(Limits::parse(&given).unwrap_err().contains(key));
        }
    }

    #[test]
    fn refuses_more_processors_than_there_can_be() {
        let with = |cpu: &str| Limits::parse(&[("cpu".to_owned(), cpu.to_owned())].into());
        assert_eq!(with("1000").unwrap().cpu_milli, Some(1_000_000));
        for cpu in ["1000.001", "184467440737096", "18446744073709551615m"] {
            assert!(with(cpu).unwrap_err().contains("from 10m to 1000"), "{cpu}");
        }
    }

    #[test]
    fn leaves_room_for_a_full_disk() {
        let limits = Limits::default();
        assert!(limits.cgroup_memory_bytes() > limits.memory_bytes + limits.disk_bytes);
    }
}
