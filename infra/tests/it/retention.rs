//! Executions are removed as a whole after their time, and the files that only they used with them.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use domain::artifact::ArtifactStore;
use domain::clock::{Clock as _, Timestamp};
use domain::ctx::Scope;
use domain::execution::retention::{sweep_executions, sweep_files};
use domain::execution::{Change, Command, CommandKind, ExecutionRef, Fence, LoopOverride, RetentionStore as _};
use domain::ids::TenantId;
use domain::sandbox::{Sandbox, SandboxState};
use domain::testing::{Home, Samples};
use infra::artifact_dir::DirArtifactStore;
use infra::clock::SystemClock;
use infra::sql::TABLES_OF_AN_EXECUTION;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use crate::world::World;

const DAY: Duration = Duration::from_hours(24);
const KEEP: Duration = Duration::from_hours(24 * 30);

/// When the executions of these tests are started, and when it is for them.
const BEGIN: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

fn now() -> Timestamp {
    BEGIN.plus(2 * KEEP)
}

/// An execution with a row in every table, which ended at this moment; None for one that has not ended.
async fn execution(world: &World, samples: &Samples, home: &Home, ended: Option<Timestamp>) -> ExecutionRef {
    let execution = samples.start(&world.ports, home, BEGIN).await;
    let claimed = world.ports.executions.claim(execution, "w", DAY).await.unwrap().unwrap();
    let epoch = claimed.execution.epoch;
    let kind = CommandKind::OverrideLoop { reason: "Go on.".to_owned(), pardons: 1 };
    let command = Command { id: samples.command_id(), kind, by: home.owner, created_at: BEGIN };
    world.ports.executions.add_command(execution, &command).await.unwrap();
    let call = samples.tool_call(1, 0, epoch, BEGIN);
    let sandbox = Sandbox { state: SandboxState::Gone, ..samples.sandbox(epoch, BEGIN) };
    let issued = samples.issued_credential(call.id, sandbox.id, BEGIN);
    let mut commit = samples.commit(
        Fence { execution, epoch, next_sequence: claimed.execution.next_sequence },
        3,
        vec![
            Change::SaveIteration(samples.iteration(1, BEGIN)),
            Change::SaveModelCall(Box::new(samples.model_call(1, epoch, BEGIN))),
            Change::SaveToolCall(Box::new(call)),
            Change::SaveSandbox(Box::new(sandbox)),
            Change::SaveIssuedCredential(Box::new(issued)),
            Change::SaveWorkspace { iteration: 1, checkpoint: samples.workspace() },
            Change::StartAttempt { number: 1, started_at: BEGIN },
            Change::AddLoopOverride { command: command.id, at: LoopOverride { after_calls: 1, pardons: 1 } },
        ],
    );
    if let Some(at) = ended {
        let mut progress = samples.ended(BEGIN);
        progress.ended_at = Some(at);
        commit.progress = Some(progress);
    }
    world.ports.executions.commit(&commit).await.unwrap();
    budget_rows(world, execution).await;
    execution
}

/// What an execution leaves beside accounts. The rules of accounts have tests of their own.
async fn budget_rows(world: &World, ExecutionRef { tenant_id, id }: ExecutionRef) {
    let (call, account) = ("mod_01", "acc_01");
    let rows = [
        format!(
            "INSERT INTO budget_reservation (tenant_id, execution_id, model_call_id, ordinal, account_id, starts_at, \
             nano_usd, tokens) VALUES ('{tenant_id}', '{id}', '{call}', 0, '{account}', 0, 1, 1)"
        ),
        format!(
            "INSERT INTO budget_warned (tenant_id, execution_id, account_id, starts_at, cost_level, token_level) \
             VALUES ('{tenant_id}', '{id}', '{account}', 0, 50, 0)"
        ),
        format!(
            "INSERT INTO budget_top_up (tenant_id, id, execution_id, nano_usd, tokens, reason, requested_by, created_at, \
             key_hash, request_hash) VALUES ('{tenant_id}', '{id}', '{id}', 1, 0, x'72', 'p', 0, '{id}', 'h')"
        ),
    ];
    for row in rows {
        world.store.connection().execute_unprepared(&row).await.unwrap();
    }
}

