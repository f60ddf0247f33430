//! A draft is a file whose bytes come in pieces; it gets its name when all of them are durable, and is gone otherwise.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use bytes::Bytes;
use domain::artifact::{ArtifactDraft, Blob};
use domain::error::StoreError;
use sha2::{Digest as _, Sha256};

use crate::artifact_dir::{adopt, blocking, draft_name, drafts, unavailable};

/// Where a draft will lie.
pub(crate) struct Place {
    pub root: Arc<PathBuf>,
    pub tenant: String,
    pub removal: Arc<RwLock<()>>,
}

/// A file without a name of its own.
pub(crate) struct FileDraft {
    place: Place,
    path: PathBuf,
    /// None while a piece is written, and behind a failure.
    open: Option<Open>,
}

struct Open {
    file: File,
    hash: Sha256,
    byte_size: u64,
}

impl FileDraft {
    pub(crate) fn create(place: Place) -> io::Result<Self> {
        let path = drafts(&place.root).join(draft_name()?);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { place, path, open: Some(Open { file, hash: Sha256::new(), byte_size: 0 }) })
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        // One that was kept is not there under this name; what cannot be removed is removed at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[async_trait]
impl ArtifactDraft for FileDraft {
    async fn write(&mut self, piece: Bytes) -> Result<(), StoreError> {
        let mut open = self.open.take().ok_or_else(broken)?;
        let written = blocking(move || {
            open.file.write_all(&piece).map_err(unavailable)?;
            open.hash.update(&piece);
            open.byte_size += piece.len() as u64;
            Ok(open)
        });
        self.open = Some(written.await?);
        Ok(())
    }

    async fn keep(mut self: Box<Self>) -> Result<Blob, StoreError> {
        let Open { file, hash, byte_size } = self.open.take().ok_or_else(broken)?;
        blocking(move || {
            let sha256 = data_encoding::HEXLOWER.encode(&hash.finalize());
            file.sync_all().map_err(unavailable)?;
            let _nobody_removes = self.place.removal.read().unwrap_or_else(PoisonError::into_inner);
            adopt(&self.place.root, &self.place.tenant, &sha256, &self.path).map_err(unavailable)?;
            Ok(Blob { sha256, byte_size })
        })
        .await
    }
}

fn broken() -> StoreError {
    unavailable(io::Error::other("an earlier piece could not be written"))
}
