//! Two servers on one database, with one artifact directory and one key, as replicas have them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::client::Client;
use crate::mariadb::MariaDb;
use crate::process::{Server, ServerOptions, eventually};

/// One of the servers.
pub struct Replica {
    /// The server. It has no local sandbox runtime, and leases of three seconds.
    pub server: Server,
    /// A caller of it.
    pub client: Client,
    log: PathBuf,
}

/// Starts two.
pub fn replicas(dir: &Path, database: &MariaDb) -> Result<[Replica; 2]> {
    let (first, second) = (dir.join("first"), dir.join("second"));
    let first = replica(&first, database, None)?;
    std::fs::create_dir(&second)?;
    for shared in ["artifacts", "secret.key"] {
        symlink(dir.join("first").join(shared), second.join(shared))?;
    }
    let second = replica(&second, database, Some(&first.client.api_key))?;
    Ok([first, second])
}

fn replica(data_dir: &Path, database: &MariaDb, api_key: Option<&str>) -> Result<Replica> {
    let mut options = ServerOptions::new(data_dir);
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    options.environment = vec![
        set("VITRINE_DATABASE_URL", &database.url()),
        set("VITRINE_LEASE_SECONDS", "3"),
        set("VITRINE_LOCAL_SANDBOX", "false"),
    ];
    let server = Server::start(&options)?;
    let api_key = api_key.map(str::to_owned).or_else(|| server.api_key.clone()).ok_or("no API key")?;
    let client = server.client(&api_key)?;
    Ok(Replica { server, client, log: data_dir.with_extension("log") })
}

/// Execution and process id of each lease.
pub fn owners(database: &MariaDb) -> Result<Vec<(String, u32)>> {
    let rows = database.query("SELECT id, lease_owner FROM vitrine.execution WHERE lease_owner IS NOT NULL")?;
    rows.iter()
        .map(|row| {
            let (id, owner) = row.split_once('\t').ok_or("no owner")?;
            Ok((id.to_owned(), owner.split('-').next().unwrap_or_default().parse()?))
        })
        .collect()
}

/// The worker that woke up has let go of each execution when its log says so.
pub async fn await_abandonment(stale: &Replica, held: &[String]) -> Result {
    eventually(Duration::from_secs(20), "the stale server lets go", async || {
        let log = std::fs::read_to_string(&stale.log)?;
        let has_let_go = |id: &String| log.lines().any(|line| line.contains(id) && line.contains("Abandoned"));
        Ok(held.iter().all(has_let_go).then_some(()))
    })
    .await
}