async fn left(world: &World, home: &Home, executions: &[ExecutionRef]) -> Vec<ExecutionRef> {
    let ids: Vec<_> = executions.iter().map(|execution| execution.id).collect();
    let found = world.ports.reader.executions(home.scope(), &ids).await.unwrap();
    executions.iter().copied().filter(|wanted| found.iter().any(|found| found.id == wanted.id)).collect()
}

async fn only_what_ended_long_ago_is_removed(world: World) {
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let old = execution(&world, &samples, &home, Some(now().minus(KEEP + DAY))).await;
    let young = execution(&world, &samples, &home, Some(now().minus(KEEP - DAY))).await;
    let open = execution(&world, &samples, &home, None).await;
    let held = execution(&world, &samples, &home, Some(now().minus(KEEP + DAY))).await;
    let sandboxes = world.ports.reader.sandboxes(home.scope(), &[held.id]).await.unwrap();
    let sql = format!("UPDATE sandbox SET state = 'KILL_PENDING' WHERE id = '{}'", sandboxes[0].1.id);
    world.store.connection().execute_unprepared(&sql).await.unwrap();

    assert_eq!(sweep_executions(&world.store, now(), KEEP).await.unwrap(), 1);
    assert_eq!(sweep_executions(&world.store, now(), KEEP).await.unwrap(), 0);
    assert_eq!(left(&world, &home, &[old, young, open, held]).await, [young, open, held]);
    assert!(world.ports.log.read(old, 0, usize::MAX).await.unwrap().is_empty());
    assert_eq!(world.ports.log.head(home.scope(), old).await.unwrap(), None);
    assert_eq!(world.ports.log.read(young, 0, usize::MAX).await.unwrap().len(), 2);

    let tombstone = world.store.tombstone(home.scope(), old.id).await.unwrap().unwrap();
    assert_eq!((tombstone.execution_id, tombstone.project_id), (old.id, home.project.id));
    assert_eq!((tombstone.created_at, tombstone.removed_at), (BEGIN, now()));
    assert_eq!(world.store.tombstone(home.scope(), young.id).await.unwrap(), None);
    let stranger = samples.home(&world.ports).await;
    assert_eq!(world.store.tombstone(stranger.scope(), old.id).await.unwrap(), None);
    // One that has not ended is not removed, whoever asks.
    world.store.remove(open, now()).await.unwrap();
    assert_eq!(left(&world, &home, &[open]).await, [open]);
    assert_eq!(rows_of(&world, old).await, [] as [String; 0]);
    assert_eq!(rows_of(&world, young).await.len(), TABLES_OF_AN_EXECUTION.len(), "a table was not tried");
    world.close().await;
}

/// The tables that hold a row of an execution.
async fn rows_of(world: &World, execution: ExecutionRef) -> Vec<String> {
    let connection = world.store.connection();
    let mut found = Vec::new();
    for table in tables(world).await {
        let sql = format!("SELECT 1 AS one FROM {table} WHERE execution_id = '{}' LIMIT 1", execution.id);
        let statement = Statement::from_string(connection.get_database_backend(), sql);
        if connection.query_one_raw(statement).await.unwrap().is_some() {
            found.push(table);
        }
    }
    found
}

