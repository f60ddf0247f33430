//! A step: one table, or columns that an older table lacks, written once for both engines.
//!
//! Column types are words in braces, since the engines differ only there: `{id}` is ASCII text in a binary collation
//! (ids, hashes, slugs, names of states), `{text}` is text for people, `{bytes}` is JSON or long text, `{int}` is a whole
//! number or a time in microseconds. An index that a query or a foreign key needs is a `UNIQUE` constraint that ends
//! with the id: both engines take it inside `CREATE TABLE`, which keeps a step to one statement. An added column may be NULL: rows from before have no value for it.

use sea_orm_migration::sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, SchemaManager};

/// What comes or goes as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The table.
    Table,
    /// Columns of a table that an earlier step made.
    Columns,
}

/// One change of the schema.
#[derive(Clone)]
pub struct Step {
    /// Number and table; the migration's name.
    pub name: String,
    /// What is added.
    pub kind: Kind,
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
        let (connection, backend) = (manager.get_connection(), manager.get_database_backend());
        match self.kind {
            Kind::Table => {
                connection.execute_unprepared(&create_table(self.table, self.body, backend)).await.map(|_| ())
            }
            Kind::Columns => {
                for (name, column) in columns(self.body) {
                    if !manager.has_column(self.table, name).await? {
                        let column = in_words_of(column, backend);
                        let sql = format!("ALTER TABLE {} ADD COLUMN {column}", self.table);
                        connection.execute_unprepared(&sql).await?;
                    }
                }
                Ok(())
            }
        }
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let connection = manager.get_connection();
        match self.kind {
            Kind::Table => {
                connection.execute_unprepared(&format!("DROP TABLE IF EXISTS {}", self.table)).await.map(|_| ())
            }
            Kind::Columns => {
                for (name, _) in columns(self.body) {
                    if manager.has_column(self.table, name).await? {
                        let sql = format!("ALTER TABLE {} DROP COLUMN {name}", self.table);
                        connection.execute_unprepared(&sql).await?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Name and definition of each column of a body without constraints.
fn columns(body: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    body.split(',').map(str::trim).map(|column| (column.split(' ').next().unwrap_or(column), column))
}

fn create_table(table: &str, body: &str, backend: DbBackend) -> String {
    let options = match backend {
        DbBackend::MySql => "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4",
        _ => "STRICT",
    };
    format!("CREATE TABLE IF NOT EXISTS {table} ({}) {options}", in_words_of(body, backend))
}

fn in_words_of(body: &str, backend: DbBackend) -> String {
    let (id, text, bytes, int) = match backend {
        DbBackend::MySql => (
            "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin",
            "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "LONGBLOB",
            "BIGINT",
        ),
        _ => ("TEXT COLLATE BINARY", "TEXT", "BLOB", "INTEGER"),
    };
    body.replace("{id}", id).replace("{text}", text).replace("{bytes}", bytes).replace("{int}", int)
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
    fn names_each_column_that_is_added() {
        let body = "a {int}, b {bytes}";
        assert_eq!(columns(body).collect::<Vec<_>>(), [("a", "a {int}"), ("b", "b {bytes}")]);
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
