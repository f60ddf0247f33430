//! Clients that others wrote in Python, in an environment of their own with the versions that a file pins.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

const INSTALL: &str = "python3 with venv is missing; install it: apt-get install -y python3 python3-venv";

/// Makes the environment of this folder of the crate, unless it is there and as the pinned versions say. Returns the
/// directory of its commands.
pub fn install(folder: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let pinned = std::fs::read(folder.join("requirements.txt"))?;
    let environment = folder.join(".venv");
    let installed = environment.join("installed-requirements.txt");
    if std::fs::read(&installed).is_ok_and(|known| known == pinned) {
        return Ok(environment.join("bin"));
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let pip = environment.join("bin/pip");
    succeed(Command::new(pip).args(["install", "--quiet", "--requirement"]).arg(folder.join("requirements.txt")))?;
    std::fs::write(installed, pinned)?;
    Ok(environment.join("bin"))
}

fn succeed(command: &mut Command) -> Result {
    let output = command.output().map_err(|_| INSTALL)?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
}
