//! What the writers promise beside the contracts: grouped jobs, no busy database, no lost retry, no leaked text.

use std::time::Duration;

use domain::error::StoreError;
use domain::execution::{Change, Commit, ExecutionRef, Fence};
use domain::testing::{Home, Ports, Samples};
use futures_util::future::join_all;
use infra::sql::{SqlOptions, SqlStore};
use sea_orm::{ConnectionTrait, TransactionTrait};
use tokio_util::task::TaskTracker;

use crate::world::{World, ports};

const LONG: Duration = Duration::from_secs(600);

async fn claimed(ports: &Ports, samples: &Samples, home: &Home) -> Fence {
    let execution = samples.start(ports, home, domain::clock::Timestamp::from_micros(1)).await;
    ports.executions.claim(execution, "w", LONG).await.unwrap().unwrap();
    Fence { execution, epoch: 1, next_sequence: 2 }
}

/// A process that was stopped in the middle of a transaction holds its rows; the server takes them back, and whoever
/// waits for them gets them.
#[tokio::test]
async fn a_transaction_that_stands_still_gives_its_rows_back() {
    let world = World::mariadb().await;
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let execution = samples.start(&world.ports, &home, domain::clock::Timestamp::from_micros(1)).await;
    let stopped = world.store.connection().begin().await.unwrap();
    stopped.execute_unprepared("UPDATE execution SET iteration = 7").await.unwrap();
    let claimed = world.ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
    assert_eq!((claimed.execution.reference(), claimed.execution.progress.iteration), (execution, 0));
    assert!(stopped.commit().await.is_err(), "what was taken back was committed");
    world.close().await;
}

/// F68: twenty writers, a second store on the same file, and readers: nobody is told that the database is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn busy_never_surfaces() {
    let world = World::sqlite().await;
    let second = SqlStore::open(SqlOptions { url: world.url.clone() }).await.unwrap();
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let tasks = TaskTracker::new();
    let mut writers = Vec::new();
    for index in 0..20 {
        let fence = claimed(&world.ports, &samples, &home).await;
        let ports = if index % 4 == 0 { ports(&second) } else { world.ports.clone() };
        writers.push(tasks.spawn(write_many(ports, fence, 25)));
    }
    for writer in writers {
        let execution = writer.await.unwrap();
        let head = world.ports.log.head(home.scope(), execution).await.unwrap();
        assert_eq!(head, Some(26));
    }
    second.close().await;
    world.close().await;
}

async fn write_many(ports: Ports, mut fence: Fence, count: u64) -> ExecutionRef {
    let samples = Samples::new(fence.execution.id.bits() as u64 + 1000);
    for _ in 0..count {
        ports.executions.commit(&samples.commit(fence, 1, Vec::new())).await.unwrap();
        fence.next_sequence += 1;
        let read = ports.log.read(fence.execution, fence.next_sequence - 2, 1).await.unwrap();
        assert_eq!(read.len(), 1, "a commit is visible to who waited for it");
    }
    fence.execution
}

/// Jobs that share a transaction share no fate.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_job_takes_back_only_itself() {
    for world in [World::sqlite().await, World::mariadb().await] {
        let samples = Samples::new(1);
        let home = samples.home(&world.ports).await;
        let mut commits = Vec::new();
        for index in 0..40_u32 {
            let fence = claimed(&world.ports, &samples, &home).await;
            let artifact = samples.artifact(fence.execution.id, domain::clock::Timestamp::from_micros(1));
            let twice = if index % 3 == 0 { 2 } else { 1 };
            commits.push(samples.commit(fence, 1, vec![Change::AddArtifact(artifact); twice]));
        }
        let outcomes = join_all(commits.iter().map(|commit| world.ports.executions.commit(commit))).await;
        for (index, (commit, outcome)) in commits.iter().zip(outcomes).enumerate() {
            let execution = commit.fence.execution;
            let head = world.ports.log.head(home.scope(), execution).await.unwrap();
            let files = world.ports.reader.artifacts(home.scope(), &[execution.id]).await.unwrap().len();
            if index % 3 == 0 {
                assert!(matches!(outcome, Err(StoreError::Conflict { .. })), "{outcome:?}");
                assert_eq!((head, files), (Some(1), 1));
            } else {
                outcome.unwrap();
                assert_eq!((head, files), (Some(2), 2));
            }
        }
        world.close().await;
    }
}

/// F79: a stale commit changes no row at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_commit_changes_no_row() {
    for world in [World::sqlite().await, World::mariadb().await] {
        let samples = Samples::new(1);
        let home = samples.home(&world.ports).await;
        let at = domain::clock::Timestamp::from_micros(1);
        let fence = claimed(&world.ports, &samples, &home).await;
        let changes = vec![
            Change::SaveIteration(samples.iteration(1, at)),
            Change::SaveModelCall(Box::new(samples.model_call(1, 1, at))),
            Change::SaveToolCall(Box::new(samples.tool_call(1, 0, 1, at))),
            Change::SaveSandbox(Box::new(samples.sandbox(1, at))),
            Change::StartAttempt { number: 1, started_at: at },
        ];
        world.ports.executions.commit(&samples.commit(fence, 1, changes.clone())).await.unwrap();
        let before = world.dump().await;
        assert!(before.len() > 7, "{before:?}");
        let stale = Fence { epoch: 0, next_sequence: 3, ..fence };
        let late = Commit { progress: Some(samples.ended(at)), ..samples.commit(stale, 1, changes) };
        assert!(matches!(world.ports.executions.commit(&late).await, Err(StoreError::LeaseLost)));
        assert_eq!(world.ports.executions.append(&[late]).await.unwrap(), [false]);
        assert_eq!(world.dump().await, before);
        world.close().await;
    }
}

