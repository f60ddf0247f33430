//! A data directory belongs to one process at a time.
//!
//! The owner holds an exclusive lock on a file in it, which the system gives back when the process ends, however it
//! ends. What lies in the directory is the business of the stores.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another process has it.
    #[error(
        "the data directory {} is in use by another process; stop that one, or choose another with --data-dir",
        path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// It cannot be made, opened or locked.
    #[error("the data directory {} cannot be used", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A data directory that this process owns until the value is dropped.
#[derive(Debug)]
#[must_use = "the directory is given back when this is dropped"]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes the directory when it is missing, closes it to other users, and takes it for this process.
pub fn lock(path: &Path) -> Result<DataDir, DataDirError> {
    let failed = |source| DataDirError::Io { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    if path.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let mut file = options.open(path.join("lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(DataDirError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    // For people who look who has it; nothing reads it.
    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(failed)?;
    Ok(DataDir { path: path.to_owned(), _lock: file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_refused_until_the_first_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let first = lock(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let refused = lock(&path).unwrap_err();
        assert!(matches!(refused, DataDirError::InUse { .. }));
        assert!(refused.to_string().contains("in use by another process"), "{refused}");
        drop(first);
        assert_eq!(lock(&path).unwrap().path(), path);
    }

    #[test]
    fn an_open_directory_is_closed_to_others() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("open");
        DirBuilder::new().mode(0o755).create(&path).unwrap();
        let _owned = lock(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0);
    }

    #[test]
    fn a_file_in_its_place_is_an_error_that_names_it() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let error = lock(&path).unwrap_err();
        assert!(matches!(error, DataDirError::Io { .. }), "{error:?}");
        assert!(error.to_string().contains("file"));
    }
}
