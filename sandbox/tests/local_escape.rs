//! What code in a sandbox must not be able to do, asked from inside, as root's runtime and as an ordinary user's.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use local_support::{Host, NOBODY, Sandbox};
use serde_json::json;

/// Python that prints `name ok` or `name FAILED reason`, one line for each thing that must not work.
const PROBES: &str = r#"
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(name, result, allowed=(errno.EPERM,)):
    code = ctypes.get_errno()
    print(name, "ok" if result < 0 and code in allowed else f"FAILED {result} {code}")
def check(name, holds, detail=""):
    print(name, "ok" if holds else f"FAILED {detail}")
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
for caps in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    check(caps, int(status[caps], 16) == 0, status[caps])
check("no_new_privs", status["NoNewPrivs"] == "1")
check("seccomp", status["Seccomp"] == "2")
check("ids", os.getresuid() == (1000,) * 3 and os.getresgid() == (1000,) * 3)
for flag, name in ((0x10000000, "user"), (0x20000, "mount"), (0x20000000, "pid"), (0x40000000, "net")):
    refused("unshare_" + name, libc.unshare(flag))
    refused("clone_" + name, libc.syscall(56, flag | 17, 0, 0, 0, 0))
refused("clone3", libc.syscall(435, 0, 0), (errno.ENOSYS,))
check("max_user_namespaces", not os.access("/proc/sys/user/max_user_namespaces", os.W_OK))
refused("remount", libc.mount(b"none", b"/", None, 32 | 4096, None))
refused("mount", libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None))
refused("umount", libc.umount2(b"/proc", 2))
refused("ptrace", libc.ptrace(16, 1, 0, 0))
refused("process_vm", libc.syscall(310, 1, 0, 0, 0, 0, 0))
refused("bpf", libc.syscall(321, 0, 0, 0))
refused("keyctl", libc.syscall(250, 0, 0, 0))
refused("io_uring", libc.syscall(425, 1, 0))
refused("userfaultfd", libc.syscall(323, 0))
refused("open_by_handle", libc.syscall(304, 0, 0, 0))
refused("setns", libc.setns(0, 0))
refused("x32", libc.syscall(0x40000000 | 521, 0, 0, 0, 0), (errno.EPERM, errno.ENOSYS))
refused("vsock", libc.socket(40, 1, 0))
refused("alg", libc.socket(38, 5, 0))
refused("tiocsti", libc.ioctl(0, 0x5412, b"x"))
check("init_memory", not os.access("/proc/1/mem", os.W_OK))
for path in ("/proc/1/fd", "/proc/1/environ", "/proc/1/root"):
    try:
        os.listdir(path) if path.endswith("fd") else (os.readlink(path) if path.endswith("root") else open(path).read())
        check(path, False)
    except PermissionError:
        check(path, True)
fds = set(os.listdir("/proc/self/fd"))
check("descriptors", fds - {"0", "1", "2"} <= {max(fds, key=int)} and len(fds) == 4, fds)
for path in ("/", "/dev", "/usr", "/etc", "/run", "/run/vitrine/init", "/etc/passwd", "/home"):
    check("readonly " + path, not os.access(path, os.W_OK))
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory"):
    check("unwritable " + path, not os.access(path, os.W_OK))
for path in ("/sys", "/root", "/var/run/docker.sock", "/run/dbus", "/etc/shadow", "/mnt", "/boot", "/host"):
    check("absent " + path, not os.path.exists(path))
check("interfaces", [name for _, name in socket.if_nameindex()] == ["lo"], socket.if_nameindex())
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)
    check("host_loopback", False)
except OSError as error:
    check("host_loopback", error.errno == errno.ECONNREFUSED, error)
try:
    socket.create_connection(("1.1.1.1", 53), 1)
    check("internet", False)
except OSError as error:
    check("internet", error.errno == errno.ENETUNREACH, error)
for address in ("\0" + sys.argv[2], sys.argv[3]):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        check("unix_socket", False)
    except OSError as error:
        check("unix_socket", error.errno in (errno.ECONNREFUSED, errno.ENOENT), error)
check("abstract_sockets", "@" not in open("/proc/net/unix").read())
pids = [pid for pid in os.listdir("/proc") if pid.isdigit()]
check("neighbours", not any(b"VITRINE_NEIGHBOUR" in open(f"/proc/{pid}/cmdline", "rb").read() for pid in pids if pid != str(os.getpid())), pids)
print("end ok")
"#;

#[cfg(test)]
async fn probe(host: &Host) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("vitrine-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _path = UnixListener::bind(&path).unwrap();
    let neighbour = host.sandbox(json!({})).await;
    let command = json!({ "command": "sleep 600 # VITRINE_NEIGHBOUR", "background": true });
    neighbour.start(command).await.text().await.unwrap();
    let sandbox = host.sandbox(json!({})).await;
    let port = listener.local_addr().unwrap().port().to_string();
    let argv = json!(["python3", "-c", PROBES, port, name, path.to_str().unwrap()]);
    let run = sandbox.execute(json!({ "argv": argv })).await;
    let failed: Vec<_> = run.stdout.lines().filter(|line| !line.ends_with(" ok")).collect();
    assert!(failed.is_empty() && run.exit == 0, "{failed:#?} {}", run.stderr);
    assert!(run.stdout.ends_with("end ok\n") && run.stdout.lines().count() > 60);
    assert_maps_no_root(&sandbox, host).await;
}

#[cfg(test)]
/// Read from the host, where the numbers are those of the host.
async fn assert_maps_no_root(sandbox: &Sandbox, host: &Host) {
    let marker = format!("vitrine-marker-{}", sandbox.id);
    let command = json!({ "argv": ["sh", "-c", "sleep 600; true", marker], "background": true });
    sandbox.start(command).await.text().await.unwrap();
    let mut found = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = std::fs::read_to_string(entry.path().join("cmdline")) else { continue };
        if !line.contains(&marker) {
            continue;
        }
        found += 1;
        let map = std::fs::read_to_string(entry.path().join("uid_map")).unwrap();
        let fields: Vec<u32> = map.split_whitespace().map(|field| field.parse().unwrap()).collect();
        assert_eq!((fields[0], fields[2], fields.len()), (1000, 1, 3), "{map}");
        assert_ne!(fields[1], 0, "the user of a sandbox is root on the host");
    }
    assert!(found > 0, "no process of the sandbox of {} was seen", host.url);
}

#[tokio::test]
async fn nothing_escapes_from_a_runtime_of_this_user() {
    probe(&Host::start()).await;
}

#[tokio::test]
async fn nothing_escapes_from_a_runtime_of_an_ordinary_user() {
    if rustix::process::geteuid().is_root() {
        probe(&Host::start_as(NOBODY)).await;
    } else {
        probe(&Host::start_with(&["--no-cgroups"])).await;
    }
}
