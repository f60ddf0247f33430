//! What can go wrong inside a job, and how the ports see it.

use sea_orm::{DbErr, RuntimeErr, SqlErr, sqlx};

use domain::error::StoreError;

/// MySQL: a deadlock, and a lock that was waited for too long.
const MYSQL_DEADLOCK: u16 = 1213;
const MYSQL_LOCK_TIMEOUT: u16 = 1205;
/// SQLite's primary code for a database that another process keeps busy.
const SQLITE_BUSY: i32 = 5;

/// A failure inside a job.
#[derive(Debug)]
pub(super) enum Fault {
    /// An answer for the caller.
    Store(StoreError),
    /// The driver failed.
    Db(DbErr),
    /// Somebody else got there first: run the job again, it will see what they did.
    Again,
}

impl Fault {
    pub(super) fn conflict(what: &'static str) -> Self {
        Self::Store(StoreError::Conflict { what })
    }

    pub(super) fn corrupt(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Corrupt { what: what.into() })
    }

    /// Whether the whole transaction may be tried again.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Again => true,
            Self::Store(_) => false,
            Self::Db(error) => is_passing(error),
        }
    }

    /// Names the conflict when a unique key was taken.
    pub(super) fn taken(self, what: &'static str) -> Self {
        if self.is_unique_violation() { Self::conflict(what) } else { self }
    }

    pub(super) fn is_unique_violation(&self) -> bool {
        match self {
            Self::Db(error) => matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))),
            Self::Store(_) | Self::Again => false,
        }
    }
}

impl From<DbErr> for Fault {
    fn from(error: DbErr) -> Self {
        Self::Db(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(error) => error,
            Fault::Again => Self::Conflict { what: "others keep changing the same rows" },
            Fault::Db(error) => match error.sql_err() {
                Some(SqlErr::UniqueConstraintViolation(_)) => Self::Conflict { what: "a row with this key exists" },
                Some(SqlErr::ForeignKeyConstraintViolation(_)) => {
                    Self::Conflict { what: "a row that this one refers to does not exist" }
                }
                Some(_) | None => Self::Unavailable(Box::new(error)),
            },
        }
    }
}

/// The store cannot be reached, for a reason that no driver gave.
pub(super) fn unavailable(reason: &'static str) -> StoreError {
    StoreError::Unavailable(reason.into())
}

/// Whether the driver says that another transaction was in the way.
pub(super) fn is_passing(error: &DbErr) -> bool {
    let (DbErr::Exec(RuntimeErr::SqlxError(cause))
    | DbErr::Query(RuntimeErr::SqlxError(cause))
    | DbErr::Conn(RuntimeErr::SqlxError(cause))) = error
    else {
        return false;
    };
    let sqlx::Error::Database(cause) = cause.as_ref() else { return false };
    if let Some(mysql) = cause.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return matches!(mysql.number(), MYSQL_DEADLOCK | MYSQL_LOCK_TIMEOUT);
    }
    let code = cause.code().and_then(|code| code.parse::<i32>().ok());
    cause.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some()
        && code.is_some_and(|code| code & 0xff == SQLITE_BUSY)
}
