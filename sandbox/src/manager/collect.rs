//! Collects what lies in `outputs/`: regular files only, bounded in number and size, each version once.

use std::collections::{HashMap, HashSet};

use domain::ids::SandboxId;
use domain::sandbox::{Collected, CollectedFile, RefusedOutput, SandboxError, WhyRefused};
use time::OffsetDateTime;

use super::clients::SandboxManager;
use super::failure::failure;
use super::workspace::can_be_asked_for;
use crate::opensandbox::{Download, Error, FileInfo, FileKind, Sandbox};

const OUTPUTS: &str = "/workspace/outputs";
const DEPTH: u32 = 8;
const MAX_FILES: usize = 64;
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;

/// Size and time of each file when it was collected, and what was refused.
#[derive(Debug, Default)]
pub(super) struct Seen {
    files: HashMap<String, (u64, Option<OffsetDateTime>)>,
    refused: HashSet<String>,
}

pub(super) async fn collect(
    manager: &SandboxManager,
    id: SandboxId,
    remote: &Sandbox,
) -> Result<Collected, SandboxError> {
    let listed = match remote.list_directory(OUTPUTS, DEPTH).await {
        Ok(listed) => listed,
        // The agent may have removed its own workspace.
        Err(Error::NotFound(_)) => return Ok(Collected::default()),
        // It may have put a link in the place of the directory; nothing is collected through it.
        Err(Error::Rejected(_)) => {
            let mut collected = Collected::default();
            refuse(manager, id, &mut collected, ".".to_owned(), WhyRefused::Link);
            return Ok(collected);
        }
        Err(error) => return Err(failure(&error)),
    };
    let mut left = MAX_TOTAL_BYTES;
    let mut collected = Collected::default();
    for file in listed.into_iter().filter(|file| file.kind != FileKind::Directory) {
        let Some(name) = file.path.strip_prefix(OUTPUTS).map(|name| name.trim_start_matches('/').to_owned()) else {
            continue;
        };
        if let Some(why) = why_refused(&file, &name) {
            refuse(manager, id, &mut collected, name, why);
            continue;
        }
        let is_new = manager.with_seen(id, |seen| is_new(seen, &name, &file)).unwrap_or(true);
        if !is_new {
            continue;
        }
        if collected.files.len() == MAX_FILES || file.size_bytes > MAX_FILE_BYTES.min(left) {
            collected.left_out += 1;
            continue;
        }
        let Some(content) = download(remote, &file.path).await? else { continue };
        left = left.saturating_sub(content.len() as u64);
        manager.with_seen(id, |seen| seen.files.insert(name.clone(), (file.size_bytes, file.modified_at)));
        collected.files.push(CollectedFile { name, bytes: content.into() });
    }
    Ok(collected)
}

/// What is never taken: what is no regular file, and what the protocol cannot ask for by its name.
fn why_refused(file: &FileInfo, name: &str) -> Option<WhyRefused> {
    match file.kind {
        FileKind::Symlink => Some(WhyRefused::Link),
        FileKind::Other => Some(WhyRefused::Special),
        FileKind::File | FileKind::Directory => {
            (!can_be_asked_for(&file.path) || name.contains(char::is_control)).then_some(WhyRefused::Name)
        }
    }
}

/// Told once for each entry.
fn refuse(manager: &SandboxManager, id: SandboxId, collected: &mut Collected, name: String, why: WhyRefused) {
    let is_news = manager.with_seen(id, |seen| seen.refused.insert(name.clone())).unwrap_or(true);
    if is_news {
        collected.refused.push(RefusedOutput { name, why });
    }
}

fn is_new(seen: &Seen, name: &str, file: &FileInfo) -> bool {
    seen.files.get(name) != Some(&(file.size_bytes, file.modified_at))
}

/// None when the file went away, or is not whole within the bound: it is being written.
async fn download(remote: &Sandbox, path: &str) -> Result<Option<Vec<u8>>, SandboxError> {
    let mut content = Vec::new();
    let request = Download { path: path.to_owned(), range: None, max_bytes: MAX_FILE_BYTES };
    match remote.download(&request, &mut content).await {
        Ok(downloaded) if downloaded.is_truncated => Ok(None),
        Ok(_) => Ok(Some(content)),
        Err(Error::NotFound(_) | Error::Rejected(_) | Error::FileChanged) => Ok(None),
        Err(error) => Err(failure(&error)),
    }
}
