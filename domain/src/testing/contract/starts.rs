//! Starting executions.

use std::time::Duration;

use futures_util::future::join_all;

use super::assert_conflict;
use crate::ctx::PageRequest;
use crate::execution::{ExecutionFilter, StartOutcome};
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Ports, Samples};

/// A start writes the row, the inputs and the first event.
pub async fn a_start_writes_row_inputs_and_first_event(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let new = samples.new_execution(&home, AT);
    assert_eq!(ports.executions.start(&new).await.unwrap(), StartOutcome::Started);
    let execution = new.execution.reference();
    let stored = ports.reader.executions(home.scope(), &[execution.id]).await.unwrap();
    assert_eq!(stored, std::slice::from_ref(&new.execution));
    assert_eq!(ports.reader.artifacts(home.scope(), &[execution.id]).await.unwrap(), new.inputs);
    assert_eq!(ports.log.read(execution, 0, 1).await.unwrap(), [new.segment]);
    assert_eq!(ports.log.head(home.scope(), execution).await.unwrap(), Some(1));
    let fence = ports.executions.fence(execution).await.unwrap().unwrap();
    assert_eq!((fence.execution, fence.epoch, fence.next_sequence), (execution, 0, 2));
}

/// The same key and request find the first execution; another request is refused; a key ends and belongs to a tenant.
pub async fn a_key_starts_one_execution(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let first = samples.new_execution(&home, AT);
    ports.executions.start(&first).await.unwrap();

    let mut again = samples.new_execution(&home, AT.plus(Duration::from_secs(5)));
    again.idempotency_key.clone_from(&first.idempotency_key);
    assert_eq!(ports.executions.start(&again).await.unwrap(), StartOutcome::KeyReused);
    again.request_hash.clone_from(&first.request_hash);
    assert_eq!(ports.executions.start(&again).await.unwrap(), StartOutcome::Replayed(first.execution.id));
    assert_eq!(ports.reader.executions(home.scope(), &[again.execution.id]).await.unwrap(), []);

    let started_before = async |key: &str, hash: &str, now| {
        ports.reader.started_before(home.scope(), key, hash, now).await.unwrap().map(|execution| execution.id)
    };
    let (key, hash, end) = (&first.idempotency_key, &first.request_hash, first.key_expires_at);
    assert_eq!(started_before(key, hash, AT).await, Some(first.execution.id));
    assert_eq!(started_before(key, "another", AT).await, None);
    assert_eq!(started_before("another", hash, AT).await, None);
    assert_eq!(started_before(key, hash, end).await, None);

    let other_home = samples.home(ports).await;
    assert_eq!(ports.reader.started_before(other_home.scope(), key, hash, AT).await.unwrap(), None);
    let mut foreign = samples.new_execution(&other_home, AT);
    foreign.idempotency_key.clone_from(&first.idempotency_key);
    assert_eq!(ports.executions.start(&foreign).await.unwrap(), StartOutcome::Started);

    let mut later = samples.new_execution(&home, first.key_expires_at);
    later.idempotency_key.clone_from(&first.idempotency_key);
    assert_eq!(ports.executions.start(&later).await.unwrap(), StartOutcome::Started);
    assert_eq!(ports.executions.start(&later).await.unwrap(), StartOutcome::Replayed(later.execution.id));
}

/// Keys are compared byte by byte, whatever their length and script.
pub async fn keys_are_compared_exactly(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    for key in ["key", "Key", "key ", "ключ", "", &"k".repeat(10_000)] {
        let mut new = samples.new_execution(&home, AT);
        new.idempotency_key = key.to_owned();
        assert_eq!(ports.executions.start(&new).await.unwrap(), StartOutcome::Started, "{key:.20}");
    }
}

/// Of many starts with one key at one time, one starts and the others find it.
pub async fn parallel_starts_with_one_key_start_one_execution(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let starts: Vec<_> = (0..20)
        .map(|_| {
            let mut new = samples.new_execution(&home, AT);
            new.idempotency_key = "the key".to_owned();
            new.request_hash = "0".repeat(64);
            new
        })
        .collect();
    let outcomes = join_all(starts.iter().map(|new| ports.executions.start(new))).await;
    let outcomes: Vec<StartOutcome> = outcomes.into_iter().map(Result::unwrap).collect();
    let started: Vec<_> = (0..20).filter(|index| outcomes[*index] == StartOutcome::Started).collect();
    let [winner] = started[..] else { panic!("{outcomes:?}") };
    let found = StartOutcome::Replayed(starts[winner].execution.id);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == found).count(), 19, "{outcomes:?}");
    let page = PageRequest { first: 100, after: None };
    let listed = ports.reader.list(home.scope(), &ExecutionFilter::default(), page).await.unwrap();
    assert_eq!(listed.rows.len(), 1);
}

/// A start that cannot be stored leaves nothing, not even its key.
pub async fn a_failed_start_leaves_nothing(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let first = samples.new_execution(&home, AT);
    ports.executions.start(&first).await.unwrap();
    let mut twin = samples.new_execution(&home, AT);
    twin.execution.id = first.execution.id;
    assert_conflict(ports.executions.start(&twin).await);
    assert_eq!(ports.reader.artifact(home.scope(), twin.inputs[0].id).await.unwrap(), None);
    twin.execution.id = samples.execution_id();
    assert_eq!(ports.executions.start(&twin).await.unwrap(), StartOutcome::Started);
}
