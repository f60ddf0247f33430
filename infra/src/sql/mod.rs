//! The SQL store: every port that must survive a restart, on SQLite or MySQL.
//!
//! A write is a job that may run more than once: SQLite runs jobs in groups on its one writer connection, MySQL runs each
//! in its own transaction and again after a deadlock. A job therefore touches nothing but its transaction. Statements
//! are written by hand in the words that both engines share. What a driver says never gets into a message, only into
//! the source of [`domain::error::StoreError::Unavailable`].

mod access;
mod account_admin;
mod account_moves;
mod accounts;
mod audit;
mod claims;
mod commits;
mod costs;
mod events;
mod executions;
mod fault;
mod identity;
mod inbox;
mod keys;
mod open;
mod page;
mod prices;
mod query;
mod resources;
mod retention;
mod rows;
mod sandboxes;
mod saves;
mod starts;
mod transcript;
mod writer;

use std::any::type_name;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use sea_orm::{DatabaseConnection, DatabaseTransaction, IsolationLevel, TransactionTrait};
use tokio_util::task::TaskTracker;

use domain::error::StoreError;
use fault::Fault;
use writer::{Job, SqliteWriter};

pub use open::{OpenError, SqlOptions};
pub use retention::TABLES_OF_AN_EXECUTION;

/// The store. A clone is the same store.
#[derive(Clone)]
pub struct SqlStore {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    /// What must not be dropped half-way: see [`SqlStore::to_its_end`].
    unfinished: TaskTracker,
}

enum Engine {
    Sqlite { writer: SqliteWriter, connection: DatabaseConnection, readers: DatabaseConnection },
    MySql { pool: DatabaseConnection },
}

impl SqlStore {
    /// The connection that may change the schema; for migrations.
    pub fn connection(&self) -> &DatabaseConnection {
        match &self.inner.engine {
            Engine::Sqlite { connection, .. } => connection,
            Engine::MySql { pool } => pool,
        }
    }

    /// Ends the leases that an earlier process left on an SQLite database, so that its executions go on at once. Only for
    /// the one process that holds the data directory; on MySQL others may live, and nothing is done. Epochs stay, so
    /// even a process that was thought dead writes nothing more.
    pub async fn end_leases_of_earlier_process(&self) -> Result<(), StoreError> {
        match &self.inner.engine {
            Engine::Sqlite { .. } => self.write(|transaction| Box::pin(claims::end_all(transaction))).await,
            Engine::MySql { .. } => Ok(()),
        }
    }

    /// Finishes the jobs that wait and closes the connections. Later calls answer `Unavailable`.
    pub async fn close(&self) {
        self.inner.unfinished.close();
        self.inner.unfinished.wait().await;
        match &self.inner.engine {
            Engine::Sqlite { writer, connection, readers } => {
                writer.finish().await;
                let _ = readers.close_by_ref().await;
                let _ = connection.close_by_ref().await;
            }
            Engine::MySql { pool } => {
                let _ = pool.close_by_ref().await;
            }
        }
    }

    /// For reads of one statement.
    fn reader(&self) -> &DatabaseConnection {
        match &self.inner.engine {
            Engine::Sqlite { readers, .. } => readers,
            Engine::MySql { pool } => pool,
        }
    }

    /// For reads of several statements that must agree with each other. Only for work that is done to its end.
    async fn snapshot(&self) -> Result<DatabaseTransaction, Fault> {
        let isolation = match &self.inner.engine {
            Engine::Sqlite { .. } => None,
            Engine::MySql { .. } => Some(IsolationLevel::RepeatableRead),
        };
        Ok(self.reader().begin_with_config(isolation, None).await?)
    }

    /// Runs a job in a transaction, durably.
    async fn write<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a DatabaseTransaction) -> BoxFuture<'a, Result<T, Fault>> + Send + Sync + 'static,
    {
        let job = Arc::new(job);
        let job: Job<T> = Box::new(move |transaction| {
            let job = Arc::clone(&job);
            Box::pin(unbroken(type_name::<F>(), async move { job(transaction).await }))
        });
        match &self.inner.engine {
            Engine::Sqlite { writer, .. } => writer.write(job).await,
            Engine::MySql { pool } => {
                let pool = pool.clone();
                self.to_its_end(async move { writer::write_mysql(&pool, &job).await }).await
            }
        }
    }

    /// Does the work also when the caller goes away: MySQL's driver, dropped in the middle of a transaction, gives the
    /// connection back with the transaction open, or never.
    async fn to_its_end<T, E>(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, StoreError>
    where
        T: Send + 'static,
        E: From<StoreError> + Into<StoreError> + Send + 'static,
    {
        let name = std::any::type_name_of_val(&work);
        let stopped = |_| fault::unavailable("the work in the database was stopped");
        self.inner.unfinished.spawn(unbroken(name, work)).await.map_err(stopped)?.map_err(Into::into)
    }
}

