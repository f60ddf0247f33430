//! A step: one table, written once for both engines.
//!
//! Column types are words in braces, since the engines differ only there: `{id}` is ASCII text in a binary collation
//! (ids, hashes, slugs, names of states), `{text}` is text for people, `{bytes}` is JSON or long text, `{int}` is a whole
//! number or a time in microseconds. An index that a query or a foreign key needs is a `UNIQUE` constraint that ends
//! with the id: both engines take it inside `CREATE TABLE`, which keeps a step to one statement.

use sea_orm_migration::sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, SchemaManager};

/// A table that comes or goes as a whole.
#[derive(Clone)]
pub struct Step {
    /// Number and table; the migration's name.
    pub name: String,
    /// The table.
    pub table: &'static str,
    /// Columns and constraints.
    pub body: &'static str,
}

impl MigrationName for Step {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Step {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let sql = create_table(self.table, self.body, manager.get_database_backend());
        manager.get_connection().execute_unprepared(&sql).await.map(|_| ())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let sql = format!("DROP TABLE IF EXISTS {}", self.table);
        manager.get_connection().execute_unprepared(&sql).await.map(|_| ())
    }
}

fn create_table(table: &str, body: &str, backend: DbBackend) -> String {
    let (id, text, bytes, int, options) = match backend {
        DbBackend::MySql => (
            "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin",
            "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "LONGBLOB",
            "BIGINT",
            "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4",
        ),
        _ => ("TEXT COLLATE BINARY", "TEXT", "BLOB", "INTEGER", "STRICT"),
    };
    let body = body.replace("{id}", id).replace("{text}", text).replace("{bytes}", bytes).replace("{int}", int);
    format!("CREATE TABLE IF NOT EXISTS {table} ({body}) {options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_each_type_in_the_words_of_the_engine() {
        let body = "a {id} NOT NULL, b {text}, c {bytes}, d {int}";
        assert_eq!(
            create_table("t", body, DbBackend::Sqlite),
            "CREATE TABLE IF NOT EXISTS t (a TEXT COLLATE BINARY NOT NULL, b TEXT, c BLOB, d INTEGER) STRICT"
        );
        assert!(create_table("t", body, DbBackend::MySql).contains("COLLATE ascii_bin NOT NULL, b LONGTEXT"));
    }

    #[test]
    fn no_word_in_braces_is_left_over() {
        for step in crate::tables::steps() {
            for backend in [DbBackend::Sqlite, DbBackend::MySql] {
                assert!(!create_table(step.table, step.body, backend).contains('{'), "{}", step.name);
            }
        }
    }
}
