//! Statements: text with `?` and values, the same on both engines.

use sea_orm::{ConnectionTrait, DbBackend, QueryResult, Statement, Value};

use super::fault::Fault;

/// Microseconds since 1970 by the database's own clock, as an expression. It does not depend on a session's time zone.
pub(super) fn now<C: ConnectionTrait>(db: &C) -> &'static str {
    match db.get_database_backend() {
        DbBackend::MySql => "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
        _ => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
    }
}

/// Executes and returns how many rows matched (both drivers count matched, not changed, rows).
pub(super) async fn execute<C, V>(db: &C, sql: &str, values: V) -> Result<u64, Fault>
where
    C: ConnectionTrait,
    V: IntoIterator<Item = Value>,
{
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    Ok(db.execute_raw(statement).await?.rows_affected())
}

/// The first row.
pub(super) async fn one<C, V>(db: &C, sql: &str, values: V) -> Result<Option<QueryResult>, Fault>
where
    C: ConnectionTrait,
    V: IntoIterator<Item = Value>,
{
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    Ok(db.query_one_raw(statement).await?)
}

/// All rows.
pub(super) async fn all<C, V>(db: &C, sql: &str, values: V) -> Result<Vec<QueryResult>, Fault>
where
    C: ConnectionTrait,
    V: IntoIterator<Item = Value>,
{
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values);
    Ok(db.query_all_raw(statement).await?)
}

/// Writes a row: the columns of `key` are its primary key, the others are what it says. Replaces the row with this key,
/// or inserts.
pub(super) async fn save<C: ConnectionTrait>(
    db: &C,
    table: &str,
    key: &[(&str, Value)],
    columns: &[(&str, Value)],
) -> Result<(), Fault> {
    if db.get_database_backend() == DbBackend::Sqlite {
        return upsert(db, table, key, columns).await;
    }
    // MySQL's upsert takes any unique key for the row's own, so the row is looked for first.
    let assignments = join(columns.iter().map(|(name, _)| format!("{name} = ?")), ", ");
    let condition = join(key.iter().map(|(name, _)| format!("{name} = ?")), " AND ");
    let values = columns.iter().chain(key).map(|(_, value)| value.clone());
    if execute(db, &format!("UPDATE {table} SET {assignments} WHERE {condition}"), values).await? == 1 {
        return Ok(());
    }
    insert(db, table, key.iter().chain(columns)).await
}

async fn upsert<C: ConnectionTrait>(
    db: &C,
    table: &str,
    key: &[(&str, Value)],
    columns: &[(&str, Value)],
) -> Result<(), Fault> {
    let names = join(key.iter().chain(columns).map(|(name, _)| (*name).to_owned()), ", ");
    let target = join(key.iter().map(|(name, _)| (*name).to_owned()), ", ");
    let assignments = join(columns.iter().map(|(name, _)| format!("{name} = excluded.{name}")), ", ");
    let marks = marks(key.len() + columns.len());
    let sql =
        format!("INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT ({target}) DO UPDATE SET {assignments}");
    let values = key.iter().chain(columns).map(|(_, value)| value.clone());
    execute(db, &sql, values).await.map(|_| ())
}

/// Inserts a row.
pub(super) async fn insert<'a, C: ConnectionTrait>(
    db: &C,
    table: &str,
    columns: impl IntoIterator<Item = &'a (&'a str, Value)>,
) -> Result<(), Fault> {
    let (names, values): (Vec<&str>, Vec<Value>) =
        columns.into_iter().map(|(name, value)| (*name, value.clone())).unzip();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks(values.len()));
    execute(db, &sql, values).await.map(|_| ())
}

/// `?, ?, ?`
pub(super) fn marks(count: usize) -> String {
    join(std::iter::repeat_n("?".to_owned(), count), ", ")
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}
