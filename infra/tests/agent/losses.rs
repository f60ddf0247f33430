//! A worker is lost behind each of its writes. What the next claim makes of it is what an undisturbed run does.

use domain::agent::Ended;
use domain::budget::Limits;
use domain::execution::StopCode;
use domain::model_call::{CallState, FinishReason};
use domain::tool_call::ToolCallState::{Interrupted, Lost, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, note, shell};
use crate::stage::Stage;

/// The writes of a run: 1 opens the attempt, 2 opens the iteration and reserves the model call, 3 settles it.
const RESERVE: u32 = 2;
const SETTLE: u32 = 3;

async fn lose_at(stage: &Stage, nth: u32, when: When, turns: Vec<Turn>) -> domain::execution::ExecutionRef {
    let execution = stage.start(turns).await;
    let claimed = stage.claim(execution).await;
    stage.store.set(&[Failpoint { method: "commit", nth, when }]);
    assert_eq!(stage.run(claimed).await, Ended::Abandoned);
    stage.store.set(&[]);
    execution
}

#[tokio::test]
async fn a_lost_model_call_costs_its_reservation_and_is_made_again() {
    let stage = Stage::new().await;
    let execution = lose_at(&stage, SETTLE, When::DownBefore, vec![Turn::answer("Yes.")]).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let calls: Vec<_> = books.model_calls().map(|call| (call.state, call.estimated)).collect();
    assert_eq!(calls, [(CallState::Lost, true), (CallState::Settled, false)]);
    assert_eq!((books.code(), books.asked.len()), (StopCode::FinalAnswer, 2));
    stage.close().await;
}

#[tokio::test]
async fn a_reserved_call_that_was_never_sent_is_lost_as_well() {
    let stage = Stage::new().await;
    let execution = lose_at(&stage, RESERVE, When::DownAfter, vec![Turn::answer("Yes.")]).await;
    assert_eq!(stage.model.asked(execution.id).len(), 0);
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!((books.model_calls().count(), books.asked.len()), (2, 1));
    stage.close().await;
}

#[tokio::test]
async fn a_settled_call_is_never_sent_again() {
    let stage = Stage::new().await;
    let execution = lose_at(&stage, SETTLE, When::DownAfter, vec![Turn::answer("Yes.")]).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!((books.model_calls().count(), books.asked.len()), (1, 1));
    assert_eq!(books.execution.progress.answer.as_deref(), Some("Yes."));
    stage.close().await;
}

#[tokio::test]
async fn lost_calls_of_one_reply_are_repeated_each_in_its_place() {
    let stage = Stage::new().await;
    let turns = vec![Turn::calls("", vec![note("a"), note("b")]), Turn::answer("Yes.")];
    let execution = lose_at(&stage, SETTLE, When::DownAfter, turns).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let states: Vec<_> = books.tool_calls().map(|call| (call.ordinal, call.state)).collect();
    assert_eq!(states, [(0, Lost), (0, Succeeded), (1, Lost), (1, Succeeded)]);
    let calls: Vec<_> = books.tool_calls().collect();
    assert_eq!(calls[0].idempotency_key, calls[1].idempotency_key);
    assert_ne!(calls[0].id, calls[1].id);
    assert_eq!(books.asked[1].results, ["Noted.", "Noted."]);
    stage.close().await;
}

#[tokio::test]
async fn a_lost_sandbox_tool_is_interrupted_and_the_model_is_told() {
    let stage = Stage::new().await;
    let turns = vec![Turn::calls("", vec![shell("echo lost")]), Turn::answer("Yes.")];
    // Behind the settlement the sandbox's intent and the sandbox are written, then the command's end.
    let execution = lose_at(&stage, SETTLE + 3, When::DownBefore, turns).await;
    assert_eq!(stage.sandbox.commands("lost").len(), 1);
    stage.finish(execution).await;
    let states: Vec<_> = Books::read(&stage, execution).await.tool_calls().map(|call| call.state).collect();
    assert_eq!(states, [Interrupted]);
    assert_eq!(stage.sandbox.commands("lost").len(), 1, "a command with effects ran twice");
    let results = &stage.model.asked(execution.id)[1].results;
    assert!(results[0].starts_with("INTERRUPTED: "), "{results:?}");
    stage.close().await;
}

/// Wherever the worker is lost, the run ends for the same cause as without a loss.
#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_the_end_survives_a_loss_at_every_write() {
    let three = |text| Turn::calls(text, vec![note("same")]);
    let cut = Turn { finish: FinishReason::Length, ..Turn::calls("Cut ", vec![note("half")]) };
    let filtered = Turn { finish: FinishReason::ContentFilter, ..Turn::answer("Filtered ") };
    let tools = Limits { max_tool_calls: Some(1), ..Limits::default() };
    let errors = Limits { max_errors_per_tool: Some(1), ..Limits::default() };
    let scripts: Vec<(Vec<Turn>, Limits, StopCode)> = vec![
        (
            vec![Turn { finish: FinishReason::Length, ..Turn::answer("Cut off") }],
            Limits::default(),
            StopCode::ModelOutputTruncated,
        ),
        (vec![cut, Turn::answer("Never.")], Limits::default(), StopCode::ModelOutputTruncated),
        (vec![filtered], Limits::default(), StopCode::ContentFiltered),
        (vec![Turn::answer(" ")], Limits::default(), StopCode::ModelFailed),
        (
            vec![three("a "), three("b "), three("c "), Turn::answer("Never.")],
            Limits::default(),
            StopCode::LoopDetected,
        ),
        (
            vec![Turn::calls("", vec![note(1)]), Turn::calls("", vec![note(2)]), Turn::answer("Never.")],
            tools,
            StopCode::ToolCallLimit,
        ),
        (vec![Turn::calls("", vec![shell("fail")]), Turn::answer("Never.")], errors, StopCode::ToolErrorLimit),
    ];
    let stage = Stage::new().await;
    for (turns, limits, code) in scripts {
        stage.store.set(&[]);
        let calm = stage.start_with(turns.clone(), limits).await;
        stage.finish(calm).await;
        assert_eq!(Books::closed(&stage, calm).await.code(), code);
        for nth in 1..=stage.store.calls()["commit"] {
            let execution = stage.start_with(turns.clone(), limits).await;
            let claimed = stage.claim(execution).await;
            stage.store.set(&[Failpoint { method: "commit", nth, when: When::DownAfter }]);
            stage.run(claimed).await;
            stage.store.set(&[]);
            if !stage.execution(execution).await.progress.status.is_terminal() {
                stage.finish(execution).await;
            }
            let books = Books::read(&stage, execution).await;
            // Nobody knows whether an interrupted command would have failed.
            if books.tool_calls().any(|call| call.state == Interrupted) {
                continue;
            }
            assert_eq!(books.code(), code, "lost behind write {nth} of {turns:?}");
        }
    }
    stage.close().await;
}
