//! What becomes of a loop: under each policy, after a loss, and when a person overrides the guard.

use std::sync::Arc;

use domain::agent::Ended;
use domain::audit::verify_chain;
use domain::budget::Limits;
use domain::ctx::PageRequest;
use domain::event::Event;
use domain::execution::{Command, CommandKind, ExecutionRef, StopCode};
use domain::loop_guard::LoopKind;
use domain::resource::{LoopAction, LoopPolicy};
use domain::tool_call::ToolCallState::{Refused, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, note, shell};
use crate::stage::Stage;

type Found = (LoopKind, u32, u32, Vec<u32>, bool);

/// Kind, period, count, iterations and whether it was pardoned, of each finding that the log tells.
fn found(books: &Books) -> Vec<Found> {
    let finding = |event: &Event| match event {
        Event::LoopDetected { loop_kind, period, count, iterations, pardoned, .. } => {
            Some((*loop_kind, *period, *count, iterations.clone(), *pardoned))
        }
        _ => None,
    };
    books.log.iter().filter_map(|record| finding(&record.event)).collect()
}

async fn policy(on_loop: LoopAction) -> Stage {
    Stage::with_policy(LoopPolicy { on_loop, ..LoopPolicy::default() }).await
}

async fn played(stage: &Stage, turns: Vec<Turn>) -> Books {
    let execution = stage.start_with(turns, Limits::default()).await;
    let claimed = stage.claim(execution).await;
    assert_eq!(stage.run(claimed).await, Ended::Finished);
    Books::closed(stage, execution).await
}

fn one_by_one(calls: Vec<(&'static str, String)>, answer: &'static str) -> Vec<Turn> {
    let turns = calls.into_iter().map(|call| Turn::calls("", vec![call]));
    turns.chain([Turn::answer(answer)]).collect()
}

#[tokio::test]
async fn a_cycle_is_told_and_meets_its_policy() {
    for (on_loop, code, ran) in [
        (LoopAction::Stop, StopCode::LoopDetected, 5),
        (LoopAction::Block, StopCode::FinalAnswer, 5),
        (LoopAction::Warn, StopCode::FinalAnswer, 6),
    ] {
        let stage = policy(on_loop).await;
        let calls = (0..6).map(|at| shell(["look", "wait"][at % 2])).collect();
        let books = played(&stage, one_by_one(calls, "Enough.")).await;
        assert_eq!(books.code(), code);
        assert_eq!(stage.sandbox.commands("look").len() + stage.sandbox.commands("wait").len(), ran);
        assert_eq!(found(&books), [(LoopKind::Cycle, 2, 3, vec![1, 2, 3, 4, 5, 6], false)]);
        if on_loop == LoopAction::Stop {
            let reason = books.execution.progress.stop_reason.clone().unwrap();
            assert!(reason.message.contains("the same 2 calls (run_shell, run_shell) came 3 times"), "{reason:?}");
        } else {
            let told = &books.asked[6].results[0];
            assert!(told.contains("came 3 times with unchanged results (iterations 1, 2, 3, 4, 5, 6)"), "{told}");
        }
        stage.close().await;
    }
}

/// X16: equal calls of one reply count without results; those before the one that is caught run, and each is answered.
#[tokio::test]
async fn a_loop_inside_one_reply_stops_at_its_third_call() {
    let stage = policy(LoopAction::Stop).await;
    let calls = vec![shell("again"), shell("again"), shell("again"), shell("other")];
    let books = played(&stage, vec![Turn::calls("", calls), Turn::answer("No.")]).await;
    assert_eq!(books.code(), StopCode::LoopDetected);
    let ends = [(Succeeded, ""), (Succeeded, ""), (Refused, "LOOP_DETECTED"), (Refused, "NOT_RUN")];
    assert_eq!(books.tool_ends(), ends);
    assert_eq!((stage.sandbox.commands("").len(), books.asked.len()), (2, 1));
    assert_eq!(found(&books), [(LoopKind::RepeatedCall, 1, 3, vec![1, 1, 1], false)]);
    stage.close().await;
}

/// The warning stands behind the result that the model reads, and is no change of it.
#[tokio::test]
async fn a_warned_call_is_caught_again_when_it_comes_again() {
    let stage = policy(LoopAction::Warn).await;
    let books = played(&stage, one_by_one(vec![shell("again"); 5], "I stop.")).await;
    let counts: Vec<_> = found(&books).into_iter().map(|(_, _, count, ..)| count).collect();
    assert_eq!(counts, [3, 4, 5]);
    assert!(books.asked[2].results[0] == "again" && books.asked[5].results[0].starts_with("again\n[loop guard] "));
    stage.close().await;
}

#[tokio::test]
async fn the_same_error_of_a_tool_is_caught_whatever_it_is_asked() {
    let stage = policy(LoopAction::Stop).await;
    let calls = (0..5).map(|at| ("fly", format!("{{\"to\":{at}}}"))).collect();
    let books = played(&stage, one_by_one(calls, "No.")).await;
    assert_eq!(found(&books), [(LoopKind::RepeatedError, 1, 3, vec![1, 2, 3], false)]);
    let codes: Vec<_> = books.tool_ends().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["UNKNOWN_TOOL", "UNKNOWN_TOOL", "UNKNOWN_TOOL", "LOOP_DETECTED"]);
    stage.close().await;
}

