//! The artifact directory: bytes under their SHA-256, `<dir>/<tenant>/<first two digits>/<digest>`.
//!
//! A file appears under its name only when all its bytes are durable; it is verified each time it is read. The same
//! bytes of one tenant are kept once, and never shared between tenants. One process owns the directory.
//!
//! The time of a file says when its bytes were last put, to within [`RENEWED_AFTER`]. Versions that did not renew it left
//! files whose time may be too old: the first start of one that does gives all of them the time of that start.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;

use domain::artifact::{ArtifactDraft, ArtifactStore, sha256_hex};
use domain::clock::{Clock as _, Timestamp};
use domain::ctx::Scope;
use domain::error::StoreError;

use crate::artifact_draft::{FileDraft, Place};
use crate::clock::SystemClock;

const DIGEST_LENGTH: usize = 64;
/// A file that is put again gets a new time when its own is older.
const RENEWED_AFTER: Duration = Duration::from_mins(30);
/// Present when the times of all files can be relied on.
const TIMES_ARE_KEPT: &str = "times-are-kept";

/// Keeps bytes in a directory.
#[derive(Debug, Clone)]
pub struct DirArtifactStore {
    root: Arc<PathBuf>,
    /// Held while a file is looked at and renewed, or looked at and removed.
    removal: Arc<RwLock<()>>,
}

impl DirArtifactStore {
    /// Opens the directory, makes it when it is missing, and removes what an earlier process left unfinished.
    pub fn open(root: &Path) -> io::Result<Self> {
        let drafts = drafts(root);
        match std::fs::remove_dir_all(&drafts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&drafts)?;
        renew_all(root)?;
        sync_dir(root)?;
        Ok(Self { root: Arc::new(root.to_owned()), removal: Arc::default() })
    }
}

#[async_trait]
impl ArtifactStore for DirArtifactStore {
    async fn put(&self, scope: Scope, bytes: Bytes) -> Result<String, StoreError> {
        let (root, removal) = (Arc::clone(&self.root), Arc::clone(&self.removal));
        blocking(move || {
            let _nobody_removes = removal.read().unwrap_or_else(PoisonError::into_inner);
            put(&root, &scope.tenant_id.to_string(), &bytes)
        })
        .await
    }

    async fn begin(&self, scope: Scope) -> Result<Box<dyn ArtifactDraft>, StoreError> {
        let (root, removal) = (Arc::clone(&self.root), Arc::clone(&self.removal));
        let place = Place { root, tenant: scope.tenant_id.to_string(), removal };
        let draft = blocking(move || FileDraft::create(place).map_err(unavailable)).await?;
        Ok(Box::new(draft))
    }

    async fn remove_unused(&self, scope: Scope, since: Timestamp) -> Result<u64, StoreError> {
        let (root, removal) = (Arc::clone(&self.root), Arc::clone(&self.removal));
        blocking(move || {
            let removed = remove_unused(&root.join(scope.tenant_id.to_string()), since, &removal);
            removed.map_err(unavailable)
        })
        .await
    }

    async fn get(&self, scope: Scope, sha256: &str) -> Result<Option<Bytes>, StoreError> {
        if !is_digest(sha256) {
            return Ok(None);
        }
        let (root, sha256) = (Arc::clone(&self.root), sha256.to_owned());
        blocking(move || get(&root, &scope.tenant_id.to_string(), &sha256)).await
    }
}

pub(crate) fn unavailable(error: io::Error) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

pub(crate) async fn blocking<T, F>(work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, StoreError> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|stopped| Err(StoreError::Unavailable(Box::new(stopped))))
}

fn put(root: &Path, tenant: &str, bytes: &[u8]) -> Result<String, StoreError> {
    let sha256 = sha256_hex(bytes);
    write(root, tenant, &sha256, bytes).map_err(unavailable)?;
    Ok(sha256)
}

fn write(root: &Path, tenant: &str, sha256: &str, bytes: &[u8]) -> io::Result<()> {
    let dir = root.join(tenant).join(&sha256[..2]);
    let target = dir.join(sha256);
    if target.metadata().is_ok_and(|known| known.len() == bytes.len() as u64) {
        renew(&target)?;
        // Whoever renamed it may not have come to this line yet.
        return sync_dir(&dir);
    }
    let draft = drafts(root).join(draft_name()?);
    let written = write_draft(&draft, bytes).and_then(|()| adopt(root, tenant, sha256, &draft));
    if written.is_err() {
        // What cannot be removed here is removed at the next start.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// Gives a durable file the name of its bytes, in the place of a file with the same bytes.
pub(crate) fn adopt(root: &Path, tenant: &str, sha256: &str, draft: &Path) -> io::Result<()> {
    let tenant_dir = root.join(tenant);
    let dir = tenant_dir.join(&sha256[..2]);
    make_dir(root, &tenant_dir)?;
    make_dir(&tenant_dir, &dir)?;
    std::fs::rename(draft, dir.join(sha256))?;
    sync_dir(&dir)
}

fn write_draft(draft: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn get(root: &Path, tenant: &str, sha256: &str) -> Result<Option<Bytes>, StoreError> {
    let bytes = match std::fs::read(root.join(tenant).join(&sha256[..2]).join(sha256)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::Unavailable(Box::new(error))),
    };
    if sha256_hex(&bytes) != sha256 {
        return Err(StoreError::Corrupt { what: format!("blob {sha256}") });
    }
    Ok(Some(bytes.into()))
}

/// Gives a file that was put some time ago the time of now.
fn renew(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let now = SystemClock::new().now();
    if modified_at(&file.metadata()?)?.plus(RENEWED_AFTER) < now {
        file.set_modified(UNIX_EPOCH + now.since(Timestamp::default()))?;
        file.sync_all()?;
    }
    Ok(())
}

fn modified_at(metadata: &Metadata) -> io::Result<Timestamp> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Timestamp::default().plus(since))
}

/// Gives every file the time of now, once in the life of a directory.
fn renew_all(root: &Path) -> io::Result<()> {
    if root.join(TIMES_ARE_KEPT).exists() {
        return Ok(());
    }
    let tenants = directories(root)?.into_iter().filter(|directory| *directory != drafts(root));
    for tenant in tenants {
        for path in files(&tenant)? {
            renew(&path)?;
        }
    }
    File::create(root.join(TIMES_ARE_KEPT))?.sync_all()
}

fn remove_unused(tenant: &Path, since: Timestamp, removal: &RwLock<()>) -> io::Result<u64> {
    let mut removed = 0;
    for path in files(tenant)? {
        let _nobody_puts = removal.write().unwrap_or_else(PoisonError::into_inner);
        // Files are put beside this, and two servers may share the directory.
        let Ok(metadata) = path.metadata() else { continue };
        if modified_at(&metadata)?.plus(2 * RENEWED_AFTER) < since {
            std::fs::remove_file(&path)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The files of a tenant; none when it has no directory.
fn files(tenant: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for shard in directories(tenant)? {
        for entry in std::fs::read_dir(shard)? {
            found.push(entry?.path());
        }
    }
    Ok(found)
}

fn directories(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

/// Nothing that a caller sends becomes a path unless it is a digest.
fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LENGTH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn drafts(root: &Path) -> PathBuf {
    root.join("drafts")
}

pub(crate) fn draft_name() -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(data_encoding::HEXLOWER.encode(&random))
}

fn make_dir(parent: &Path, dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    sync_dir(parent)
}

/// Makes the names in a directory durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
