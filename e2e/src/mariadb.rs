//! A MariaDB server in a directory of its own, on loopback. A shell holds it: when the test ends, however it ends, the
//! shell's standard input closes, and the shell stops the server by its process id and removes the directory.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::process::wait_for;

const SERVER: &str = "/usr/sbin/mariadbd";
const SCRIPT: &str = r#"
set -u
dir=$(mktemp -d) || exit 1
finish() {
    [ -n "${pid:-}" ] && kill "$pid" 2>/dev/null && wait "$pid"
    rm -rf "$dir"
}
trap finish EXIT
[ "$(id -u)" = 0 ] && owner=--user=root || owner=
mariadb-install-db --no-defaults $owner --datadir="$dir/data" --tmpdir="$dir" --auth-root-authentication-method=normal \
    --skip-test-db >"$dir/install.log" 2>&1 </dev/null || { cat "$dir/install.log" >&2; exit 1; }
/usr/sbin/mariadbd --no-defaults $owner --datadir="$dir/data" --socket="$dir/m.sock" --pid-file="$dir/m.pid" \
    --bind-address=127.0.0.1 --port="$PORT" --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci \
    --tmpdir="$dir" --skip-name-resolve --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 \
    >"$dir/m.log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
"#;

/// The server.
pub struct MariaDb {
    port: u16,
    /// Held for its standard input, which closes when this process ends.
    _shell: Child,
}

impl MariaDb {
    /// Starts a server with an empty database `vitrine`.
    pub fn start() -> Result<Self> {
        if !Path::new(SERVER).exists() {
            return Err("this test needs MariaDB; install it with: apt-get install -y mariadb-server".into());
        }
        let port = free_port()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).env("PORT", port.to_string()).stdin(Stdio::piped());
        let server = Self { port, _shell: shell.spawn()? };
        wait_for(Duration::from_secs(60), || Ok(server.query("CREATE DATABASE IF NOT EXISTS vitrine").ok()))?;
        Ok(server)
    }

    /// The URL of the database.
    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}/vitrine", self.port)
    }

    /// Runs a statement; a line for each row, columns apart by tabs.
    pub fn query(&self, sql: &str) -> Result<Vec<String>> {
        let output = self.client("mariadb").args(["--batch", "--skip-column-names", "--execute", sql]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
    }

    /// Every row of these tables of `vitrine`, byte for byte, in the order of their keys.
    pub fn dump(&self, tables: &[&str]) -> Result<String> {
        let mut dump = self.client("mariadb-dump");
        dump.args(["--skip-comments", "--hex-blob", "--order-by-primary", "--skip-extended-insert", "vitrine"]);
        let output = dump.args(tables).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["--no-defaults", "--user=root", "--protocol=tcp", "--host=127.0.0.1"]);
        command.arg(format!("--port={}", self.port)).stdin(Stdio::null());
        command
    }
}

/// A port above 40000 that was free a moment ago.
fn free_port() -> Result<u16> {
    loop {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        if port > 40_000 {
            return Ok(port);
        }
    }
}
