//! Keeps what lies in the workspace after a tool call, and puts it back into the next sandbox of the execution.
//!
//! A checkpoint is durable before the commit that records the result of the call: whoever resumes behind that commit
//! finds the files that the result speaks of. The sandbox is listed each time; a file is read again only when its size
//! or its time of change is another one. What cannot be kept never ends the execution: it is counted and told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;

use super::claim::Claim;
use crate::clock::Timestamp;
use crate::error::StoreError;
use crate::event::Event;
use crate::sandbox::{
    EntryKind, KeptDirectory, KeptFile, LiveSandbox, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, Manifest,
    SandboxError, WorkspaceCheckpoint, WorkspaceEntry,
};

/// Files that are moved at one time.
const AT_ONCE: usize = 8;
/// The owner may make entries in a directory.
const OWNER_ALL: u32 = 0o700;

/// What is known of the workspace of an execution.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// The newest checkpoint.
    pub checkpoint: Option<WorkspaceCheckpoint>,
    /// Its manifest.
    manifest: Manifest,
    /// The files of the live sandbox that were read or written, by path.
    known: BTreeMap<String, Known>,
}

/// A file as it was when it was listed.
#[derive(Debug, Clone)]
struct Known {
    modified_at: Timestamp,
    listed_at: Timestamp,
    file: KeptFile,
}

impl Known {
    /// Equal size and time mean equal bytes, unless a change could have come within one tick of the file's clock.
    fn is_still(&self, entry: &WorkspaceEntry) -> bool {
        let has_whole_seconds = self.modified_at.as_micros() % 1_000_000 == 0;
        let tick = if has_whole_seconds { Duration::from_secs(1) } else { Duration::from_millis(20) };
        let is_settled = self.modified_at.plus(tick) <= self.listed_at;
        is_settled && self.file.size == entry.byte_size && Some(self.modified_at) == entry.modified_at
    }
}

/// What a listing means: what is kept as it is known, what is to be read, what is left out.
#[derive(Debug, Default)]
struct Plan {
    directories: Vec<KeptDirectory>,
    kept: Vec<KeptFile>,
    to_read: Vec<WorkspaceEntry>,
    left_out: LeftOut,
}

/// How many entries are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LeftOut {
    /// They are no files or directories, or beyond a limit.
    unfit: u32,
    /// They hold a credential's value.
    secret: u32,
}

impl Plan {
    fn of(mut entries: Vec<WorkspaceEntry>, known: &BTreeMap<String, Known>) -> Self {
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        let mut plan = Self::default();
        let mut bytes_left = MAX_TOTAL_BYTES;
        for entry in entries {
            match entry.kind {
                EntryKind::Directory if plan.directories.len() < MAX_FILES => {
                    plan.directories.push(KeptDirectory { path: entry.path, mode: entry.mode });
                }
                EntryKind::File
                    if plan.kept.len() + plan.to_read.len() < MAX_FILES
                        && entry.byte_size <= MAX_FILE_BYTES.min(bytes_left) =>
                {
                    bytes_left -= entry.byte_size;
                    match known.get(&entry.path).filter(|known| known.is_still(&entry)) {
                        Some(known) => plan.kept.push(KeptFile { mode: entry.mode, ..known.file.clone() }),
                        None => plan.to_read.push(entry),
                    }
                }
                EntryKind::Hidden => plan.left_out.secret += 1,
                EntryKind::Directory | EntryKind::File | EntryKind::Link | EntryKind::Special | EntryKind::Unnamed => {
                    plan.left_out.unfit += 1
                }
            }
        }
        plan
    }
}

/// Keeps what lies in the workspace. Returns a warning when there is something new that is not kept.
pub(crate) async fn take(claim: &Claim, sandbox: &LiveSandbox) -> Option<Event> {
    // What ends by a person or a limit is not resumed.
    if claim.signal.cause().is_some() {
        return None;
    }
    let mut workspace = claim.sandbox.workspace.lock().await;
    let before = workspace.checkpoint.clone();
    let (after, left_out) = match keep(claim, sandbox, &mut workspace).await {
        Ok(kept) => kept,
        // It was stopped meanwhile.
        Err(_) if claim.signal.cause().is_some() => return None,
        Err(missed) => {
            tracing::warn!(execution.id = %claim.execution.id, error = &missed as &dyn std::error::Error, "workspace was not kept");
            let manifest = before.as_ref().and_then(|before| before.manifest.clone());
            (WorkspaceCheckpoint { manifest, left_out: 0, is_stale: true }, LeftOut::default())
        }
    };
    let is_told = |checkpoint: &WorkspaceCheckpoint| (checkpoint.left_out, checkpoint.is_stale);
    let is_news = is_told(&after) != before.as_ref().map_or((0, false), is_told);
    let warning = is_news.then(|| warning(after.is_stale, left_out)).flatten();
    claim.sandbox.set_checkpoint(&mut workspace, after);
    warning
}

