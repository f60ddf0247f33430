//! Each limit with each outcome: the run ends the same way, the StopReason names the limit and the step, and the caller
//! gets an error item where the limit says so and nothing where it stops.

use std::time::Duration;

use domain::budget::{Limit, LimitOutcome, LimitOutcomes, Limits};
use domain::event::Event;
use domain::execution::{ErrorItem, ExecutionStatus, Item, StopCode, StopStep};
use domain::money::NanoUsd;

use crate::books::Books;
use crate::played_model::{Turn, USAGE, note, shell};
use crate::stage::{PRICE, Stage, reserved_for_tools};

/// A run that one limit ends.
struct Case {
    limit: Limit,
    turns: Vec<Turn>,
    limits: Limits,
    deadline: Option<Duration>,
    code: StopCode,
    /// What the StopReason says of the limit; the deadline's moment is looked up.
    named: String,
    step: StopStep,
    iteration: u32,
}

/// Some iteration behind the first.
const LATER: u32 = 0;

impl Case {
    fn new(limit: Limit, limits: Limits, code: StopCode, named: &str) -> Self {
        let turns = (0..20).map(|number| Turn::calls("So far ", vec![note(number)])).collect();
        let named = named.to_owned();
        Self { limit, turns, limits, deadline: None, code, named, step: StopStep::ModelCall, iteration: 3 }
    }
}

/// One for each limit there is.
fn case(limit: Limit) -> Case {
    let none = Limits::default();
    match limit {
        Limit::Iterations => Case {
            step: StopStep::Iteration,
            ..Case::new(limit, Limits { max_iterations: Some(3), ..none }, StopCode::IterationLimit, "maxIterations 3")
        },
        Limit::ModelCalls => {
            Case::new(limit, Limits { max_model_calls: Some(2), ..none }, StopCode::ModelCallLimit, "maxModelCalls 2")
        }
        Limit::ToolCalls => Case {
            step: StopStep::ToolCalls,
            ..Case::new(limit, Limits { max_tool_calls: Some(2), ..none }, StopCode::ToolCallLimit, "maxToolCalls 2")
        },
        // The first call fits, with its tools. A later one may need more than is left, whatever its output cap.
        Limit::Tokens => {
            let most = 420 + reserved_for_tools();
            let named = format!("maxTokens {most}");
            let limits = Limits { max_tokens: Some(most), ..none };
            Case { iteration: LATER, ..Case::new(limit, limits, StopCode::TokenLimit, &named) }
        }
        Limit::Cost => {
            let most = NanoUsd(2 * PRICE.cost(&USAGE).0 + PRICE.worst_case(200 + reserved_for_tools(), 0).0);
            let named = format!("maxCostUsd {}", most.to_usd_text());
            let limits = Limits { max_cost: Some(most), ..none };
            Case { iteration: LATER, ..Case::new(limit, limits, StopCode::CostLimit, &named) }
        }
        Limit::ActiveTime => Case {
            turns: vec![Turn::calls("So far ", vec![shell("stall")]), Turn::answer("No.")],
            step: StopStep::ToolCalls,
            iteration: 1,
            ..Case::new(
                limit,
                Limits { max_active_time_ms: Some(150), ..none },
                StopCode::ActiveTimeLimit,
                "maxActiveTimeMs 150",
            )
        },
        Limit::ErrorsPerTool => Case {
            turns: (0..9).map(|number| Turn::calls("So far ", vec![shell(format!("fail {number}"))])).collect(),
            step: StopStep::ToolCalls,
            iteration: 2,
            ..Case::new(
                limit,
                Limits { max_errors_per_tool: Some(2), ..none },
                StopCode::ToolErrorLimit,
                "maxErrorsPerTool 2",
            )
        },
        Limit::Deadline => Case {
            turns: vec![Turn::stalling("So far ")],
            deadline: Some(Duration::from_millis(150)),
            iteration: 1,
            ..Case::new(limit, none, StopCode::DeadlineExceeded, "deadlineAt ")
        },
    }
}

async fn played(stage: &Stage, case: &Case, on_limit: LimitOutcomes) -> Books {
    let new = stage.new_execution(case.turns.clone(), Limits { on_limit, ..case.limits }, case.deadline);
    stage.ports.executions.start(&new).await.unwrap();
    let execution = new.execution.reference();
    stage.finish(execution).await;
    Books::closed(stage, execution).await
}

