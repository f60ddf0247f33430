//! Collects what lies in `outputs/`: regular files only, bounded in number and size, each version once.
//!
//! Rule: an entry that cannot be taken is told with its reason, and the others are taken all the same. Where the server is
//! lost on the way the collection fails as a whole, and nothing of it counts as seen.

use std::collections::HashMap;

use bytes::Bytes;
use domain::clock::Timestamp;
use domain::ids::SandboxId;
use domain::sandbox::{
    Collected, CollectedFile, EntryKind, Listing, RefusedOutput, SandboxError, WhyRefused, WorkspaceEntry,
};

use super::clients::SandboxManager;
use super::workspace;
use crate::opensandbox::Sandbox;

const OUTPUTS: &str = "outputs";
const MAX_FILES: usize = 64;
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
/// Files that one collection asks for, whether it gets them or not.
const MAX_ASKED: usize = 128;
/// How often a file is read that changes meanwhile.
const READS: usize = 2;

/// What the last claim that collected from a sandbox has got and was told.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// Which claim of the execution that was. The next one gets everything again: what this one could not record is no
    /// artifact yet.
    attempt: u32,
    /// Size and time of each file when it was taken.
    files: HashMap<String, (u64, Option<Timestamp>)>,
    refused: HashMap<String, WhyRefused>,
}

/// Collects alone; the caller holds [`SandboxManager::collect_alone`].
pub(super) async fn collect(
    manager: &SandboxManager,
    id: SandboxId,
    attempt: u32,
    remote: &Sandbox,
) -> Result<Collected, SandboxError> {
    let seen = manager.with_seen(id, |seen| seen.clone()).filter(|seen| seen.attempt == attempt);
    let seen = seen.unwrap_or_else(|| Seen { attempt, ..Seen::default() });
    let mut collection =
        Collection { remote, seen, found: Collected::default(), left_bytes: MAX_TOTAL_BYTES, asked: 0 };
    collection.take_all().await?;
    let Collection { seen, found, .. } = collection;
    manager.with_seen(id, |kept| *kept = seen);
    Ok(found)
}

struct Collection<'a> {
    remote: &'a Sandbox,
    seen: Seen,
    found: Collected,
    left_bytes: u64,
    asked: usize,
}

/// What a file turned out to be when it was read.
enum Reading {
    Whole(WorkspaceEntry, Bytes),
    Gone,
    Refused(WhyRefused),
}

impl Collection<'_> {
    async fn take_all(&mut self) -> Result<(), SandboxError> {
        let listed = workspace::list_directory(self.remote, OUTPUTS, workspace::DEPTH).await;
        let Listing { mut entries, unlisted, is_cut } = match inaccessible(listed)? {
            Some(Some(listing)) => listing,
            Some(None) => return self.explain_root().await,
            None => {
                self.refuse(".", WhyRefused::Unreadable);
                return Ok(());
            }
        };
        self.found.is_cut = is_cut;
        for directory in &unlisted {
            self.refuse(below(directory), WhyRefused::Unreadable);
        }
        // What could not be had before does not keep others from being asked for.
        entries.sort_by_key(|entry| self.seen.refused.contains_key(below(&entry.path)));
        for entry in entries {
            self.take(entry).await?;
        }
        Ok(())
    }

    /// There is no such directory. The agent may have removed its own workspace, or have put something in its place;
    /// nothing is collected through a link.
    async fn explain_root(&mut self) -> Result<(), SandboxError> {
        match workspace::entry(self.remote, OUTPUTS).await?.map(|entry| entry.kind) {
            Some(EntryKind::Link) => self.refuse(".", WhyRefused::Link),
            Some(_) => self.refuse(".", WhyRefused::Unreadable),
            None => {}
        }
        Ok(())
    }

    async fn take(&mut self, entry: WorkspaceEntry) -> Result<(), SandboxError> {
        let name = below(&entry.path).to_owned();
        let refusal = match entry.kind {
            EntryKind::Directory => return Ok(()),
            EntryKind::File if !name.contains(char::is_control) => None,
            EntryKind::Link => Some(WhyRefused::Link),
            EntryKind::Special => Some(WhyRefused::Special),
            EntryKind::File | EntryKind::Unnamed | EntryKind::Hidden => Some(WhyRefused::Name),
        };
        if let Some(why) = refusal {
            self.refuse(&name, why);
            return Ok(());
        }
        if self.seen.files.get(&name) == Some(&version(&entry)) {
            return Ok(());
        }
        let fits = entry.byte_size <= MAX_FILE_BYTES.min(self.left_bytes);
        if !fits || self.found.files.len() == MAX_FILES || self.asked == MAX_ASKED {
            self.found.left_out += 1;
            return Ok(());
        }
        self.asked += 1;
        match self.read(entry).await? {
            Reading::Whole(entry, bytes) => {
                self.left_bytes = self.left_bytes.saturating_sub(bytes.len() as u64);
                self.seen.files.insert(name.clone(), version(&entry));
                self.seen.refused.remove(&name);
                self.found.files.push(CollectedFile { name, bytes });
            }
            Reading::Refused(why) => self.refuse(&name, why),
            Reading::Gone => {}
        }
        Ok(())
    }

    /// A file is taken when it is the same before and after it was read: a program may have put a link in its place, which
    /// a server follows with rights that the program does not have.
    async fn read(&self, mut entry: WorkspaceEntry) -> Result<Reading, SandboxError> {
        let limit = MAX_FILE_BYTES.min(self.left_bytes);
        for _ in 0..READS {
            let read = match workspace::read(self.remote, &entry.path, limit).await {
                Err(error) if error.code == "FILE_CHANGED" => Ok(None),
                read => read,
            };
            let (Some(bytes), Some(after)) =
                (inaccessible(read)?, inaccessible(workspace::entry(self.remote, &entry.path).await)?)
            else {
                return Ok(Reading::Refused(WhyRefused::Unreadable));
            };
            let Some(after) = after else { return Ok(Reading::Gone) };
            match (after.kind, bytes) {
                (EntryKind::Link, _) => return Ok(Reading::Refused(WhyRefused::Link)),
                (EntryKind::File, Some(bytes))
                    if version(&after) == version(&entry) && bytes.len() as u64 == entry.byte_size =>
                {
                    return Ok(Reading::Whole(entry, bytes));
                }
                _ => entry = after,
            }
        }
        Ok(Reading::Refused(WhyRefused::Changing))
    }

    /// Told once for each entry, as long as the reason is the same.
    fn refuse(&mut self, name: &str, why: WhyRefused) {
        if self.seen.refused.insert(name.to_owned(), why) != Some(why) {
            self.found.refused.push(RefusedOutput { name: name.to_owned(), why });
        }
    }
}

/// None for a path that the server does not let be used so.
fn inaccessible<T>(outcome: Result<T, SandboxError>) -> Result<Option<T>, SandboxError> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code == SandboxError::PATH_NOT_ACCESSIBLE => Ok(None),
        Err(error) => Err(error),
    }
}

fn version(entry: &WorkspaceEntry) -> (u64, Option<Timestamp>) {
    (entry.byte_size, entry.modified_at)
}

/// The part of a path below `outputs/`.
fn below(path: &str) -> &str {
    path.strip_prefix(OUTPUTS).map_or(path, |name| name.trim_start_matches('/'))
}
