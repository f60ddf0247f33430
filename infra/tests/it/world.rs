//! A store for one test: an empty database of its own, with the schema.

use std::sync::Arc;

use domain::testing::Ports;
use infra::clock::SystemClock;
use infra::sql::{SqlOptions, SqlStore};
use sea_orm::{ConnectionTrait, Statement};
use tempfile::TempDir;

use crate::mariadb;

/// A store and what must outlive it.
pub struct World {
    pub store: SqlStore,
    pub ports: Ports,
    pub url: String,
    _dir: Option<TempDir>,
}

impl World {
    pub async fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", dir.path().join("vitrine.db").display());
        Self::open(url, Some(dir)).await
    }

    pub async fn mariadb() -> Self {
        Self::open(mariadb::fresh_database().await, None).await
    }

    async fn open(url: String, dir: Option<TempDir>) -> Self {
        let store = SqlStore::open(SqlOptions { url: url.clone() }).await.unwrap();
        migrations::up(store.connection()).await.unwrap();
        let ports = ports(&store);
        Self { store, ports, url, _dir: dir }
    }

    /// Every row of every table that an execution writes, as text, in the order of the keys.
    pub async fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (table, columns, key) in DUMPED {
            let sql = format!("SELECT {columns} FROM {table} ORDER BY {key}");
            let connection = self.store.connection();
            let statement = Statement::from_string(connection.get_database_backend(), sql);
            for row in connection.query_all_raw(statement).await.unwrap() {
                let cells: Vec<String> = columns.split(", ").map(|column| cell(&row, column)).collect();
                lines.push(format!("{table} {}", cells.join(" | ")));
            }
        }
        lines
    }

    pub async fn close(self) {
        self.store.close().await;
    }
}

pub fn ports(store: &SqlStore) -> Ports {
    Ports {
        executions: Arc::new(store.clone()),
        reader: Arc::new(store.clone()),
        log: Arc::new(store.clone()),
        resources: Arc::new(store.clone()),
        access: Arc::new(store.clone()),
        identity: Arc::new(store.clone()),
        accounts: Arc::new(store.clone()),
        prices: Arc::new(store.clone()),
        costs: Arc::new(store.clone()),
        audit: Arc::new(store.clone()),
        clock: Arc::new(SystemClock::new()),
    }
}

/// Table, columns and key. Times that the database's own clock gives (ends of leases) differ between runs and are left
/// out.
const DUMPED: [(&str, &str, &str); 13] = [
    (
        "execution",
        "id, status, open_since, iteration, attempt, stop_reason, answer, started_at, ended_at, used_iterations, \
         used_model_calls, used_tool_calls, used_tokens, reserved_tokens, spent_nano_usd, reserved_nano_usd, \
         active_time_us, lease_owner, lease_epoch, next_sequence, task, pins, limits, deadline_at, created_at",
        "id",
    ),
    ("idempotency", "tenant_id, operation, key_hash, request_hash, execution_id, expires_at", "key_hash"),
    ("execution_command", "execution_id, id, kind, requested_by, created_at", "id"),
    ("execution_command_body", "execution_id, command_id, body", "command_id"),
    ("loop_override", "execution_id, command_id, after_calls, pardons", "command_id"),
    (
        "audit",
        "tenant_id, sequence, previous_hash, at, requested_by, action, target, reason, detail",
        "tenant_id, sequence",
    ),
    ("node_attempt", "execution_id, number, epoch, started_at, ended_at, outcome", "execution_id, number"),
    ("agent_iteration", "execution_id, number, agent_state_ref, started_at, ended_at", "execution_id, number"),
    ("model_call", "execution_id, id, state, alias, cost_nano_usd, reply_text, started_at, ended_at", "id"),
    ("tool_call", "execution_id, id, state, tool, result, exit_code, started_at, ended_at", "id"),
    ("sandbox", "execution_id, id, epoch, state, remote_id, enforced, created_at, expires_at", "id"),
    ("workspace_checkpoint", "execution_id, iteration, manifest, left_out, is_stale", "execution_id, iteration"),
    ("event_segment", "execution_id, first_sequence, last_sequence, byte_size, bytes", "execution_id, first_sequence"),
];

fn cell(row: &sea_orm::QueryResult, column: &str) -> String {
    if let Ok(value) = row.try_get::<Option<String>>("", column) {
        return value.unwrap_or_else(|| "NULL".to_owned());
    }
    if let Ok(value) = row.try_get::<Option<i64>>("", column) {
        return value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
    }
    let bytes: Option<Vec<u8>> = row.try_get("", column).unwrap();
    bytes.map_or_else(|| "NULL".to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
