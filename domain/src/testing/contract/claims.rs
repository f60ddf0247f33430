//! Leases: claimed, renewed, lost, given back.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;

use super::assert_lease_lost;
use crate::execution::{
    Change, Claimed, Command, CommandKind, ExecutionRef, ExecutionStatus, Fence, LoopOverride, Progress,
};
use crate::testing::samples::{LAST_MOMENT_OF_A_DAY as AT, running};
use crate::testing::{Ports, Samples};

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(30);

fn fence_of(claimed: &Claimed) -> Fence {
    let execution = &claimed.execution;
    Fence { execution: execution.reference(), epoch: execution.epoch, next_sequence: execution.next_sequence }
}

/// Claims as soon as the lease of before has ended.
async fn claim_when_free(ports: &Ports, execution: ExecutionRef, owner: &str, lease: Duration) -> Claimed {
    for _ in 0..2000 {
        if let Some(claimed) = ports.executions.claim(execution, owner, lease).await.unwrap() {
            return claimed;
        }
        ports.clock.sleep(Duration::from_millis(5)).await;
    }
    panic!("the lease does not end");
}

/// Many workers claim at one time: each execution goes to one of them, and nobody gets one that does not exist.
pub async fn each_execution_is_claimed_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut started = HashSet::new();
    for second in 0..20 {
        started.insert(samples.start(ports, &home, AT.plus(Duration::from_secs(second))).await);
    }
    let names: Vec<String> = (0..24).map(|worker| format!("worker {worker}")).collect();
    let claims = join_all(names.iter().map(|name| ports.executions.claim_next(name, LONG))).await;
    let claims: Vec<Claimed> = claims.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(claims.len(), 20);
    assert!(claims.iter().all(|claimed| claimed.execution.epoch == 1));
    let claimed: HashSet<_> = claims.iter().map(|claimed| claimed.execution.reference()).collect();
    assert_eq!(claimed, started);
    assert!(ports.executions.claim_next("late", LONG).await.unwrap().is_none());
}

/// Of many workers that want one execution, one gets it.
pub async fn one_execution_goes_to_one_claimer(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let claims = join_all((0..20).map(|_| ports.executions.claim(execution, "w", LONG))).await;
    assert_eq!(claims.into_iter().filter_map(Result::unwrap).count(), 1);
    let unknown = ExecutionRef { id: samples.execution_id(), ..execution };
    assert!(ports.executions.claim(unknown, "w", LONG).await.unwrap().is_none());
    let foreign = ExecutionRef { tenant_id: samples.tenant_id(), ..execution };
    assert!(ports.executions.claim(foreign, "w", LONG).await.unwrap().is_none());
}

/// The oldest comes first, and a claim returns the row as it is stored.
pub async fn the_oldest_is_claimed_first(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let younger = samples.start(ports, &home, AT.plus(Duration::from_micros(1))).await;
    let older = samples.start(ports, &home, AT).await;
    for expected in [older, younger] {
        let claimed = ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
        assert_eq!(claimed.execution.reference(), expected);
        let stored = ports.reader.executions(home.scope(), &[expected.id]).await.unwrap();
        assert_eq!(stored, [claimed.execution]);
    }
}

/// F79, X23: a worker that slept past its lease writes nothing over its successor, and is told so.
pub async fn a_stale_worker_writes_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let first = ports.executions.claim_next("w1", SHORT).await.unwrap().unwrap();
    let second = claim_when_free(ports, execution, "w2", LONG).await;
    assert_eq!((first.execution.epoch, second.execution.epoch), (1, 2));

    let mut step = samples.iteration(1, AT);
    step.agent_state_ref = Some("b".repeat(64));
    let commit = samples.commit(fence_of(&second), 1, vec![Change::SaveIteration(step.clone())]);
    ports.executions.commit(&commit).await.unwrap();

    let mut stale = step.clone();
    stale.agent_state_ref = Some("a".repeat(64));
    let changes = vec![Change::SaveIteration(stale), Change::AddArtifact(samples.artifact(execution.id, AT))];
    for next_sequence in [first.execution.next_sequence, first.execution.next_sequence + 1] {
        let fence = Fence { next_sequence, ..fence_of(&first) };
        let mut late = samples.commit(fence, 1, changes.clone());
        late.progress = Some(samples.ended(AT));
        assert_lease_lost(ports.executions.commit(&late).await);
        assert_eq!(ports.executions.append(&[late]).await.unwrap(), [false]);
    }
    assert_lease_lost(ports.executions.renew(execution, 1, LONG).await);
    assert_eq!(ports.reader.transcript(execution).await.unwrap()[0].iteration, step);
    assert_eq!(ports.reader.artifacts(home.scope(), &[execution.id]).await.unwrap().len(), 1);
    assert_eq!(ports.log.head(home.scope(), execution).await.unwrap(), Some(2));
    ports.executions.renew(execution, 2, LONG).await.unwrap();
}