#[tokio::test]
async fn polling_may_go_on_to_its_own_limit() {
    let stage = policy(LoopAction::Stop).await;
    let books = played(&stage, one_by_one(vec![shell("tick"); 12], "No.")).await;
    assert_eq!(found(&books), [(LoopKind::PollLimit, 1, 11, (1..=11).collect(), false)]);
    assert_eq!(stage.sandbox.commands("tick").len(), 10);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_in_the_middle_of_a_loop_changes_no_verdict_that_stops() {
    lose_at_every_write(LoopAction::Stop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_in_the_middle_of_a_loop_changes_no_verdict_that_blocks() {
    lose_at_every_write(LoopAction::Block).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_in_the_middle_of_a_loop_changes_no_verdict_that_warns() {
    lose_at_every_write(LoopAction::Warn).await;
}

/// Wherever a worker is lost in the middle of a loop, the guard goes on where it was.
async fn lose_at_every_write(on_loop: LoopAction) {
    let stage = policy(on_loop).await;
    let turns = || one_by_one(vec![note("a"), note("again"), note("again"), note("again"), note("again")], "Done.");
    stage.store.set(&[]);
    let books = played(&stage, turns()).await;
    let (expected, code) = (found(&books), books.code());
    assert!(!expected.is_empty());
    let writes = stage.store.calls()["commit"];
    for nth in 1..=writes {
        let when = if nth % 2 == 0 { When::DownBefore } else { When::DownAfter };
        stage.store.set(&[Failpoint { method: "commit", nth, when }]);
        let execution = stage.start(turns()).await;
        let claimed = stage.claim(execution).await;
        stage.run(claimed).await;
        stage.store.set(&[]);
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!((found(&books), books.code()), (expected.clone(), code), "{on_loop:?} {nth} {when:?}");
        let told = books.asked.iter().filter(|asked| asked.results.iter().any(|text| text.contains("3 times")));
        let is_told = told.count() > 0;
        assert_eq!(is_told, on_loop != LoopAction::Stop, "{on_loop:?} {nth} {when:?}");
    }
    stage.close().await;
}

async fn add_override(stage: &Stage, execution: ExecutionRef, pardons: u32) {
    let kind = CommandKind::OverrideLoop { reason: "The queue is slow.".to_owned(), pardons };
    let (id, created_at) = (stage.samples.command_id(), stage.ports.clock.now());
    let command = Command { id, kind, by: stage.home.owner, created_at };
    stage.ports.executions.add_command(execution, &command).await.unwrap();
    stage.ring(execution);
}

#[tokio::test]
async fn an_override_reaches_a_running_execution_and_the_audit_log() {
    let stage = Arc::new(policy(LoopAction::Stop).await);
    let execution = stage.start(one_by_one(vec![shell("gate"); 6], "No.")).await;
    let claimed = stage.claim(execution).await;
    let person = async {
        stage.sandbox.open(1);
        while stage.sandbox.commands("gate").len() < 2 {
            tokio::task::yield_now().await;
        }
        // The second call runs; the third would be the end.
        add_override(&stage, execution, 1).await;
        while stage.stores.reader.loop_overrides(execution).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        stage.sandbox.open(10);
    };
    let (ended, ()) = tokio::join!(stage.run(claimed), person);
    assert_eq!(ended, Ended::Finished);
    let books = Books::closed(&stage, execution).await;
    let repeated = |iterations: &[u32], pardoned| {
        (LoopKind::RepeatedCall, 1, u32::try_from(iterations.len()).unwrap(), iterations.to_vec(), pardoned)
    };
    assert_eq!(found(&books), [repeated(&[3, 4, 5], true), repeated(&[3, 4, 5, 6], false)]);
    assert_eq!((books.code(), stage.sandbox.commands("gate").len()), (StopCode::LoopDetected, 5));
    let told = books.log.iter().any(|record| {
        matches!(&record.event, Event::LoopOverridden { by, reason, pardons: 1 }
            if *by == stage.home.owner && reason == "The queue is slow.")
    });
    assert!(told, "{:?}", books.log);
    let page = stage.stores.audit.records(execution.scope(), PageRequest { first: 10, after: None }).await.unwrap();
    let records: Vec<_> = page.rows.into_iter().map(|(_, record)| record).collect();
    assert_eq!(records.len(), 1);
    verify_chain(&records).unwrap();
    Arc::into_inner(stage).unwrap().close().await;
}

/// An override that waits is applied before the claim goes on, and keeps its place when that claim is lost as well.
#[tokio::test(flavor = "multi_thread")]
async fn an_override_keeps_its_place_over_losses() {
    let stage = policy(LoopAction::Stop).await;
    let turns = || one_by_one(vec![note("again"); 6], "No.");
    stage.store.set(&[]);
    played(&stage, turns()).await;
    let writes = stage.store.calls()["commit"];
    for nth in (2..=writes).step_by(2) {
        let execution = stage.start(turns()).await;
        let claimed = stage.claim(execution).await;
        // Lost behind the second call.
        let lost = lose_behind(&stage, execution, claimed, 2).await;
        assert_eq!(lost, Ended::Abandoned);
        add_override(&stage, execution, 0).await;
        let claimed = stage.claim(execution).await;
        stage.store.set(&[Failpoint { method: "commit", nth, when: When::DownAfter }]);
        stage.run(claimed).await;
        stage.store.set(&[]);
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!(books.code(), StopCode::LoopDetected, "{nth}");
        assert_eq!(found(&books), [(LoopKind::RepeatedCall, 1, 3, vec![3, 4, 5], false)], "{nth}");
    }
    stage.close().await;
}

/// Runs a claim and takes its store away when the model is asked behind this many replies.
async fn lose_behind(
    stage: &Stage,
    execution: ExecutionRef,
    claimed: domain::execution::Claimed,
    turns: usize,
) -> Ended {
    let store = Arc::clone(&stage.store);
    stage.model.hook(move |turn| {
        if turn == turns {
            store.set(&[Failpoint { method: "commit", nth: 1, when: When::DownBefore }]);
        }
    });
    let ended = stage.run(claimed).await;
    stage.model.unhook();
    stage.store.set(&[]);
    assert_eq!(stage.model.asked(execution.id).len(), turns + 1);
    ended
}
