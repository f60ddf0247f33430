//! The program that sandboxes run as their init: this very executable, at a path that every user can reach.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// A path to this program. A copy that was made for it vanishes with the value.
#[derive(Debug)]
pub struct Executable {
    path: PathBuf,
    copy: Option<PathBuf>,
}

impl Executable {
    /// Finds the program; one that lies where only root may go is copied below `/run/{name}`.
    pub fn locate(name: &str) -> io::Result<Self> {
        let own = fs::read_link("/proc/self/exe")?;
        let is_there = !own.to_string_lossy().ends_with(" (deleted)");
        if is_there && (!geteuid().is_root() || is_reachable(&own)) {
            return Ok(Self { path: own, copy: None });
        }
        let directory = PathBuf::from("/run").join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::DirBuilder::new().mode(0o755).create(&directory)?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
        let path = directory.join("init");
        fs::copy("/proc/self/exe", &path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o555))?;
        Ok(Self { path, copy: Some(directory) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            let _ = fs::remove_dir_all(copy);
        }
    }
}

fn is_reachable(path: &Path) -> bool {
    let allows =
        |path: &Path, bits| fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & bits == bits);
    allows(path, 0o005) && path.ancestors().skip(1).all(|directory| allows(directory, 0o001))
}
