//! The files of a PlayedSandbox, and the commands that change them: `put NAME TEXT`, `rm NAME`, `link NAME`, `ls`.

use std::collections::BTreeMap;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::sandbox::{EntryKind, WorkspaceEntry};

/// What lies in one sandbox.
#[derive(Default)]
pub struct PlayedFiles {
    entries: BTreeMap<String, Entry>,
    changes: i64,
}

struct Entry {
    kind: EntryKind,
    mode: u32,
    bytes: Bytes,
    changed: i64,
}

impl PlayedFiles {
    /// What a command prints; None when it is none of these.
    pub fn run(&mut self, command: &str) -> Option<String> {
        let mut words = command.split(' ');
        match (words.next()?, words.next(), words.next()) {
            ("put", Some(name), Some(text)) => self.put(name, 0o644, Bytes::from(text.to_owned())),
            ("link", Some(name), None) => self.add(name, EntryKind::Link, 0o777, Bytes::new()),
            ("rm", Some(name), None) => drop(self.entries.remove(name)),
            ("ls", None, None) => {
                let line =
                    |(name, entry): (&String, &Entry)| format!("{name}={}", String::from_utf8_lossy(&entry.bytes));
                return Some(self.entries.iter().map(line).collect::<Vec<_>>().join(" "));
            }
            _ => return None,
        }
        Some("done".to_owned())
    }

    pub fn put(&mut self, name: &str, mode: u32, bytes: Bytes) {
        self.add(name, EntryKind::File, mode, bytes);
    }

    pub fn make_directory(&mut self, name: &str, mode: u32) {
        self.add(name, EntryKind::Directory, mode, Bytes::new());
    }

    pub fn get(&self, name: &str) -> Option<Bytes> {
        self.entries.get(name).map(|entry| entry.bytes.clone())
    }

    /// What lies below a directory; None when nothing does, since only files make directories here.
    pub fn list_below(&self, path: &str, depth: u32) -> Option<Vec<WorkspaceEntry>> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let is_near = |name: &str| name.matches('/').count() < usize::try_from(depth).unwrap();
        let found: Vec<_> =
            self.list().into_iter().filter(|entry| entry.path.strip_prefix(&prefix).is_some_and(is_near)).collect();
        (path.is_empty() || !found.is_empty()).then_some(found)
    }

    pub fn list(&self) -> Vec<WorkspaceEntry> {
        let entry = |(name, entry): (&String, &Entry)| WorkspaceEntry {
            path: name.clone(),
            kind: entry.kind,
            byte_size: entry.bytes.len() as u64,
            mode: entry.mode,
            // Long ago, so that no change is too fresh to be told from another.
            modified_at: Some(Timestamp::from_micros(entry.changed * 1000 + 1)),
        };
        self.entries.iter().map(entry).collect()
    }

    fn add(&mut self, name: &str, kind: EntryKind, mode: u32, bytes: Bytes) {
        self.changes += 1;
        self.entries.insert(name.to_owned(), Entry { kind, mode, bytes, changed: self.changes });
    }
}
