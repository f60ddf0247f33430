//! One MariaDB server for this test binary, on loopback, in a directory of its own.
//!
//! A shell holds it: when this process ends, however it ends, the shell's standard input closes, and the shell stops
//! the server by its process id and removes the directory.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbErr};
use tokio::sync::OnceCell;

const SERVER: &str = "/usr/sbin/mariadbd";
const PATIENCE: Duration = Duration::from_secs(60);

const SCRIPT: &str = r#"
set -u
dir=$(mktemp -d) || exit 1
finish() {
    [ -n "${pid:-}" ] && kill "$pid" 2>/dev/null && wait "$pid"
    rm -rf "$dir"
}
trap finish EXIT
mariadb-install-db --no-defaults $OWNER --datadir="$dir/data" --auth-root-authentication-method=normal \
    --skip-test-db >"$dir/install.log" 2>&1 </dev/null || { cat "$dir/install.log" >&2; exit 1; }
/usr/sbin/mariadbd --no-defaults $OWNER --datadir="$dir/data" --socket="$dir/m.sock" --pid-file="$dir/m.pid" \
    --bind-address=127.0.0.1 --port="$PORT" --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci \
    --default-time-zone=+02:00 --skip-name-resolve --innodb-buffer-pool-size=64M \
    --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 --max-connections=500 >"$dir/m.log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
"#;

struct Server {
    port: u16,
    /// Held for its standard input, which closes when this process ends.
    _shell: Child,
}

static SERVER_ONCE: OnceCell<Server> = OnceCell::const_new();

/// The URL of an empty database.
pub async fn fresh_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let server = SERVER_ONCE.get_or_init(start).await;
    let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let root = connect(server.port).await.unwrap();
    root.execute_unprepared(&format!("CREATE DATABASE {name}")).await.unwrap();
    root.close().await.unwrap();
    format!("mysql://root@127.0.0.1:{}/{name}", server.port)
}

async fn start() -> Server {
    assert!(
        std::path::Path::new(SERVER).exists(),
        "these tests need MariaDB; install it with: apt-get install -y mariadb-server"
    );
    let port = free_port();
    // The server refuses to run as root unless it is told to.
    let owner = if std::fs::metadata("/proc/self").unwrap().uid() == 0 { "--user=root" } else { "" };
    let shell = Command::new("sh")
        .args(["-c", SCRIPT])
        .env("PORT", port.to_string())
        .env("OWNER", owner)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    loop {
        match connect(port).await {
            Ok(root) => {
                root.close().await.unwrap();
                return Server { port, _shell: shell };
            }
            Err(error) => assert!(started.elapsed() < PATIENCE, "MariaDB does not start: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn connect(port: u16) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(format!("mysql://root@127.0.0.1:{port}/mysql"));
    options.max_connections(1).acquire_timeout(Duration::from_secs(5)).sqlx_logging(false);
    Database::connect(options).await
}

/// A port above 40000 that was free a moment ago.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if port > 40_000 {
            return port;
        }
    }
}
