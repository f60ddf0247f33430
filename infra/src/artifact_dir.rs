//! The artifact directory: bytes under their SHA-256, `<dir>/<tenant>/<first two digits>/<digest>`.
//!
//! A file appears under its name only when all its bytes are durable; it is verified each time it is read. The same
//! bytes of one tenant are kept once, and never shared between tenants. One process owns the directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use domain::artifact::{ArtifactStore, sha256_hex};
use domain::ctx::Scope;
use domain::error::StoreError;

const DIGEST_LENGTH: usize = 64;

/// Keeps bytes in a directory.
#[derive(Debug, Clone)]
pub struct DirArtifactStore {
    root: Arc<PathBuf>,
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
        sync_dir(root)?;
        Ok(Self { root: Arc::new(root.to_owned()) })
    }
}

#[async_trait]
impl ArtifactStore for DirArtifactStore {
    async fn put(&self, scope: Scope, bytes: Bytes) -> Result<String, StoreError> {
        let root = Arc::clone(&self.root);
        blocking(move || put(&root, &scope.tenant_id.to_string(), &bytes)).await
    }

    async fn get(&self, scope: Scope, sha256: &str) -> Result<Option<Bytes>, StoreError> {
        if !is_digest(sha256) {
            return Ok(None);
        }
        let (root, sha256) = (Arc::clone(&self.root), sha256.to_owned());
        blocking(move || get(&root, &scope.tenant_id.to_string(), &sha256)).await
    }
}

async fn blocking<T, F>(work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, StoreError> + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|stopped| Err(StoreError::Unavailable(Box::new(stopped))))
}

fn put(root: &Path, tenant: &str, bytes: &[u8]) -> Result<String, StoreError> {
    let sha256 = sha256_hex(bytes);
    write(root, tenant, &sha256, bytes).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    Ok(sha256)
}

fn write(root: &Path, tenant: &str, sha256: &str, bytes: &[u8]) -> io::Result<()> {
    let tenant_dir = root.join(tenant);
    let dir = tenant_dir.join(&sha256[..2]);
    let target = dir.join(sha256);
    if target.metadata().is_ok_and(|known| known.len() == bytes.len() as u64) {
        // Whoever renamed it may not have come to this line yet.
        return sync_dir(&dir);
    }
    make_dir(root, &tenant_dir)?;
    make_dir(&tenant_dir, &dir)?;
    let draft = drafts(root).join(draft_name()?);
    let written = write_draft(&draft, bytes).and_then(|()| std::fs::rename(&draft, &target));
    if written.is_err() {
        // What cannot be removed here is removed at the next start.
        let _ = std::fs::remove_file(&draft);
    }
    written?;
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

/// Nothing that a caller sends becomes a path unless it is a digest.
fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LENGTH && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn drafts(root: &Path) -> PathBuf {
    root.join("drafts")
}

fn draft_name() -> io::Result<String> {
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
