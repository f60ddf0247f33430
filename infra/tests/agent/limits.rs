//! Limits stop a run before it goes over them, and no call under way is dropped.

use std::sync::Arc;
use std::time::Duration;

use domain::agent::Ended;
use domain::budget::Limits;
use domain::execution::{ExecutionStatus, StopCode, StopSignal};
use domain::model_call::CallState;
use domain::money::NanoUsd;
use domain::tool_call::ToolCallState::{self, Cancelled, Refused, Succeeded};

use crate::books::Books;
use crate::played_model::{Then, Turn, USAGE, note, shell};
use crate::stage::{PRICE, Stage, reserved_for_tools};

async fn played(stage: &Stage, turns: Vec<Turn>, limits: Limits) -> Books {
    let execution = stage.start_with(turns, limits).await;
    let claimed = stage.claim(execution).await;
    assert_eq!(stage.run(claimed).await, Ended::Finished);
    Books::closed(stage, execution).await
}

/// X17, policy fill: of nine side-by-side calls the first five run, the others are answered and never run.
#[tokio::test]
async fn calls_over_the_limit_are_answered_and_never_run() {
    let stage = Stage::new().await;
    let nine = (1..=9).map(|number| shell(format!("count c{number}"))).collect();
    let turns = vec![Turn::calls("", nine), Turn::answer("Five.")];
    let books = played(&stage, turns, Limits { max_tool_calls: Some(5), ..Limits::default() }).await;
    let mut ran = stage.sandbox.commands("count");
    ran.sort();
    assert_eq!(ran, ["count c1", "count c2", "count c3", "count c4", "count c5"]);
    let expected = [[(Succeeded, ""); 5].as_slice(), &[(Refused, "BUDGET_EXCEEDED"); 4]].concat();
    assert_eq!(books.tool_ends(), expected);
    let results = &books.asked[1].results;
    let expected: Vec<_> = (1..=5).map(|number| format!("count c{number}")).collect();
    assert_eq!(results[..5], expected);
    assert!(results.len() == 9 && results[5..].iter().all(|result| result.starts_with("BUDGET_EXCEEDED: ")));
    assert_eq!((books.code(), books.execution.progress.used.tool_calls), (StopCode::FinalAnswer, 5));
    stage.close().await;
}

#[tokio::test]
async fn a_reply_of_which_no_call_fits_ends_the_run() {
    let stage = Stage::new().await;
    let turns =
        vec![Turn::calls("", vec![shell("first")]), Turn::calls("", vec![shell("second")]), Turn::answer("No.")];
    let books = played(&stage, turns, Limits { max_tool_calls: Some(1), ..Limits::default() }).await;
    assert_eq!((books.code(), books.asked.len()), (StopCode::ToolCallLimit, 2));
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Refused, "BUDGET_EXCEEDED")]);
    assert!(stage.sandbox.commands("second").is_empty());
    stage.close().await;
}

/// The cap is lowered to what is left, and when that is useless the call is not made.
#[tokio::test]
async fn the_cost_limit_stops_before_the_call() {
    let stage = Stage::new().await;
    let limit = NanoUsd(2 * PRICE.cost(&USAGE).0 + PRICE.worst_case(250 + reserved_for_tools(), 20).0);
    let turns: Vec<_> = (0..20).map(|number| Turn::calls("", vec![note(number)])).collect();
    let books = played(&stage, turns, Limits { max_cost: Some(limit), ..Limits::default() }).await;
    assert_eq!((books.code(), books.execution.progress.status), (StopCode::CostLimit, ExecutionStatus::Stopped));
    assert!(books.execution.progress.used.spent <= limit);
    assert!((1..20).contains(&books.asked.len()), "{} calls", books.asked.len());
    assert!(books.asked.last().unwrap().output_cap < books.asked[0].output_cap);
    let none =
        played(&stage, vec![Turn::answer("No.")], Limits { max_cost: Some(NanoUsd(10)), ..Limits::default() }).await;
    assert_eq!((none.code(), none.asked.len(), none.model_calls().count()), (StopCode::CostLimit, 0, 0));
    stage.close().await;
}

#[tokio::test]
async fn iterations_and_tokens_are_limited() {
    let stage = Stage::new().await;
    let turns: Vec<_> = (0..20).map(|number| Turn::calls("", vec![note(number)])).collect();
    let limits = Limits { max_iterations: Some(3), ..Limits::default() };
    let books = played(&stage, turns.clone(), limits).await;
    assert_eq!((books.code(), books.asked.len()), (StopCode::IterationLimit, 3));
    let limits = Limits { max_model_calls: Some(2), ..Limits::default() };
    let books = played(&stage, turns.clone(), limits).await;
    assert_eq!((books.code(), books.asked.len()), (StopCode::ModelCallLimit, 2));
    let books = played(&stage, turns, Limits { max_tokens: Some(1000), ..Limits::default() }).await;
    assert_eq!(books.code(), StopCode::TokenLimit);
    assert!(books.execution.progress.used.tokens <= 1000);
    stage.close().await;
}

