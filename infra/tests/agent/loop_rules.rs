//! How the loop treats replies: side by side, in order, and never what it must not run.

use domain::agent::Ended;
use domain::budget::Limits;
use domain::execution::{ExecutionStatus, StopCode};
use domain::model_call::{CallState, FinishReason};
use domain::resource::{LoopAction, LoopPolicy};
use domain::tool_call::ToolCallState::{Refused, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, USAGE, note, shell};
use crate::played_sandbox::MEETING;
use crate::stage::Stage;

async fn played(stage: &Stage, turns: Vec<Turn>) -> Books {
    let execution = stage.start_with(turns, Limits::default()).await;
    let claimed = stage.claim(execution).await;
    assert_eq!(stage.run(claimed).await, Ended::Finished);
    Books::closed(stage, execution).await
}

#[tokio::test]
async fn the_calls_of_a_reply_run_side_by_side_and_are_answered_in_order() {
    let stage = Stage::new().await;
    let mut calls: Vec<_> = (0..MEETING).map(|number| shell(format!("meet {number}"))).collect();
    calls.insert(1, note("between"));
    let books = played(&stage, vec![Turn::calls("", calls), Turn::answer("We met.")]).await;
    assert_eq!(books.code(), StopCode::FinalAnswer);
    assert_eq!(books.tool_ends(), [(Succeeded, ""); MEETING + 1]);
    assert_eq!(books.asked[1].results, ["(no output)", "Noted.", "(no output)", "(no output)"]);
    stage.close().await;
}

/// X06: what a provider cut off is not repaired, not run, and answered; the usage is paid.
#[tokio::test]
async fn truncated_arguments_never_run() {
    let stage = Stage::new().await;
    let cut = r#"{"path":"/tmp/a","content":"line1"#.to_owned();
    let turns = vec![Turn::calls("", vec![("write_file", cut.clone()), shell("whole")]), Turn::answer("Mended.")];
    let books = played(&stage, turns).await;
    assert_eq!(books.tool_ends(), [(Refused, "INVALID_TOOL_ARGUMENTS"), (Succeeded, "")]);
    assert!(books.asked[1].results[0].starts_with("INVALID_TOOL_ARGUMENTS: "));
    let call = books.model_calls().next().unwrap();
    assert_eq!((call.usage, call.reply_tool_calls[0].arguments.as_str()), (USAGE, cut.as_str()));
    stage.close().await;
}

#[tokio::test]
async fn a_reply_that_reached_the_cap_ends_the_run_and_its_calls_never_run() {
    let stage = Stage::new().await;
    let cut = Turn { finish: FinishReason::Length, ..Turn::calls("Half a ", vec![shell("half")]) };
    let books = played(&stage, vec![cut, Turn::answer("No.")]).await;
    assert_eq!(
        (books.code(), books.execution.progress.status),
        (StopCode::ModelOutputTruncated, ExecutionStatus::Failed)
    );
    assert_eq!(books.execution.progress.answer.as_deref(), Some("Half a "));
    assert_eq!((books.tool_calls().count(), books.asked.len()), (0, 1));
    assert!(stage.sandbox.commands("half").is_empty());
    stage.close().await;
}

#[tokio::test]
async fn an_unknown_tool_is_answered_and_never_run() {
    let stage = Stage::new().await;
    let turns = vec![Turn::calls("", vec![("run_python", "{\"code\":\"1\"}".to_owned())]), Turn::answer("I see.")];
    let books = played(&stage, turns).await;
    assert_eq!(books.tool_ends(), [(Refused, "UNKNOWN_TOOL")]);
    assert_eq!(books.execution.progress.used.tool_calls, 0);
    stage.close().await;
}

#[tokio::test]
async fn the_third_identical_call_stops_the_run() {
    let stage = Stage::new().await;
    let turns: Vec<_> = (0..4).map(|_| Turn::calls("", vec![shell("again")])).collect();
    let books = played(&stage, turns).await;
    assert_eq!((books.code(), books.execution.progress.status), (StopCode::LoopDetected, ExecutionStatus::Stopped));
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Succeeded, ""), (Refused, "LOOP_DETECTED")]);
    assert_eq!((stage.sandbox.commands("again").len(), books.asked.len()), (2, 3));
    stage.close().await;
}

#[tokio::test]
async fn a_blocked_call_is_answered_and_a_warned_one_runs() {
    for (on_loop, ran, end) in
        [(LoopAction::Block, 2, (Refused, "LOOP_DETECTED")), (LoopAction::Warn, 3, (Succeeded, ""))]
    {
        let stage = Stage::with_policy(LoopPolicy { on_loop, ..LoopPolicy::default() }).await;
        let mut turns: Vec<_> = (0..3).map(|_| Turn::calls("", vec![shell("again")])).collect();
        turns.push(Turn::answer("I stop."));
        let books = played(&stage, turns).await;
        assert_eq!(books.code(), StopCode::FinalAnswer);
        assert_eq!(books.tool_ends()[2], end);
        assert_eq!(stage.sandbox.commands("again").len(), ran);
        assert!(
            books.asked[3].results[0]
                .contains("was called 3 times with equal arguments and unchanged results (iterations 1, 2, 3)")
        );
        stage.close().await;
    }
}

/// The guard's memory goes over a loss: results that changed before it still count as changed.
#[tokio::test]
async fn the_loop_guard_remembers_results_over_a_loss() {
    let stage = Stage::new().await;
    let turns = vec![
        Turn::calls("", vec![shell("tick")]),
        Turn::calls("", vec![shell("tick")]),
        Turn::calls("", vec![shell("tick")]),
        Turn::answer("It moves."),
    ];
    let execution = stage.start(turns).await;
    let claimed = stage.claim(execution).await;
    // Lost where the third call is about to be asked for; the first two ran and saw different clocks.
    stage.store.set(&[Failpoint { method: "commit", nth: 10, when: When::DownBefore }]);
    assert_eq!(stage.run(claimed).await, Ended::Abandoned);
    stage.store.set(&[]);
    assert_eq!(stage.sandbox.commands("tick").len(), 2);
    stage.finish(execution).await;
    let books = Books::read(&stage, execution).await;
    assert_eq!(books.code(), StopCode::FinalAnswer, "{:?}", books.tool_ends());
    assert!(books.model_calls().all(|call| call.state != CallState::Started));
    stage.close().await;
}
