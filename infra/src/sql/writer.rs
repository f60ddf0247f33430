//! How a write job gets its transaction.
//!
//! SQLite has one writer connection that belongs to one task. The task takes the jobs that wait, up to a bound, into one
//! immediate transaction. When one of them fails, all run again, each behind a savepoint: a job that fails takes back
//! only what it did, and all others share the one commit. A connection whose transaction did not end as it was asked to is
//! given up. MySQL gives each job its own transaction and runs it again when another one was in the way.

use std::time::Duration;

use futures_util::future::BoxFuture;
use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbErr, SqliteTransactionMode, TransactionOptions,
    TransactionTrait,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::fault::{Fault, is_passing, unavailable};
use domain::error::StoreError;

/// Jobs that share a commit at most.
const GROUP: usize = 64;
/// Jobs that may wait; more of them hold their callers back.
const QUEUE: usize = 1024;
/// How often a transaction is tried when others are in the way.
const ATTEMPTS: u32 = 6;

/// Work inside a transaction. It may run several times, and keeps nothing but its last result.
pub(super) type Job<T> = Box<dyn for<'a> Fn(&'a DatabaseTransaction) -> BoxFuture<'a, Result<T, Fault>> + Send + Sync>;

/// The way to the task that owns SQLite's writer connection.
pub(super) struct SqliteWriter {
    queue: mpsc::Sender<Box<dyn Queued>>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl SqliteWriter {
    /// Starts the task. It ends by [`Self::finish`], or when the store is dropped.
    pub(super) fn start(connection: DatabaseConnection) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(run(connection, jobs, stop.clone()));
        tasks.close();
        Self { queue, stop, tasks }
    }

    pub(super) async fn write<T: Send + 'static>(&self, job: Job<T>) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let pending = Pending { job, answer, outcome: None };
        let closed = || unavailable("the writer has ended");
        self.queue.send(Box::new(pending)).await.map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }

    /// Lets the jobs that wait finish, takes no more, and ends the task.
    pub(super) async fn finish(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

/// A job in the queue, whatever its result.
#[async_trait::async_trait]
trait Queued: Send {
    /// Runs the job and keeps its result; false when its work must be taken back.
    async fn run(&mut self, transaction: &DatabaseTransaction) -> bool;
    /// Answers the caller. Without a commit nothing that succeeded has happened.
    fn answer(self: Box<Self>, commit: Result<(), &DbErr>);
}

struct Pending<T> {
    job: Job<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
    outcome: Option<Result<T, StoreError>>,
}

#[async_trait::async_trait]
impl<T: Send + 'static> Queued for Pending<T> {
    async fn run(&mut self, transaction: &DatabaseTransaction) -> bool {
        let outcome = (self.job)(transaction).await.map_err(StoreError::from);
        let keeps = outcome.is_ok();
        self.outcome = Some(outcome);
        keeps
    }

    fn answer(self: Box<Self>, commit: Result<(), &DbErr>) {
        let outcome = match (self.outcome, commit) {
            (Some(outcome), Ok(())) => outcome,
            (Some(Err(refused)), Err(_)) => Err(refused),
            (Some(Ok(_)) | None, Err(error)) => Err(StoreError::Unavailable(Box::new(error.clone()))),
            (None, Ok(())) => Err(unavailable("the job did not run")),
        };
        // A caller that went away needs no answer.
        let _ = self.answer.send(outcome);
    }
}

async fn run(connection: DatabaseConnection, mut jobs: mpsc::Receiver<Box<dyn Queued>>, stop: CancellationToken) {
    let mut group = Vec::with_capacity(GROUP);
    loop {
        let taken = tokio::select! {
            biased;
            taken = jobs.recv_many(&mut group, GROUP) => taken,
            () = stop.cancelled(), if !jobs.is_closed() => {
                jobs.close();
                continue;
            }
        };
        if taken == 0 {
            return;
        }
        let committed = write_group(&connection, &mut group).await;
        if let Err(error) = &committed {
            tracing::warn!(error = error as &dyn std::error::Error, "sql group was not committed");
            give_up(&connection).await;
        }
        for job in group.drain(..) {
            job.answer(committed.as_ref().map(|&()| ()));
        }
    }
}

/// Closes the one connection of the pool, which opens another for the next group.
///
/// SQLite may have taken a transaction back by itself, as it does when the disk is full, and its driver counts it as open
/// all the same: whatever was written there afterwards would be savepoints of a transaction that nobody ever commits.
async fn give_up(connection: &DatabaseConnection) {
    match connection.get_sqlite_connection_pool().acquire().await {
        Ok(held) => {
            if let Err(error) = held.close().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "sql connection was not closed in order");
            }
        }
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "sql connection cannot be had"),
    }
}

async fn write_group(connection: &DatabaseConnection, group: &mut [Box<dyn Queued>]) -> Result<(), DbErr> {
    let transaction = begin_immediate(connection).await?;
    if run_all(&transaction, group).await {
        return transaction.commit().await;
    }
    transaction.rollback().await?;
    if group.len() == 1 {
        return Ok(());
    }
    let transaction = begin_immediate(connection).await?;
    for job in group {
        transaction.execute_unprepared("SAVEPOINT job").await?;
        if !job.run(&transaction).await {
            transaction.execute_unprepared("ROLLBACK TO job").await?;
        }
        transaction.execute_unprepared("RELEASE job").await?;
    }
    transaction.commit().await
}

/// Runs the jobs up to the first that fails; false when there is one.
async fn run_all(transaction: &DatabaseTransaction, group: &mut [Box<dyn Queued>]) -> bool {
    for job in group {
        if !job.run(transaction).await {
            return false;
        }
    }
    true
}

/// Waits for a foreign process that keeps the database busy, within bounds.
async fn begin_immediate(connection: &DatabaseConnection) -> Result<DatabaseTransaction, DbErr> {
    let mut attempt = 1;
    loop {
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        match connection.begin_with_options(options).await {
            Err(error) if is_passing(&error) && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
    }
}

/// Runs a job in a transaction of its own, again when another transaction was in the way.
pub(super) async fn write_mysql<T: Send>(pool: &DatabaseConnection, job: &Job<T>) -> Result<T, StoreError> {
    let mut attempt = 1;
    loop {
        let fault = match try_mysql(pool, job).await {
            Ok(value) => return Ok(value),
            Err(fault) => fault,
        };
        if !fault.is_passing() || attempt == ATTEMPTS {
            return Err(fault.into());
        }
        tokio::time::sleep(pause(attempt)).await;
        attempt += 1;
    }
}

async fn try_mysql<T: Send>(pool: &DatabaseConnection, job: &Job<T>) -> Result<T, Fault> {
    let transaction = pool.begin().await?;
    match job(&transaction).await {
        Ok(value) => {
            transaction.commit().await?;
            Ok(value)
        }
        Err(fault) => {
            // A rollback that fails leaves a dead connection, which the pool throws away.
            let _ = transaction.rollback().await;
            Err(fault)
        }
    }
}

/// 1 to 5 ms after the first try, doubling; random, so that two that met do not meet again.
fn pause(attempt: u32) -> Duration {
    let random = getrandom::u32().unwrap_or(0) % 4000;
    Duration::from_micros(u64::from(1000 + random) << attempt.min(6))
}
