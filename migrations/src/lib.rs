//! The SQL schema, as steps that run on SQLite and on MySQL alike.
//!
//! A step is one `CREATE TABLE IF NOT EXISTS`, or adds the columns that a table does not have yet, so that a step which was interrupted can be run again: MySQL commits DDL
//! statement by statement. Steps are only ever added. The programs that use the tables are the stores of `infra`; this
//! crate knows nothing of them.

mod step;
mod tables;

use std::sync::LazyLock;

use sea_orm_migration::sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, SqliteTransactionMode, Statement,
    TransactionOptions, TransactionTrait,
};
use sea_orm_migration::{MigrationTrait, MigratorTrait};

use step::Step;

/// Seconds that a start waits for another process that migrates the same database.
const LOCK_TIMEOUT_SECONDS: u32 = 120;

struct Migrator;

impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        static STEPS: LazyLock<Vec<Step>> = LazyLock::new(tables::steps);
        STEPS.iter().map(|step| Box::new(step.clone()) as Box<dyn MigrationTrait>).collect()
    }
}

/// Applies the steps that the database does not have yet. Processes that start together take turns.
pub async fn up(db: &DatabaseConnection) -> Result<(), DbErr> {
    run(db, Direction::Up).await
}

/// Takes every step back, and all data with it.
pub async fn down(db: &DatabaseConnection) -> Result<(), DbErr> {
    run(db, Direction::Down).await
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Runs on one connection, since MySQL's named lock belongs to a connection. SQLite does all steps in one transaction;
/// MySQL ends a transaction at each DDL statement, and the named lock stays.
async fn run(db: &DatabaseConnection, direction: Direction) -> Result<(), DbErr> {
    let options = TransactionOptions {
        sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
        ..TransactionOptions::default()
    };
    let transaction = db.begin_with_options(options).await?;
    lock(&transaction).await?;
    let outcome = match direction {
        Direction::Up => Migrator::up(&transaction, None).await,
        Direction::Down => Migrator::down(&transaction, None).await,
    };
    // The lock must not stay on a pooled connection, whatever the outcome.
    let unlocked = unlock(&transaction).await;
    outcome?;
    unlocked?;
    transaction.commit().await
}

/// Named by the database, since the name holds for the whole server.
const LOCK_NAME: &str = "CONCAT('vitrine:', LEFT(SHA2(DATABASE(), 256), 40))";

async fn lock(connection: &DatabaseTransaction) -> Result<(), DbErr> {
    if connection.get_database_backend() != DbBackend::MySql {
        return Ok(());
    }
    let sql = format!("SELECT GET_LOCK({LOCK_NAME}, {LOCK_TIMEOUT_SECONDS}) AS got");
    let row = connection.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await?;
    let got: Option<i64> = row.map(|row| row.try_get("", "got")).transpose()?.flatten();
    match got {
        Some(1) => Ok(()),
        Some(_) | None => {
            Err(DbErr::Migration("another process is migrating this database and does not end".to_owned()))
        }
    }
}

async fn unlock(connection: &DatabaseTransaction) -> Result<(), DbErr> {
    if connection.get_database_backend() != DbBackend::MySql {
        return Ok(());
    }
    let sql = format!("SELECT RELEASE_LOCK({LOCK_NAME}) AS released");
    connection.query_one_raw(Statement::from_string(DbBackend::MySql, sql)).await.map(|_| ())
}