/// A renewal keeps others out for as long as it says.
pub async fn a_renewed_lease_is_not_claimed(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    ports.executions.claim_next("w", SHORT).await.unwrap().unwrap();
    ports.executions.renew(execution, 1, LONG).await.unwrap();
    ports.clock.sleep(SHORT * 2).await;
    assert!(ports.executions.claim_next("other", LONG).await.unwrap().is_none());
    ports.executions.renew(execution, 1, Duration::ZERO).await.unwrap();
    let again = claim_when_free(ports, execution, "other", Duration::MAX).await;
    assert_eq!(again.execution.epoch, 2);
    ports.executions.renew(execution, 2, Duration::MAX).await.unwrap();
    assert_lease_lost(ports.executions.renew(ExecutionRef { id: samples.execution_id(), ..execution }, 1, LONG).await);
}

/// Commands wait until they are applied, oldest first, and reach the holder by claim and by renewal.
pub async fn commands_reach_the_holder(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let command = |at, kind| Command { id: samples.command_id(), kind, by: home.owner, created_at: at };
    let kind = CommandKind::OverrideLoop { reason: "It is late. 遅い".to_owned(), pardons: 3 };
    let (younger, older) = (command(AT.plus(Duration::from_micros(1)), CommandKind::Cancel), command(AT, kind));
    ports.executions.add_command(execution, &younger).await.unwrap();
    ports.executions.add_command(execution, &older).await.unwrap();
    let claimed = ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
    assert_eq!(claimed.commands, [older.clone(), younger.clone()]);
    let at = LoopOverride { after_calls: 7, pardons: 3 };
    let changes = vec![Change::ApplyCommand(older.id), Change::AddLoopOverride { command: older.id, at }];
    ports.executions.commit(&samples.commit(fence_of(&claimed), 0, changes)).await.unwrap();
    assert_eq!(ports.reader.loop_overrides(execution).await.unwrap(), [at]);
    let foreign = ExecutionRef { tenant_id: samples.tenant_id(), ..execution };
    assert!(ports.reader.loop_overrides(foreign).await.unwrap().is_empty());
    assert_eq!(ports.executions.renew(execution, 1, LONG).await.unwrap().commands, [younger]);
    super::assert_conflict(ports.executions.add_command(execution, &older).await);
}

/// A lease that was given back is free at once, and its holder has lost it.
pub async fn a_released_lease_is_free(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let claimed = ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
    let mut commit = samples.commit(fence_of(&claimed), 1, Vec::new());
    commit.progress = Some(Progress { releases_lease: true, ..running() });
    ports.executions.commit(&commit).await.unwrap();
    assert_lease_lost(ports.executions.renew(execution, 1, LONG).await);
    let next = ports.executions.claim_next("other", LONG).await.unwrap().unwrap();
    assert_eq!((next.execution.epoch, next.execution.progress.status), (2, ExecutionStatus::Running));
    assert!(!next.execution.progress.releases_lease);
}

/// One that waits for a person is nobody's until a command is there.
pub async fn a_waiting_execution_is_claimed_for_a_command(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let claimed = ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
    let mut commit = samples.commit(fence_of(&claimed), 1, Vec::new());
    commit.progress = Some(Progress { status: ExecutionStatus::Waiting, releases_lease: true, ..running() });
    ports.executions.commit(&commit).await.unwrap();
    assert!(ports.executions.claim_next("other", LONG).await.unwrap().is_none());
    let command = Command { id: samples.command_id(), kind: CommandKind::Cancel, by: home.owner, created_at: AT };
    ports.executions.add_command(execution, &command).await.unwrap();
    let next = ports.executions.claim_next("other", LONG).await.unwrap().unwrap();
    assert_eq!((next.execution.progress.status, next.commands), (ExecutionStatus::Waiting, vec![command]));
}

/// What has ended is not claimed, not renewed and not written.
pub async fn an_ended_execution_stays_as_it_is(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let execution = samples.start(ports, &home, AT).await;
    let claimed = ports.executions.claim_next("w", LONG).await.unwrap().unwrap();
    let mut end = samples.commit(fence_of(&claimed), 1, Vec::new());
    end.progress = Some(samples.ended(AT));
    ports.executions.commit(&end).await.unwrap();

    assert!(ports.executions.claim_next("w", LONG).await.unwrap().is_none());
    assert!(ports.executions.claim(execution, "w", LONG).await.unwrap().is_none());
    assert_lease_lost(ports.executions.renew(execution, 1, LONG).await);
    let fence = ports.executions.fence(execution).await.unwrap().unwrap();
    let late = samples.commit(fence, 1, vec![Change::SaveIteration(samples.iteration(1, AT))]);
    assert_lease_lost(ports.executions.commit(&late).await);
    assert_eq!(ports.executions.append(&[late]).await.unwrap(), [false]);
    assert_eq!(ports.reader.transcript(execution).await.unwrap(), []);
    let stored = ports.reader.executions(home.scope(), &[execution.id]).await.unwrap();
    assert_eq!(stored[0].progress, samples.ended(AT));
}
