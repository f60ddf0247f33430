//! The argument list of bubblewrap for one sandbox.
//!
//! Rule: every namespace is new, there is no network, capabilities are none, every writable place lies on the
//! sandbox's one size-limited storage, and no secret is ever an argument.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

use super::catalogue::Mount;
use super::limits::Limits;
use super::protocol::{INIT_SUBCOMMAND, InitOrder};

pub const WORKSPACE: &str = "/workspace";
pub const WORKSPACE_DIRECTORIES: [&str; 5] = ["inputs", "outputs", "skills", "data", ".mcp"];
pub const HOME: &str = "/home/vitrine";
pub const SANDBOX_USER: &str = "vitrine";
pub const SANDBOX_USER_ID: u32 = 1000;
pub const SANDBOX_GROUP_ID: u32 = 1000;

/// Where the sandbox's storage is mounted in the private mount namespace that bubblewrap starts in.
///
/// The directory exists on every system that follows the Filesystem Hierarchy Standard; nothing of an image lies there.
pub const STORAGE_MOUNT: &CStr = c"/mnt";

/// Directories on the storage and where the sandbox sees them.
pub const STORAGE_BINDS: [(&str, &str); 4] =
    [("/mnt/workspace", WORKSPACE), ("/mnt/tmp", "/tmp"), ("/mnt/home", HOME), ("/mnt/shm", "/dev/shm")];

/// Where the program of the init appears inside.
const INIT_PATH: &str = "/run/vitrine/init";

const ENVIRONMENT: [(&str, &str); 9] = [
    ("HOME", HOME),
    ("USER", SANDBOX_USER),
    ("LOGNAME", SANDBOX_USER),
    ("TMPDIR", "/tmp"),
    ("XDG_CACHE_HOME", "/home/vitrine/.cache"),
    ("XDG_CONFIG_HOME", "/home/vitrine/.config"),
    ("XDG_DATA_HOME", "/home/vitrine/.local/share"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "C.UTF-8"),
];

/// Files that are made for the sandbox rather than taken from the host.
pub const GENERATED_FILES: [(&str, &str); 5] = [
    ("/etc/passwd", "vitrine:x:1000:1000:vitrine:/home/vitrine:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
    ("/etc/group", "vitrine:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost vitrine\n::1 localhost\n"),
    ("/etc/hostname", "vitrine\n"),
    ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
];

/// What the arguments depend on.
pub struct Plan<'a> {
    pub mounts: &'a [Mount],
    pub limits: &'a Limits,
    pub environment: &'a std::collections::BTreeMap<String, String>,
    /// See [`InitOrder::proxy_port`].
    pub proxy_port: Option<u16>,
    /// Whether the init must do what a control group would.
    pub watches_memory: bool,
    pub executable: &'a Path,
    pub control: BorrowedFd<'a>,
    pub filters: &'a [BorrowedFd<'a>],
    /// In the order of [`GENERATED_FILES`].
    pub generated: &'a [BorrowedFd<'a>],
}

/// The arguments, each ended by NUL, as `--args` reads them.
pub fn encode(plan: &Plan<'_>) -> Vec<u8> {
    let mut arguments = Arguments::default();
    arguments.isolation();
    for mount in plan.mounts {
        match mount {
            Mount::ReadOnly(path) => arguments.add(["--ro-bind", path, path]),
            Mount::Symlink { target, path } => arguments.add(["--symlink", target, path]),
        }
    }
    arguments.add(["--ro-bind", &plan.executable.to_string_lossy(), INIT_PATH]);
    for ((path, _), fd) in GENERATED_FILES.iter().zip(plan.generated) {
        arguments.add(["--perms", "0444", "--file", &fd.as_raw_fd().to_string(), path]);
    }
    arguments.add(["--proc", "/proc"]);
    arguments.add(["--dev", "/dev"]);
    for (source, target) in STORAGE_BINDS {
        arguments.add(["--bind", source, target]);
    }
    arguments.add(["--symlink", "/tmp", "/var/tmp"]);
    arguments.add(["--remount-ro", "/dev"]);
    arguments.add(["--remount-ro", "/"]);
    arguments.add(["--chdir", WORKSPACE]);
    arguments.add(["--clearenv"]);
    for (name, value) in ENVIRONMENT {
        arguments.add(["--setenv", name, value]);
    }
    for (name, value) in plan.environment {
        arguments.add(["--setenv", name, value]);
    }
    for filter in plan.filters {
        arguments.add(["--add-seccomp-fd", &filter.as_raw_fd().to_string()]);
    }
    arguments.0
}

/// The command that bubblewrap starts, which it does not take from the descriptor.
pub fn command(plan: &Plan<'_>) -> Result<[String; 4], serde_json::Error> {
    let order = InitOrder {
        limits: plan.limits.init_limits(),
        proxy_port: plan.proxy_port,
        memory: plan.watches_memory.then(|| plan.limits.watched_memory()),
    };
    let control = plan.control.as_raw_fd().to_string();
    Ok([INIT_PATH.to_owned(), INIT_SUBCOMMAND.to_owned(), control, serde_json::to_string(&order)?])
}

#[derive(Default)]
struct Arguments(Vec<u8>);

impl Arguments {
    fn isolation(&mut self) {
        self.add(["--unshare-all", "--unshare-user", "--disable-userns"]);
        self.add(["--cap-drop", "ALL"]);
        self.add(["--new-session", "--die-with-parent", "--as-pid-1"]);
        self.add(["--uid", &SANDBOX_USER_ID.to_string(), "--gid", &SANDBOX_GROUP_ID.to_string()]);
        self.add(["--hostname", "vitrine"]);
    }

    fn add<const N: usize>(&mut self, words: [&str; N]) {
        for word in words {
            self.0.extend_from_slice(word.as_bytes());
            self.0.push(0);
        }
    }
}