#[tokio::test]
async fn the_deadline_ends_a_call_under_way_and_keeps_what_came() {
    let stage = Stage::new().await;
    let turns = vec![Turn::stalling("So far ")];
    let new = stage.new_execution(turns, Limits::default(), Some(Duration::from_millis(150)));
    stage.ports.executions.start(&new).await.unwrap();
    let execution = new.execution.reference();
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!((books.code(), books.execution.progress.status), (StopCode::DeadlineExceeded, ExecutionStatus::Stopped));
    assert_eq!(books.execution.progress.answer.as_deref(), Some("So far "));
    let call = books.model_calls().next().unwrap();
    assert_eq!((call.state, call.estimated), (CallState::Cancelled, true));
    stage.close().await;
}

/// The adapter has the same time as the heartbeat, and may be the first to notice that it is over.
#[tokio::test]
async fn a_timeout_at_the_deadline_is_the_deadline() {
    let stage = Stage::new().await;
    for _ in 0..10 {
        let turns = vec![Turn { then: Then::TimesOut, ..Turn::answer("So far ") }];
        let new = stage.new_execution(turns, Limits::default(), Some(Duration::from_millis(60)));
        stage.ports.executions.start(&new).await.unwrap();
        let execution = new.execution.reference();
        stage.finish(execution).await;
        assert_eq!(Books::closed(&stage, execution).await.code(), StopCode::DeadlineExceeded);
    }
    stage.close().await;
}

#[tokio::test]
async fn the_active_time_ends_a_command_under_way() {
    let stage = Stage::new().await;
    let turns = vec![Turn::calls("", vec![shell("stall"), note("a")]), Turn::answer("No.")];
    let books = played(&stage, turns, Limits { max_active_time_ms: Some(150), ..Limits::default() }).await;
    assert_eq!((books.code(), books.execution.progress.status), (StopCode::ActiveTimeLimit, ExecutionStatus::Stopped));
    assert_eq!(books.tool_ends(), [(Cancelled, "CANCELLED"), (Succeeded, "")]);
    assert_eq!(stage.sandbox.live(), 0);
    stage.close().await;
}

#[tokio::test]
async fn a_drained_run_is_given_back_and_ends_as_if_undisturbed() {
    let stage = Stage::new().await;
    let turns = vec![
        Turn::calls("", vec![shell("echo one"), note("a")]),
        Turn::calls("", vec![shell("echo two")]),
        Turn::answer("Done."),
    ];
    let calm = stage.start(turns.clone()).await;
    stage.finish(calm).await;
    for drained_at in 0..3 {
        let execution = stage.start(turns.clone()).await;
        let signal = Arc::new(StopSignal::default());
        let drained = Arc::clone(&signal);
        stage.model.hook(move |turn| {
            if turn == drained_at {
                drained.drain()
            }
        });
        let claimed = stage.claim(execution).await;
        let ended = stage.run_with(claimed, signal).await;
        stage.model.unhook();
        // The final answer has come: there is nothing to give back.
        assert_eq!(ended, if drained_at == 2 { Ended::Finished } else { Ended::GivenBack });
        if ended == Ended::GivenBack {
            assert_eq!(stage.sandbox.live(), 0);
            let again = stage.ports.executions.claim(execution, "w", crate::stage::LEASE).await.unwrap();
            assert_eq!(stage.run(again.expect("what was given back is free at once")).await, Ended::Finished);
        }
        let (books, calm) = (Books::closed(&stage, execution).await, Books::closed(&stage, calm).await);
        assert_eq!(books.code(), calm.code());
        assert_eq!(books.execution.progress.answer, calm.execution.progress.answer);
        let results =
            |books: &[crate::played_model::Asked]| books.iter().map(|asked| asked.results.clone()).collect::<Vec<_>>();
        assert_eq!(results(&books.asked), results(&calm.asked));
        assert!(books.model_calls().all(|call| call.state == CallState::Settled));
        assert!(books.tool_calls().all(|call| matches!(call.state, Succeeded | ToolCallState::Lost)));
    }
    assert_eq!(stage.sandbox.commands("echo one").len(), 4);
    stage.close().await;
}

/// The model reads the tools' definitions as well, so that the first call's worst case has them in it.
#[tokio::test]
async fn the_first_call_reserves_for_the_tools_too() {
    let stage = Stage::new().await;
    let books = played(&stage, vec![Turn::answer("Yes.")], Limits::default()).await;
    let call = books.model_calls().next().unwrap();
    assert!(reserved_for_tools() > 100);
    assert!(call.reserved_tokens > reserved_for_tools(), "{} tokens are held", call.reserved_tokens);
    stage.close().await;
}
