//! `vitrine doctor`: checks what Vitrine needs on this machine and says how to mend what is missing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use super::{ConfigArgs, load, tools};
use crate::config::Config;

struct Check {
    name: &'static str,
    /// What was found, or what is wrong and how to mend it.
    finding: Result<String, String>,
}

pub(super) fn run(args: ConfigArgs) -> ExitCode {
    let config = match load(args, None) {
        Ok(config) => config,
        Err(error) => return tools::fail(&error),
    };
    let checks = [
        Check { name: "data directory", finding: data_dir(&config.data_dir) },
        Check { name: "bubblewrap", finding: version_of("bwrap", "apt-get install bubblewrap") },
        Check { name: "user namespaces", finding: user_namespaces() },
        Check { name: "python3", finding: version_of("python3", "apt-get install python3") },
        Check { name: "node", finding: version_of("node", "apt-get install nodejs") },
        Check { name: "cgroups", finding: cgroups() },
        Check { name: "listen address", finding: listen(&config) },
    ];
    let mut has_fault = false;
    for check in checks {
        let line = match check.finding {
            Ok(found) => format!("ok    {}: {found}", check.name),
            Err(fault) => {
                has_fault = true;
                format!("FAULT {}: {fault}", check.name)
            }
        };
        tools::print(&line);
    }
    if has_fault { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn data_dir(path: &Path) -> Result<String, String> {
    match std::fs::metadata(path) {
        Err(_) => Ok(format!("{} does not exist yet; vitrine serve makes it", path.display())),
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            Err(format!("{} can be read by others; run chmod 700 on it", path.display()))
        }
        Ok(_) => Ok(path.display().to_string()),
    }
}

fn version_of(program: &str, cure: &str) -> Result<String, String> {
    let output = Command::new(program).arg("--version").output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
        }
        Ok(_) | Err(_) => Err(format!("{program} is not there; as root, run {cure}")),
    }
}

fn user_namespaces() -> Result<String, String> {
    let most = std::fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    match most.trim().parse::<u64>() {
        Ok(0) => Err("they are off; as root, set user.max_user_namespaces above 0".to_owned()),
        Ok(most) => Ok(format!("up to {most}")),
        Err(_) => Err("the kernel has none".to_owned()),
    }
}

fn cgroups() -> Result<String, String> {
    let v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let v1 = Path::new("/sys/fs/cgroup/memory").exists() && Path::new("/sys/fs/cgroup/pids").exists();
    match (v2, v1) {
        (true, _) => Ok("version 2".to_owned()),
        (false, true) => Ok("version 1".to_owned()),
        (false, false) => Err("there are none: memory and process limits cannot be enforced, and profiles that need \
                               them are refused"
            .to_owned()),
    }
}

fn listen(config: &Config) -> Result<String, String> {
    match std::net::TcpListener::bind(config.listen) {
        Ok(_) => Ok(config.listen.to_string()),
        Err(error) => Err(format!("{}: {error}; choose another one with --listen", config.listen)),
    }
}