/// The tables with a column `execution_id`.
async fn tables(world: &World) -> BTreeSet<String> {
    let connection = world.store.connection();
    let backend = connection.get_database_backend();
    let sql = match backend {
        DbBackend::MySql => {
            "SELECT table_name AS name FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND column_name = 'execution_id'"
        }
        _ => {
            "SELECT t.name AS name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND c.name = 'execution_id'"
        }
    };
    let rows = connection.query_all_raw(Statement::from_string(backend, sql)).await.unwrap();
    rows.iter().map(|row| row.try_get("", "name").unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_ended_long_ago_is_removed_on_sqlite() {
    only_what_ended_long_ago_is_removed(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_ended_long_ago_is_removed_on_mariadb() {
    only_what_ended_long_ago_is_removed(World::mariadb().await).await;
}

/// A new table of executions must be named where they are removed, or nothing could be removed any more.
#[tokio::test(flavor = "multi_thread")]
async fn every_table_of_an_execution_is_emptied() {
    let world = World::sqlite().await;
    assert_eq!(tables(&world).await, TABLES_OF_AN_EXECUTION.iter().map(|name| (*name).to_owned()).collect());
    world.close().await;
}

const HERE: Scope = Scope { tenant_id: TenantId::from_bits(1) };

fn age(dir: &std::path::Path, scope: Scope, sha256: &str, by: Duration) {
    let path = dir.join(scope.tenant_id.to_string()).join(&sha256[..2]).join(sha256);
    let file = std::fs::File::open(path).unwrap();
    let modified: SystemTime = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified - by).unwrap();
}

#[tokio::test]
async fn a_file_that_was_put_again_is_used_and_one_that_was_not_goes() {
    let dir = tempfile::tempdir().unwrap();
    let store = DirArtifactStore::open(dir.path()).unwrap();
    let (shared, lone) = (Bytes::from_static(b"shared"), Bytes::from_static(b"lone"));
    let names = [store.put(HERE, shared.clone()).await.unwrap(), store.put(HERE, lone).await.unwrap()];
    for name in &names {
        age(dir.path(), HERE, name, 40 * DAY);
    }
    store.put(HERE, shared.clone()).await.unwrap();
    let since = SystemClock::new().now().minus(KEEP);
    assert_eq!(store.remove_unused(HERE, since).await.unwrap(), 1);
    assert_eq!(store.get(HERE, &names[0]).await.unwrap(), Some(shared));
    assert_eq!(store.get(HERE, &names[1]).await.unwrap(), None);
    assert_eq!(store.remove_unused(Scope { tenant_id: TenantId::from_bits(2) }, since).await.unwrap(), 0);
}

/// What an earlier version put again kept the time of the first put.
#[tokio::test]
async fn the_files_of_an_earlier_version_count_from_the_first_start_of_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = DirArtifactStore::open(dir.path()).unwrap();
    let name = store.put(HERE, Bytes::from_static(b"old")).await.unwrap();
    age(dir.path(), HERE, &name, 400 * DAY);
    std::fs::remove_file(dir.path().join("times-are-kept")).unwrap();
    let since = SystemClock::new().now().minus(KEEP);
    for _ in 0..2 {
        let store = DirArtifactStore::open(dir.path()).unwrap();
        assert_eq!(store.remove_unused(HERE, since).await.unwrap(), 0);
        age(dir.path(), HERE, &name, 10 * DAY);
    }
}

/// Files stay as long as an execution is left that was started before they were put last.
#[tokio::test(flavor = "multi_thread")]
async fn files_go_when_the_last_execution_that_could_use_them_has_gone() {
    let world = World::sqlite().await;
    let (dir, samples) = (tempfile::tempdir().unwrap(), Samples::new(1));
    let home = samples.home(&world.ports).await;
    let files = DirArtifactStore::open(dir.path()).unwrap();
    let real_now = SystemClock::new().now();
    let ended = Some(BEGIN.plus(DAY));
    execution(&world, &samples, &home, ended).await;
    let name = files.put(home.scope(), Bytes::from_static(b"bytes")).await.unwrap();
    let later = real_now.plus(KEEP + DAY);
    assert_eq!(sweep_files(&world.store, &files, later, KEEP).await.unwrap(), 0);
    assert_eq!(sweep_executions(&world.store, later, KEEP).await.unwrap(), 1);
    assert_eq!(sweep_files(&world.store, &files, real_now, KEEP).await.unwrap(), 0);
    assert_eq!(sweep_files(&world.store, &files, later, KEEP).await.unwrap(), 1);
    assert_eq!(files.get(home.scope(), &name).await.unwrap(), None);
    world.close().await;
}
