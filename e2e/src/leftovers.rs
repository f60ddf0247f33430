//! What a server has left on its host.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::Result;

/// Processes, sandbox directories and control groups that belong to a data directory.
pub fn leftovers(data_dir: &Path) -> Result<Vec<String>> {
    let state = std::fs::canonicalize(data_dir)?.join("sandboxes");
    let mut found = processes(&state)?;
    if let Ok(entries) = std::fs::read_dir(state.join("sandboxes")) {
        for entry in entries {
            found.push(format!("directory {}", entry?.path().display()));
        }
    }
    let digest = Sha256::digest(state.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    groups(Path::new("/sys/fs/cgroup"), &format!("vitrine-{hex}"), 6, &mut found);
    Ok(found)
}

fn processes(state: &Path) -> Result<Vec<String>> {
    let state = state.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        // What is no process, or one no more, has no command line.
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&state) {
            found.push(format!("process {} {line}", entry.file_name().display()));
        }
    }
    Ok(found)
}

fn groups(below: &Path, name: &str, depth: u32, found: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let Ok(entries) = std::fs::read_dir(below) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().contains(name) {
            found.push(format!("control group {}", entry.path().display()));
        }
        groups(&entry.path(), name, depth, found);
    }
}
