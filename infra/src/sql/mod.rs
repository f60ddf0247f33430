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

use std::sync::Arc;

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
        let job: Job<T> = Box::new(job);
        match &self.inner.engine {
            Engine::Sqlite { writer, .. } => writer.write(job).await,
            Engine::MySql { pool } => {
                let pool = pool.clone();
                let written = self.to_its_end(async move { writer::write_mysql(&pool, &job).await }).await;
                written.ok_or_else(stopped)?
            }
        }
    }

    /// Does the work also when the caller goes away: MySQL's driver, dropped in the middle of a transaction, gives the
    /// connection back with the transaction open, or never. None when the work itself came to no end.
    async fn to_its_end<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        self.inner.unfinished.spawn(work).await.ok()
    }
}

fn stopped() -> StoreError {
    fault::unavailable("the work in the database was stopped")
}