/// Makes an error of a panic: it is no database that is away, and ends nobody's work but its own.
async fn unbroken<T, E: From<StoreError>>(job: &'static str, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(job, "work in the database did not come to its end");
        Err(StoreError::Broken { job }.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The writer goes on for all others; what the broken job wrote is taken back.
    #[tokio::test]
    async fn a_job_that_panics_is_a_named_fault_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("a.db").display());
        let store = SqlStore::open(SqlOptions { url }).await.unwrap();
        let run = |sql: &'static str, breaks: bool| {
            store.write(move |transaction| {
                Box::pin(async move {
                    query::execute(transaction, sql, []).await?;
                    assert!(!breaks, "broken");
                    Ok(())
                })
            })
        };
        run("CREATE TABLE a (n INTEGER)", false).await.unwrap();
        let (broken, whole) =
            tokio::join!(run("INSERT INTO a VALUES (1)", true), run("INSERT INTO a VALUES (2)", false));
        assert!(matches!(broken, Err(StoreError::Broken { job }) if job.contains("a_job_that_panics")), "{broken:?}");
        whole.unwrap();
        let rows = query::all(store.reader(), "SELECT n FROM a", []).await.unwrap();
        assert_eq!(rows.iter().map(|row| row.try_get_by_index::<i64>(0).unwrap()).collect::<Vec<_>>(), [2]);
        let read = store.to_its_end(async { Err::<(), Fault>(panics()) }).await;
        assert!(matches!(read, Err(StoreError::Broken { .. })), "{read:?}");
        store.close().await;
    }

    fn panics() -> Fault {
        panic!("broken")
    }

    /// Runs the statements in one transaction of the writer.
    async fn write(store: &SqlStore, statements: &'static [&'static str]) -> Result<(), StoreError> {
        store
            .write(move |transaction| {
                Box::pin(async move {
                    for sql in statements {
                        query::execute(transaction, sql, []).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    /// What is in the file, as a process that starts now would read it.
    async fn stored(url: &str) -> Vec<i64> {
        let store = SqlStore::open(SqlOptions { url: url.to_owned() }).await.unwrap();
        let rows = query::all(store.reader(), "SELECT n FROM a ORDER BY n", []).await.unwrap();
        store.close().await;
        rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
    }

    const SMALL_DISK_BYTES: u64 = 4 << 20;

    /// SQLite takes a transaction back by itself when its file cannot grow, and its driver does not hear of it.
    #[tokio::test]
    async fn what_is_accepted_after_a_full_disk_is_stored() {
        let dir = tempfile::tempdir().unwrap();
        let disk = rustix::fs::statvfs(dir.path()).unwrap();
        if disk.f_blocks * disk.f_frsize > SMALL_DISK_BYTES {
            return again_on_a_small_disk(dir.path(), "what_is_accepted_after_a_full_disk_is_stored");
        }
        let url = format!("sqlite://{}", dir.path().join("a.db").display());
        let store = SqlStore::open(SqlOptions { url: url.clone() }).await.unwrap();
        write(&store, &["CREATE TABLE a (n INTEGER, filler BLOB)", "INSERT INTO a (n) VALUES (1)"]).await.unwrap();
        let filler = dir.path().join("filler");
        let full = std::fs::write(&filler, vec![1; usize::try_from(SMALL_DISK_BYTES).unwrap()]);
        assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        for attempt in 0..4 {
            let refused = write(&store, &["INSERT INTO a VALUES (2, zeroblob(20000))"]).await;
            assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{attempt}: {refused:?}");
        }
        std::fs::remove_file(&filler).unwrap();
        write(&store, &["INSERT INTO a (n) VALUES (3)"]).await.unwrap();
        assert_eq!(stored(&url).await, [1, 3]);
        store.close().await;
    }

    /// Runs a test of this module by itself, with its temporary files on a file system that is small.
    fn again_on_a_small_disk(place: &std::path::Path, test: &str) {
        let place = place.to_str().unwrap();
        let size = SMALL_DISK_BYTES.to_string();
        let output = std::process::Command::new("bwrap")
            .args(["--dev-bind", "/", "/", "--size", &size, "--tmpfs", place, "--setenv", "TMPDIR", place])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &format!("sql::tests::{test}")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[tokio::test]
    async fn what_is_accepted_after_a_commit_that_failed_is_stored() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("a.db").display());
        let store = SqlStore::open(SqlOptions { url: url.clone() }).await.unwrap();
        const TABLES: [&str; 2] = [
            "CREATE TABLE b (n INTEGER PRIMARY KEY)",
            "CREATE TABLE a (n INTEGER REFERENCES b DEFERRABLE INITIALLY DEFERRED)",
        ];
        write(&store, &TABLES).await.unwrap();
        // It is found out only by the commit, which leaves the transaction open.
        let refused = write(&store, &["INSERT INTO a VALUES (1)"]).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        write(&store, &["INSERT INTO b VALUES (2)", "INSERT INTO a VALUES (2)"]).await.unwrap();
        assert_eq!(stored(&url).await, [2]);
        store.close().await;
    }
}
