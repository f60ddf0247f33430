//! What a cancel answers, whatever the execution does at that moment.

use std::sync::Arc;

use domain::agent::Ended;
use domain::ctx::OpContext;
use domain::execution::cancel::{CancelPorts, cancel};
use domain::execution::{CancelOutcome, CancelReceipt, Commit, ExecutionRef, ExecutionStatus, Fence, Progress};
use domain::money::NanoUsd;

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::Turn;
use crate::stage::Stage;

async fn asked(stage: &Stage, execution: ExecutionRef) -> (ExecutionStatus, CancelReceipt) {
    let ports = CancelPorts {
        executions: Arc::clone(&stage.ports.executions),
        reader: Arc::clone(&stage.ports.reader),
        authorizer: Arc::clone(&stage.ports.authorizer),
        bus: Arc::clone(&stage.ports.bus),
    };
    let op = OpContext {
        principal: stage.home.principal(),
        clock: Arc::clone(&stage.ports.clock),
        entropy: Arc::clone(&stage.ports.entropy),
    };
    let (execution, receipt) = cancel(&op, &ports, execution.id).await.unwrap();
    (execution.progress.status, receipt)
}

#[tokio::test]
async fn a_queued_execution_ends_at_once_and_costs_nothing() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::answer("Never.")]).await;
    let (status, receipt) = asked(&stage, execution).await;
    assert_eq!((status, receipt.outcome), (ExecutionStatus::Cancelled, CancelOutcome::Cancelled));
    assert_eq!((receipt.charged, receipt.kept_iterations, receipt.has_answer), (NanoUsd::ZERO, 0, false));
    assert!(stage.model.asked(execution.id).is_empty());
    stage.close().await;
}

#[tokio::test]
async fn one_that_had_ended_says_so_and_stays() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::answer("Yes.")]).await;
    stage.finish(execution).await;
    let (status, receipt) = asked(&stage, execution).await;
    assert_eq!((status, receipt.outcome), (ExecutionStatus::Succeeded, CancelOutcome::AlreadyEnded));
    assert_eq!((receipt.kept_iterations, receipt.has_answer, receipt.model_calls.len()), (1, true, 0));
    assert_eq!(receipt.charged, Books::closed(&stage, execution).await.execution.progress.used.spent);
    stage.close().await;
}

/// Its worker died with a call under way: the request is stored, and whoever comes next ends it and pays the call.
#[tokio::test]
async fn one_whose_worker_is_dead_is_answered_and_ended_by_the_next() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::answer("Lost.")]).await;
    let claimed = stage.claim(execution).await;
    stage.store.set(&[Failpoint { method: "commit", nth: 3, when: When::DownBefore }]);
    assert_eq!(stage.run(claimed).await, Ended::Abandoned);
    stage.store.set(&[]);
    stage.store.heal();
    let (status, receipt) = asked(&stage, execution).await;
    assert_eq!((status, receipt.outcome), (ExecutionStatus::Running, CancelOutcome::Requested));
    assert!(receipt.reserved > NanoUsd::ZERO, "what is under way is shown: {receipt:?}");
    stage.finish(execution).await;
    let (status, again) = asked(&stage, execution).await;
    assert_eq!((status, again.outcome), (ExecutionStatus::Cancelled, CancelOutcome::Cancelled));
    assert_eq!(
        (again.charged, again.reserved),
        (receipt.reserved, NanoUsd::ZERO),
        "the lost call costs its worst case"
    );
    Books::closed(&stage, execution).await;
    stage.close().await;
}

#[tokio::test]
async fn one_that_waits_is_ended_by_whoever_is_free() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::answer("Never.")]).await;
    let claimed = stage.claim(execution).await;
    let waits = Progress {
        status: ExecutionStatus::Waiting,
        attempt: 1,
        releases_lease: true,
        ..claimed.execution.progress.clone()
    };
    let fence = Fence { execution, epoch: claimed.execution.epoch, next_sequence: claimed.execution.next_sequence };
    let commit = Commit { fence, progress: Some(waits), changes: Vec::new(), segment: None };
    stage.ports.executions.commit(&commit).await.unwrap();
    let worker = async {
        loop {
            match stage.ports.executions.claim_next("w", crate::stage::LEASE).await.unwrap() {
                Some(claimed) => return stage.run(claimed).await,
                None => tokio::task::yield_now().await,
            }
        }
    };
    let ((status, receipt), ended) = tokio::join!(asked(&stage, execution), worker);
    assert_eq!((status, receipt.outcome), (ExecutionStatus::Cancelled, CancelOutcome::Cancelled));
    assert_eq!((ended, receipt.charged), (Ended::Finished, NanoUsd::ZERO));
    assert!(stage.model.asked(execution.id).is_empty());
    stage.close().await;
}