/// What must be said of the end, whatever the outcome.
fn assert_named(case: &Case, books: &Books) {
    let reason = books.execution.progress.stop_reason.clone().unwrap();
    let named = match books.execution.deadline_at {
        Some(at) => format!("{}{}", case.named, at.to_rfc3339().unwrap()),
        None => case.named.clone(),
    };
    assert_eq!((reason.code, reason.limit.as_deref()), (case.code, Some(named.as_str())), "{:?}", case.limit);
    let iteration = match (case.iteration, reason.iteration) {
        (LATER, Some(later @ 2..)) => later,
        (named, _) => named,
    };
    assert_eq!((reason.step, reason.iteration), (Some(case.step), Some(iteration)), "{:?}", case.limit);
    let (name, most) = named.split_once(' ').unwrap();
    assert!(reason.message.contains(&format!("{name} is {most}, ")), "{}", reason.message);
    assert!(reason.message.contains(&format!("iteration {iteration}")), "{}", reason.message);
    assert_eq!((books.execution.final_answer(), books.execution.progress.answer.as_deref()), (None, Some("So far ")));
}

fn last_event(books: &Books) -> (ExecutionStatus, Option<ErrorItem>) {
    match &books.log.last().unwrap().event {
        Event::ExecutionFinished { status, error_item, answer: None, .. } => (*status, error_item.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_limit_stops_unless_another_outcome_was_chosen() {
    let stage = Stage::new().await;
    for limit in Limit::ALL {
        let case = case(limit);
        for outcomes in [LimitOutcomes::NONE, LimitOutcomes::NONE.with(limit, LimitOutcome::Stop)] {
            let books = played(&stage, &case, outcomes).await;
            assert_named(&case, &books);
            assert_eq!(books.execution.progress.status, ExecutionStatus::Stopped, "{limit:?}");
            assert_eq!(books.execution.items(), []);
            assert_eq!(last_event(&books), (ExecutionStatus::Stopped, None));
        }
    }
    stage.close().await;
}

#[tokio::test]
async fn every_limit_ends_with_an_error_item_where_that_was_chosen() {
    let stage = Stage::new().await;
    for limit in Limit::ALL {
        let case = case(limit);
        let books = played(&stage, &case, LimitOutcomes::NONE.with(limit, LimitOutcome::ErrorItem)).await;
        assert_named(&case, &books);
        assert_eq!(books.execution.progress.status, ExecutionStatus::Succeeded, "{limit:?}");
        let reason = books.execution.progress.stop_reason.clone().unwrap();
        let item = ErrorItem {
            code: reason.code,
            limit: reason.limit,
            step: reason.step,
            iteration: reason.iteration,
            message: reason.message,
        };
        assert_eq!(last_event(&books), (ExecutionStatus::Succeeded, Some(item.clone())));
        assert_eq!(books.execution.items(), [Item::Error(item)]);
    }
    stage.close().await;
}

/// The outcome of one limit says nothing about another one.
#[tokio::test]
async fn an_outcome_belongs_to_its_limit() {
    let stage = Stage::new().await;
    let case = case(Limit::Cost);
    let others = Limit::ALL.into_iter().filter(|limit| *limit != Limit::Cost);
    let outcomes = others.fold(LimitOutcomes::NONE, |outcomes, limit| outcomes.with(limit, LimitOutcome::ErrorItem));
    let books = played(&stage, &case, outcomes).await;
    assert_eq!(books.execution.progress.status, ExecutionStatus::Stopped);
    stage.close().await;
}

/// What is no limit stays what it is.
#[tokio::test]
async fn a_final_answer_is_the_item_whatever_the_outcomes_are() {
    let stage = Stage::new().await;
    let every = Limit::ALL
        .into_iter()
        .fold(LimitOutcomes::NONE, |outcomes, limit| outcomes.with(limit, LimitOutcome::ErrorItem));
    let turns = vec![Turn::answer("Done.")];
    let case = Case { turns, ..Case::new(Limit::Cost, Limits::default(), StopCode::FinalAnswer, "") };
    let books = played(&stage, &case, every).await;
    assert_eq!(books.code(), StopCode::FinalAnswer);
    assert_eq!(books.execution.items(), [Item::Answer("Done.".to_owned())]);
    assert_eq!(last_event_status(&books), ExecutionStatus::Succeeded);
    stage.close().await;
}

fn last_event_status(books: &Books) -> ExecutionStatus {
    match &books.log.last().unwrap().event {
        Event::ExecutionFinished { status, error_item: None, .. } => *status,
        other => panic!("{other:?}"),
    }
}
