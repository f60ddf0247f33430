//! The schema comes, goes and comes again, and processes that start together take turns.

use futures_util::future::join_all;
use infra::sql::{SqlOptions, SqlStore};
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::mariadb;
use crate::world::World;

async fn tables(store: &SqlStore) -> Vec<String> {
    let connection = store.connection();
    let backend = connection.get_database_backend();
    let sql = match backend {
        DbBackend::MySql => {
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
        }
        _ => "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
    };
    let rows = connection.query_all_raw(Statement::from_string(backend, sql)).await.unwrap();
    rows.iter().map(|row| row.try_get("", "name").unwrap()).collect()
}

async fn up_down_up(world: World) {
    let full = tables(&world.store).await;
    assert!(full.len() > 20 && full.iter().any(|table| table == "event_segment"), "{full:?}");
    migrations::up(world.store.connection()).await.unwrap();
    migrations::down(world.store.connection()).await.unwrap();
    assert_eq!(tables(&world.store).await, ["seaql_migrations"]);
    migrations::up(world.store.connection()).await.unwrap();
    assert_eq!(tables(&world.store).await, full);
    domain::testing::contract::starts::a_start_writes_row_inputs_and_first_event(&world.ports).await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn up_down_up_on_sqlite() {
    up_down_up(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn up_down_up_on_mariadb() {
    up_down_up(World::mariadb().await).await;
}

async fn many_at_once(url: &str) {
    let stores: Vec<SqlStore> = join_all((0..6).map(|_| SqlStore::open(SqlOptions { url: url.to_owned() })))
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    for outcome in join_all(stores.iter().map(|store| migrations::up(store.connection()))).await {
        outcome.unwrap();
    }
    assert!(tables(&stores[0]).await.iter().any(|table| table == "event_segment"));
    for store in stores {
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_migrate_mariadb_at_once() {
    many_at_once(&mariadb::fresh_database().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_migrate_sqlite_at_once() {
    let dir = tempfile::tempdir().unwrap();
    many_at_once(&format!("sqlite://{}", dir.path().join("vitrine.db").display())).await;
}

/// A step that was cut off after its table or its columns, before it was recorded, can be run again.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_was_cut_off_runs_again() {
    for world in [World::sqlite().await, World::mariadb().await] {
        let connection = world.store.connection();
        for step in ["%event_segment", "%model_call_columns"] {
            let sql = format!("DELETE FROM seaql_migrations WHERE version LIKE '{step}'");
            assert_eq!(connection.execute_unprepared(&sql).await.unwrap().rows_affected(), 1, "{step}");
        }
        migrations::up(connection).await.unwrap();
        assert!(tables(&world.store).await.iter().any(|table| table == "event_segment"));
        world.close().await;
    }
}
