//! `vitrine doctor`: checks what Vitrine needs on this machine and says how to mend what is missing.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use sandbox::local::PROGRAM_PATH;

use super::{ConfigArgs, load, tools};
use crate::config::{Config, LocalTenants};

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
    let mut checks = vec![
        Check { name: "data directory", finding: data_dir(&config.data_dir) },
        Check { name: "bubblewrap", finding: version_of("bwrap", "apt-get install bubblewrap") },
        Check { name: "user namespaces", finding: user_namespaces() },
        Check { name: "python3", finding: version_of("python3", "apt-get install python3") },
        Check { name: "node", finding: version_of("node", "apt-get install nodejs") },
        Check { name: "listen address", finding: listen(&config) },
        Check { name: "local tier", finding: local_tier(&config) },
    ];
    if config.local_sandbox {
        checks.extend(sandbox_checks());
    }
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

/// Looks where the runtime looks, wherever the caller's own shell would.
fn version_of(program: &str, cure: &str) -> Result<String, String> {
    let output = Command::new(program).arg("--version").env("PATH", PROGRAM_PATH).output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
        }
        Ok(_) | Err(_) => Err(format!("{program} is not in {PROGRAM_PATH}; as root, run {cure}")),
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

/// What a sandbox that was made for this, and removed again, has shown.
fn sandbox_checks() -> Vec<Check> {
    let found = match try_sandbox() {
        Ok(found) => found,
        Err(fault) => return vec![Check { name: "sandbox", finding: Err(fault) }],
    };
    let started = format!("starts in {} ms and enforces {}", found.start_time.as_millis(), found.enforced.join(", "));
    let groups = found.no_groups.map_or_else(|| "the kernel bounds memory and processes".to_owned(), without_groups);
    let browser = found.no_browser.unwrap_or_else(|| "Chromium is there for vitrine/browser".to_owned());
    vec![
        Check { name: "sandbox", finding: Ok(started) },
        Check { name: "cgroups", finding: Ok(groups) },
        Check { name: "browser", finding: Ok(browser) },
    ]
}

fn without_groups(why: &str) -> String {
    format!(
        "there are none: {why}; memory is watched, processes are bounded by rlimit, and cpu is not bounded; for more, start \
         vitrine in a group that is its own, as a service of systemd with Delegate=yes or with systemd-run --user --scope \
         -p Delegate=yes, and vitrine doctor in the same way; with groups of version 1, start it as root"
    )
}

fn try_sandbox() -> Result<sandbox::local::TriedOut, String> {
    let directory = std::env::temp_dir().join(format!("vitrine-doctor-{}", std::process::id()));
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let found = runtime.block_on(sandbox::local::try_out(directory.clone()));
    let _ = std::fs::remove_dir_all(directory);
    found.map_err(|error| {
        format!(
            "{error}; where the kernel or a container keeps ordinary users from making namespaces, as root run sysctl \
             -w kernel.apparmor_restrict_unprivileged_userns=0 kernel.unprivileged_userns_clone=1, or give the \
             container the right to them"
        )
    })
}

fn local_tier(config: &Config) -> Result<String, String> {
    Ok(match &config.local_tenants {
        _ if !config.local_sandbox => "this server runs no local sandbox runtime".to_owned(),
        LocalTenants::All => "open to every tenant; with other people's work, set server.production".to_owned(),
        LocalTenants::Named(tenants) if tenants.is_empty() => "closed, as server.production is set".to_owned(),
        LocalTenants::Named(tenants) => format!("open to the {} tenants of sandbox.local_tenants", tenants.len()),
    })
}

fn listen(config: &Config) -> Result<String, String> {
    match std::net::TcpListener::bind(config.listen) {
        Ok(_) => Ok(config.listen.to_string()),
        Err(error) => Err(format!("{}: {error}; choose another one with --listen", config.listen)),
    }
}