/// F69: groups that lock the same rows in opposite order deadlock on MySQL; whole transactions are run again, and the
/// counts are exact.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deadlock_is_tried_again_as_a_whole() {
    let world = World::mariadb().await;
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let (a, b) = (claimed(&world.ports, &samples, &home).await, claimed(&world.ports, &samples, &home).await);
    let tasks = TaskTracker::new();
    let writers: Vec<_> = [[a, b], [b, a], [a, b], [b, a]]
        .into_iter()
        .map(|pair| tasks.spawn(append_pairs(world.ports.clone(), pair)))
        .collect();
    let mut written = 0;
    for writer in writers {
        written += writer.await.unwrap();
    }
    let mut heads = 0;
    for fence in [a, b] {
        heads += world.ports.log.head(home.scope(), fence.execution).await.unwrap().unwrap() - 1;
    }
    assert_eq!(written, heads);
    assert!(written >= 50, "{written}");
    world.close().await;
}

async fn append_pairs(ports: Ports, pair: [Fence; 2]) -> u64 {
    let samples = Samples::new(7);
    let mut written = 0;
    for _ in 0..50 {
        let mut commits = Vec::new();
        for fence in pair {
            let fence = ports.executions.fence(fence.execution).await.unwrap().unwrap();
            commits.push(samples.commit(fence, 1, Vec::new()));
        }
        let outcomes = ports.executions.append(&commits).await.unwrap();
        written += outcomes.into_iter().filter(|written| *written).count() as u64;
    }
    written
}

/// No text of a driver, no statement and no path gets into what a caller may show.
#[tokio::test(flavor = "multi_thread")]
async fn no_driver_text_gets_into_a_message() {
    for world in [World::sqlite().await, World::mariadb().await] {
        let samples = Samples::new(1);
        let home = samples.home(&world.ports).await;
        let execution = samples.start(&world.ports, &home, domain::clock::Timestamp::from_micros(1)).await;
        world.store.connection().execute_unprepared("DROP TABLE event_segment").await.unwrap();
        let written = samples.commit(Fence { execution, epoch: 0, next_sequence: 2 }, 1, Vec::new());
        let failures = [
            world.ports.executions.commit(&written).await.unwrap_err(),
            world.ports.log.read(execution, 0, 1).await.unwrap_err(),
        ];
        for failure in failures {
            assert!(matches!(failure, StoreError::Unavailable(_)), "{failure:?}");
            assert_eq!(failure.to_string(), "the store is unavailable");
        }
        assert_eq!(world.ports.executions.fence(execution).await.unwrap().unwrap().next_sequence, 2);
        world.close().await;
    }
}

/// After the store is closed nothing is written, and what was accepted before is there.
#[tokio::test(flavor = "multi_thread")]
async fn closing_finishes_what_was_accepted() {
    let world = World::sqlite().await;
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let fence = claimed(&world.ports, &samples, &home).await;
    let commit = samples.commit(fence, 3, Vec::new());
    let (written, ()) = futures_util::future::join(world.ports.executions.commit(&commit), world.store.close()).await;
    written.unwrap();
    let late = world.ports.executions.commit(&commit).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    let again = SqlStore::open(SqlOptions { url: world.url.clone() }).await.unwrap();
    assert_eq!(ports(&again).log.head(home.scope(), fence.execution).await.unwrap(), Some(4));
    again.close().await;
}

/// Whoever waits for a call may go away at any of its steps, as a heartbeat does at the end of its claim. The
/// connections stay what they were: none with a transaction that is still open, none that never comes back.
#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_transaction_open() {
    let world = World::mariadb().await;
    let samples = Samples::new(1);
    let home = samples.home(&world.ports).await;
    let fence = claimed(&world.ports, &samples, &home).await;
    let (execution, scope) = (fence.execution, fence.execution.scope());
    let ids = [execution.id];
    for microseconds in (0..4000).step_by(20) {
        let patience = Duration::from_micros(microseconds);
        let renewal = world.ports.executions.renew(execution, fence.epoch, LONG);
        let _ = tokio::time::timeout(patience, renewal).await;
        let transcript = world.ports.reader.transcript(execution);
        let _ = tokio::time::timeout(patience, transcript).await;
        let read = world.ports.reader.executions(scope, &ids);
        let _ = tokio::time::timeout(patience, read).await;
    }
    for _ in 0..64 {
        world.ports.executions.renew(execution, fence.epoch, LONG).await.unwrap();
        assert_eq!(world.ports.reader.executions(scope, &ids).await.unwrap().len(), 1);
    }
    tokio::time::timeout(Duration::from_secs(20), world.close()).await.expect("a connection never comes back");
}