fn warning(is_stale: bool, LeftOut { unfit, secret }: LeftOut) -> Option<Event> {
    let mut sentences = Vec::new();
    if is_stale {
        let stale = "The workspace could not be read: if the sandbox is lost, what was changed in it since is lost.";
        sentences.push(stale.to_owned());
    }
    if unfit > 0 {
        sentences.push(format!(
            "If the sandbox is lost, {unfit} entries of the workspace are lost: kept are directories and regular \
             files that may be read and whose names the server takes, at most {MAX_FILES} of each, {} MiB a file, {} \
             MiB together.",
            MAX_FILE_BYTES >> 20,
            MAX_TOTAL_BYTES >> 20
        ));
    }
    if secret > 0 {
        sentences.push(format!("Not kept, since each holds a credential's value: {secret} entries."));
    }
    let code = "WORKSPACE_NOT_KEPT".to_owned();
    (!sentences.is_empty()).then(|| Event::WarningRaised { code, message: sentences.join(" ") })
}

/// Why a workspace was not kept, or not put back.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missed {
    #[error("the sandbox did not do it: {0}")]
    Sandbox(#[from] SandboxError),
    #[error("the artifact store did not do it")]
    Store(#[from] StoreError),
    #[error("the execution was stopped")]
    Stopped,
}

async fn keep(
    claim: &Claim,
    sandbox: &LiveSandbox,
    workspace: &mut Workspace,
) -> Result<(WorkspaceCheckpoint, LeftOut), Missed> {
    let listed_at = claim.ports.clock.now();
    let listing = claim.ports.sandboxes.list_workspace(&claim.call_context(), sandbox).await?;
    if listing.is_cut {
        let message = "the workspace has more entries than can be listed".to_owned();
        return Err(SandboxError { code: "WORKSPACE_TOO_LARGE", message, sandbox_lost: false }.into());
    }
    let Plan { directories, mut kept, to_read, mut left_out } = Plan::of(listing.entries, &workspace.known);
    left_out.unfit += u32::try_from(listing.unlisted.len()).unwrap_or(u32::MAX);
    let stored: BTreeSet<&str> = workspace.manifest.files.iter().map(|file| file.sha256.as_str()).collect();
    let mut read_now = Vec::new();
    for some in to_read.chunks(AT_ONCE) {
        // A large workspace must not hold a cancel up.
        if claim.signal.cause().is_some() {
            return Err(Missed::Stopped);
        }
        let read = join_all(some.iter().map(|entry| read(claim, sandbox, entry, &stored))).await;
        for (entry, file) in some.iter().zip(read) {
            match file? {
                Read::Kept(file) => {
                    read_now.push((entry.modified_at, file.clone()));
                    kept.push(file);
                }
                Read::Unreadable => left_out.unfit += 1,
                Read::Secret => left_out.secret += 1,
                Read::Gone => {}
            }
        }
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    let manifest = Manifest { directories, files: kept };
    let is_known = workspace.checkpoint.as_ref().and_then(|checkpoint| checkpoint.manifest.clone());
    let name = match is_known.filter(|_| manifest == workspace.manifest) {
        Some(name) => name,
        None => claim.ports.artifacts.put(claim.scope(), encode(&manifest)).await?,
    };
    workspace.note(read_now, listed_at);
    workspace.manifest = manifest;
    let total = left_out.unfit + left_out.secret;
    Ok((WorkspaceCheckpoint { manifest: Some(name), left_out: total, is_stale: false }, left_out))
}

impl Workspace {
    fn note(&mut self, files: Vec<(Option<Timestamp>, KeptFile)>, listed_at: Timestamp) {
        for (modified_at, file) in files {
            match modified_at {
                Some(modified_at) => {
                    self.known.insert(file.path.clone(), Known { modified_at, listed_at, file });
                }
                None => {
                    self.known.remove(&file.path);
                }
            }
        }
    }
}

/// Serialising these plain types cannot fail.
fn encode(manifest: &Manifest) -> Bytes {
    serde_json::to_vec(manifest).unwrap_or_default().into()
}

enum Read {
    Kept(KeptFile),
    /// It is there and cannot be read.
    Unreadable,
    /// It holds a credential's value.
    Secret,
    /// It went away meanwhile, or grew beyond its limit.
    Gone,
}

/// Reads a file and stores its bytes, unless they are stored.
async fn read(
    claim: &Claim,
    sandbox: &LiveSandbox,
    entry: &WorkspaceEntry,
    stored: &BTreeSet<&str>,
) -> Result<Read, Missed> {
    let context = claim.call_context();
    match claim.ports.sandboxes.read_file(&context, sandbox, &entry.path, MAX_FILE_BYTES).await {
        Ok(Some(bytes)) => {
            let file = KeptFile::of(&entry.path, entry.mode, &bytes);
            if !stored.contains(file.sha256.as_str()) {
                claim.ports.artifacts.put(claim.scope(), bytes).await?;
            }
            Ok(Read::Kept(file))
        }
        Ok(None) => Ok(Read::Gone),
        Err(error) if error.sandbox_lost => Err(error.into()),
        Err(error) if error.code == SandboxError::SECRET_IN_FILE => Ok(Read::Secret),
        Err(_) => Ok(Read::Unreadable),
    }
}

/// Puts the files of the newest checkpoint into a fresh sandbox. Returns false when there is none.
pub(super) async fn restore(claim: &Claim, sandbox: &LiveSandbox, workspace: &mut Workspace) -> Result<bool, Missed> {
    workspace.known.clear();
    let Some(checkpoint) = workspace.checkpoint.clone() else { return Ok(false) };
    let Some(name) = &checkpoint.manifest else { return Ok(false) };
    let stored = claim.ports.artifacts.get(claim.scope(), name).await?;
    let Some(manifest) = stored.and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok()) else {
        workspace.checkpoint = None;
        return Ok(false);
    };
    let context = claim.call_context();
    let mut missing = 0;
    for directory in &manifest.directories {
        let open = KeptDirectory { mode: directory.mode | OWNER_ALL, ..directory.clone() };
        let restored = claim.ports.sandboxes.restore_directory(&context, sandbox, &open).await;
        missing += u32::from(!is_put_back(restored)?);
    }
    for some in manifest.files.chunks(AT_ONCE) {
        if claim.signal.cause().is_some() {
            return Err(Missed::Stopped);
        }
        for is_there in join_all(some.iter().map(|file| restore_file(claim, sandbox, file))).await {
            missing += u32::from(!is_there?);
        }
    }
    for directory in manifest.directories.iter().filter(|directory| directory.mode & OWNER_ALL != OWNER_ALL) {
        is_put_back(claim.ports.sandboxes.restore_directory(&context, sandbox, directory).await)?;
    }
    let files = manifest.files.clone();
    workspace.manifest = manifest;
    workspace.checkpoint = Some(WorkspaceCheckpoint { left_out: checkpoint.left_out + missing, ..checkpoint });
    recognise(claim, sandbox, workspace, files).await?;
    Ok(true)
}

/// Whether its bytes were there, are those that were kept, and could be written.
async fn restore_file(claim: &Claim, sandbox: &LiveSandbox, file: &KeptFile) -> Result<bool, Missed> {
    let bytes = claim.ports.artifacts.get(claim.scope(), &file.sha256).await?;
    let Some(bytes) = bytes.filter(|bytes| file.has(bytes)) else { return Ok(false) };
    is_put_back(claim.ports.sandboxes.restore_file(&claim.call_context(), sandbox, file, bytes).await)
}

/// A path that the server does not take is missing, and costs nothing else.
fn is_put_back(restored: Result<(), SandboxError>) -> Result<bool, Missed> {
    match restored {
        Ok(()) => Ok(true),
        Err(error) if error.code == SandboxError::PATH_NOT_ACCESSIBLE => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Notes that these files were just written, so that they are not read again.
pub(super) async fn recognise(
    claim: &Claim,
    sandbox: &LiveSandbox,
    workspace: &mut Workspace,
    files: Vec<KeptFile>,
) -> Result<(), SandboxError> {
    if files.is_empty() {
        return Ok(());
    }
    let listed_at = claim.ports.clock.now();
    let listing = claim.ports.sandboxes.list_workspace(&claim.call_context(), sandbox).await?;
    let times: BTreeMap<_, _> = listing
        .entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| (entry.path, (entry.byte_size, entry.modified_at)))
        .collect();
    let written = files.into_iter().filter_map(|file| match times.get(&file.path) {
        Some((size, modified_at)) if *size == file.size => Some((*modified_at, file)),
        Some(_) | None => None,
    });
    workspace.note(written.collect(), listed_at);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    fn entry(path: &str, kind: EntryKind, byte_size: u64, modified_at: i64) -> WorkspaceEntry {
        let modified_at = Some(Timestamp::from_micros(modified_at));
        WorkspaceEntry { path: path.to_owned(), kind, byte_size, mode: 0o640, modified_at }
    }

    fn known(path: &str, bytes: &'static [u8], modified_at: i64, listed_at: i64) -> BTreeMap<String, Known> {
        let file = KeptFile::of(path, 0o600, &Bytes::from_static(bytes));
        let [modified_at, listed_at] = [modified_at, listed_at].map(Timestamp::from_micros);
        [(path.to_owned(), Known { modified_at, listed_at, file })].into()
    }

    fn reads(size: u64, modified_at: i64, known: &BTreeMap<String, Known>) -> bool {
        !Plan::of(vec![entry("a", EntryKind::File, size, modified_at)], known).to_read.is_empty()
    }

    #[test]
    fn a_file_is_read_again_only_when_size_or_time_moved() {
        let known = known("a", b"abc", 5 * SECOND + 1, 7 * SECOND);
        assert!(!reads(3, 5 * SECOND + 1, &known));
        assert!(reads(4, 5 * SECOND + 1, &known));
        assert!(reads(3, 5 * SECOND + 2, &known));
        assert!(reads(3, 5 * SECOND + 1, &BTreeMap::new()));
    }

    #[test]
    fn a_file_that_changed_just_before_it_was_listed_is_read_again() {
        assert!(reads(3, 5 * SECOND + 1, &known("a", b"abc", 5 * SECOND + 1, 5 * SECOND + 10_000)));
        // Whole seconds are the clock of a server that counts no finer.
        assert!(reads(3, 5 * SECOND, &known("a", b"abc", 5 * SECOND, 5 * SECOND + 900_000)));
        assert!(!reads(3, 5 * SECOND, &known("a", b"abc", 5 * SECOND, 6 * SECOND)));
    }

    #[test]
    fn a_change_of_mode_alone_is_kept_without_reading() {
        let plan =
            Plan::of(vec![entry("a", EntryKind::File, 3, SECOND + 1)], &known("a", b"abc", SECOND + 1, 9 * SECOND));
        assert_eq!((plan.kept[0].mode, plan.to_read.len()), (0o640, 0));
    }

    #[test]
    fn what_is_beyond_a_limit_is_left_out_and_counted() {
        let mut entries = vec![
            entry("link", EntryKind::Link, 1, 1),
            entry("[redacted: TOKEN]", EntryKind::Hidden, 1, 1),
            entry("large", EntryKind::File, MAX_FILE_BYTES + 1, 1),
            entry("$id", EntryKind::Unnamed, 1, 1),
        ];
        entries.extend((0..10).map(|n| entry(&format!("full{n}"), EntryKind::File, MAX_FILE_BYTES, 1)));
        let plan = Plan::of(entries, &BTreeMap::new());
        assert_eq!((plan.to_read.len(), plan.left_out), (8, LeftOut { unfit: 3 + 2, secret: 1 }));
        let many = (0..=MAX_FILES).map(|n| entry(&format!("{n}"), EntryKind::File, 0, 1)).collect();
        assert_eq!(Plan::of(many, &BTreeMap::new()).left_out, LeftOut { unfit: 1, secret: 0 });
    }
}
