//! Opening a store: which engine, how its connections are set, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::sqlx::Executor;
use sea_orm::sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, Statement};
use tokio_util::task::TaskTracker;

use super::fault::is_passing;
use super::writer::SqliteWriter;
use super::{Engine, Inner, SqlStore};

const SQLITE_READERS: u32 = 4;
const MYSQL_CONNECTIONS: u32 = 16;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const LOCKED_PAUSE: Duration = Duration::from_millis(20);
const PING_WHEN_IDLE_FOR: Duration = Duration::from_secs(5);
/// What every MySQL connection is set to. A job that waits for a row that another transaction holds is tried again.
const MYSQL_SESSION: [&str; 2] =
    ["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET SESSION innodb_lock_wait_timeout = 3"];
/// A process that was stopped in the middle of a transaction must not hold its rows against those who take over: the
/// server takes such a transaction back. MariaDB knows that by itself; for MySQL the whole connection must stand still
/// for longer than the pool leaves one without a ping.
const MARIADB_IDLE_TRANSACTION: &str = "SET SESSION idle_transaction_timeout = 5";
const MYSQL_IDLE_CONNECTION: &str = "SET SESSION wait_timeout = 15";

/// Where the data lies.
#[derive(Clone)]
pub struct SqlOptions {
    /// `sqlite:///path/to/file` (made when missing) or `mysql://user:password@host:port/database`.
    pub url: String,
}

impl std::fmt::Debug for SqlOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password.
        let scheme = self.url.split(':').next().unwrap_or_default();
        f.debug_struct("SqlOptions").field("scheme", &scheme).finish_non_exhaustive()
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL names no engine that there is.
    #[error("the database URL must begin with sqlite:// or mysql://")]
    UnknownEngine,
    /// The database does not answer, or refuses.
    #[error("the database cannot be opened")]
    Connect(#[source] DbErr),
    /// MySQL would cut values in silence.
    #[error("the MySQL server must run with STRICT_TRANS_TABLES or STRICT_ALL_TABLES in sql_mode")]
    NotStrict,
    /// MySQL did not take the isolation level.
    #[error("the MySQL server did not set the isolation level READ COMMITTED")]
    Isolation,
}

impl SqlStore {
    /// Opens the store. The schema is not touched: run the migrations on [`SqlStore::connection`].
    pub async fn open(options: SqlOptions) -> Result<Self, OpenError> {
        let engine = if options.url.starts_with("sqlite:") {
            open_sqlite_patiently(&options.url).await.map_err(OpenError::Connect)?
        } else if options.url.starts_with("mysql:") {
            open_mysql(&options.url).await?
        } else {
            return Err(OpenError::UnknownEngine);
        };
        Ok(Self { inner: Arc::new(Inner { engine, unfinished: TaskTracker::new() }) })
    }
}

/// Switching to write-ahead logging does not wait for others who open the same file: SQLite says at once that it is
/// locked, whatever the busy timeout.
async fn open_sqlite_patiently(url: &str) -> Result<Engine, DbErr> {
    let deadline = tokio::time::Instant::now() + BUSY_TIMEOUT;
    loop {
        match open_sqlite(url).await {
            Err(error) if is_passing(&error) && tokio::time::Instant::now() < deadline => {
                tokio::time::sleep(LOCKED_PAUSE).await;
            }
            result => return result,
        }
    }
}

async fn open_sqlite(url: &str) -> Result<Engine, DbErr> {
    let mut options = quiet(url);
    // The writer's connection is never given up: it keeps the log's shared memory alive for the readers.
    options.max_connections(1).min_connections(1).idle_timeout(None::<Duration>).max_lifetime(None::<Duration>);
    options.test_before_acquire(false).map_sqlx_sqlite_opts(|sqlite| {
        sqlite
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
    });
    let connection = Database::connect(options).await?;
    let mut options = quiet(url);
    options.max_connections(SQLITE_READERS).min_connections(1).idle_timeout(None::<Duration>);
    options.max_lifetime(None::<Duration>).test_before_acquire(false);
    options.map_sqlx_sqlite_opts(|sqlite| sqlite.read_only(true).busy_timeout(BUSY_TIMEOUT));
    let readers = Database::connect(options).await?;
    Ok(Engine::Sqlite { writer: SqliteWriter::start(connection.clone()), connection, readers })
}

async fn open_mysql(url: &str) -> Result<Engine, OpenError> {
    let mut options = quiet(url);
    options.max_connections(MYSQL_CONNECTIONS).test_before_acquire_if_idle_for(PING_WHEN_IDLE_FOR);
    options.map_sqlx_mysql_pool_opts(|pool| {
        pool.after_connect(|connection, _| {
            Box::pin(async move {
                for statement in MYSQL_SESSION {
                    connection.execute(statement).await?;
                }
                if connection.execute(MARIADB_IDLE_TRANSACTION).await.is_err() {
                    connection.execute(MYSQL_IDLE_CONNECTION).await?;
                }
                Ok(())
            })
        })
    });
    let pool = Database::connect(options).await.map_err(OpenError::Connect)?;
    let mode = session_variable(&pool, &["sql_mode"]).await.map_err(OpenError::Connect)?;
    if !is_strict(&mode) {
        return Err(OpenError::NotStrict);
    }
    let names = ["transaction_isolation", "tx_isolation"];
    if session_variable(&pool, &names).await.map_err(OpenError::Connect)? != "READ-COMMITTED" {
        return Err(OpenError::Isolation);
    }
    Ok(Engine::MySql { pool })
}

fn is_strict(sql_mode: &str) -> bool {
    sql_mode.split(',').any(|word| matches!(word, "STRICT_TRANS_TABLES" | "STRICT_ALL_TABLES"))
}

fn quiet(url: &str) -> ConnectOptions {
    let mut options = ConnectOptions::new(url.to_owned());
    options.sqlx_logging(false).record_stmt_in_spans(false).acquire_timeout(ACQUIRE_TIMEOUT);
    options
}

/// The first variable of these names that the server knows.
async fn session_variable(pool: &DatabaseConnection, names: &[&str]) -> Result<String, DbErr> {
    let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ('{}')", names.join("', '"));
    let row = pool.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
    row.map_or(Ok(String::new()), |row| row.try_get_by_index(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_strict_only_when_it_says_so() {
        assert!(is_strict("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"));
        assert!(is_strict("PIPES_AS_CONCAT,STRICT_ALL_TABLES"));
        for loose in ["", "NO_ENGINE_SUBSTITUTION", "NOT_STRICT_TRANS_TABLES"] {
            assert!(!is_strict(loose), "{loose}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_opened_says_so_without_the_url() {
        for (url, part) in [
            ("postgres://u:secret@h/d", "must begin with"),
            ("sqlite:///nowhere/at/all/secret.db", "cannot be opened"),
            ("mysql://u:secret@127.0.0.1:no-port/d", "cannot be opened"),
        ] {
            let options = SqlOptions { url: url.to_owned() };
            assert!(!format!("{options:?}").contains("secret"));
            let error = SqlStore::open(options).await.err().unwrap();
            assert!(error.to_string().contains(part) && !error.to_string().contains("secret"), "{error}");
        }
    }
}
