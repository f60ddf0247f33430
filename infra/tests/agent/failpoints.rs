//! Every call of every method of the store fails once, in every way, while executions run. Afterwards the books are as
//! if nothing had happened, but for what is marked as lost.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::Ended;
use domain::budget::Limits;
use domain::error::StoreError;
use domain::execution::{
    Claimed, Command, CommandKind, ExecutionRef, ExecutionStatus, NewExecution, StopCode, StopSignal,
};

use crate::books::Books;
use crate::failing_store::{Failpoint, METHODS, When};
use crate::played_model::{Turn, note, shell};
use crate::stage::{LEASE, Stage};

/// Heartbeats have no number that is the same in each run; the first few are as good as all.
const MOST_RENEWALS: u32 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_reach_the_store_changes_nothing() {
    fail_every_call(When::Before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_changes_nothing() {
    fail_every_call(When::After).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_goes_away_is_picked_up_by_the_next_claim() {
    fail_every_call(When::DownBefore).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_goes_away_behind_a_write_is_picked_up_by_the_next_claim() {
    fail_every_call(When::DownAfter).await;
}

async fn fail_every_call(when: When) {
    let stage = Stage::new().await;
    play(&stage).await;
    let calls = stage.store.calls();
    for method in METHODS.iter().copied() {
        let mut hits = 0;
        for failpoints in cases(method, calls.get(method).copied().unwrap_or(0), when) {
            stage.store.set(&failpoints);
            play(&stage).await;
            hits += stage.store.hits();
        }
        assert!(hits > 0, "no case made {method} fail");
    }
    stage.store.set(&[]);
    assert_eq!(stage.sandbox.live(), 0);
    stage.close().await;
}

fn cases(method: &'static str, calls: u32, when: When) -> Vec<Vec<Failpoint>> {
    let point = |method, nth, when| Failpoint { method, nth, when };
    match method {
        // It is asked only about a write whose answer was lost.
        "fence" => (1..=4).map(|nth| vec![point("commit", nth, When::After), point(method, 1, when)]).collect(),
        "renew" => (1..=calls.min(MOST_RENEWALS)).map(|nth| vec![point(method, nth, when)]).collect(),
        _ => (1..=calls).map(|nth| vec![point(method, nth, when)]).collect(),
    }
}

/// Two executions from their start to the last trace of them, by a client, a worker and a reaper that try again.
async fn play(stage: &Stage) {
    play_one_that_is_drained(stage).await;
    play_one_that_is_cancelled(stage).await;
    sweep(stage).await;
}

async fn play_one_that_is_drained(stage: &Stage) {
    let turns = vec![
        Turn::calls("Let me see. ", vec![note("a"), shell("echo one two")]),
        Turn::calls("Once more. ", vec![shell("echo three"), note("b")]),
        Turn::answer("All is done."),
    ];
    let execution = start(stage, &stage.new_execution(turns, Limits::default(), None)).await;
    let claimed = claim_next(stage).await;
    assert_eq!(claimed.execution.reference(), execution);
    let signal = Arc::new(StopSignal::default());
    let drained = Arc::clone(&signal);
    stage.model.hook(move |turn| {
        if turn == 0 {
            drained.drain()
        }
    });
    stage.sandbox.stick();
    let ended = stage.run_with(claimed, signal).await;
    assert_ne!(ended, Ended::Finished);
    stage.model.unhook();
    stage.store.heal();
    stage.finish(execution).await;
    sweep(stage).await;
    let books = Books::closed(stage, execution).await;
    assert_eq!(books.code(), StopCode::FinalAnswer);
    assert_eq!(books.execution.progress.answer.as_deref(), Some("All is done."));
}

async fn play_one_that_is_cancelled(stage: &Stage) {
    let execution = start(stage, &stage.new_execution(vec![Turn::stalling("Well, ")], Limits::default(), None)).await;
    let claimed = stage.claim(execution).await;
    let command = Command {
        id: stage.samples.command_id(),
        kind: CommandKind::Cancel,
        by: stage.home.owner,
        created_at: stage.ports.clock.now(),
    };
    let cancel = async {
        while stage.model.asked(execution.id).is_empty() && !stage.store.is_down() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        add_command(stage, execution, &command).await;
        stage.ring(execution);
    };
    let both = async { tokio::join!(stage.run(claimed), cancel).0 };
    let ended = tokio::select! {
        ended = both => ended,
        () = heal_now_and_then(stage) => unreachable!("it never ends"),
    };
    stage.store.heal();
    if ended != Ended::Finished {
        stage.finish(execution).await;
    }
    let books = Books::closed(stage, execution).await;
    assert_eq!(books.execution.progress.status, ExecutionStatus::Cancelled);
    assert_eq!(books.code(), StopCode::Cancelled);
}

/// A model that says nothing cannot notice that the store is away; whoever runs the store will.
async fn heal_now_and_then(stage: &Stage) {
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stage.store.heal();
    }
}

async fn start(stage: &Stage, new: &NewExecution) -> ExecutionRef {
    while let Err(error) = stage.ports.executions.start(new).await {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        stage.store.heal();
    }
    new.execution.reference()
}

async fn claim_next(stage: &Stage) -> Claimed {
    loop {
        match stage.ports.executions.claim_next("w", LEASE).await {
            Ok(Some(claimed)) => return claimed,
            Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                stage.store.heal();
            }
        }
    }
}

async fn add_command(stage: &Stage, execution: ExecutionRef, command: &Command) {
    loop {
        match stage.ports.executions.add_command(execution, command).await {
            // The id is taken: it was written, and the answer was lost.
            Ok(()) | Err(StoreError::Conflict { .. }) => return,
            Err(error) => {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                stage.store.heal();
            }
        }
    }
}

/// What the reaper does, until nothing is left to do.
pub async fn sweep(stage: &Stage) {
    loop {
        let strays = stage.ports.executions.stray_sandboxes(None, 1).await;
        if strays.as_ref().is_ok_and(Vec::is_empty) {
            return;
        }
        if strays.is_err() || domain::agent::sweep(&stage.ports).await.is_err() {
            stage.store.heal();
        }
    }
}
