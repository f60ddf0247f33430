//! What becomes of a lost tool call goes by what repeating it would do. No built-in tool acts on the world, so the class
//! is written into the row of a `note`, as a tool of that class would have declared it.

use std::sync::Arc;

use domain::agent::Ended;
use domain::execution::{ExecutionRef, ExecutionStatus, StopCode, StopSignal};
use domain::tool_call::SideEffect;
use domain::tool_call::ToolCallState::{Lost, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, note};
use crate::stage::Stage;

/// The write that settles the first model call and starts its tool calls.
const SETTLE: u32 = 3;

/// An execution whose worker was lost when its one tool call, of this class, had started.
async fn lost(stage: &Stage, class: SideEffect) -> ExecutionRef {
    let execution = stage.start(vec![Turn::calls("", vec![note("a")]), Turn::answer("Yes.")]).await;
    let claimed = stage.claim(execution).await;
    stage.store.set(&[Failpoint { method: "commit", nth: SETTLE, when: When::DownAfter }]);
    assert_eq!(stage.run(claimed).await, Ended::Abandoned);
    stage.store.set(&[]);
    stage.declare(execution, class).await;
    execution
}

async fn is_repeated_under_the_same_key(class: SideEffect) {
    let stage = Stage::new().await;
    let execution = lost(&stage, class).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let calls: Vec<_> = books.tool_calls().collect();
    assert_eq!(calls.iter().map(|call| call.state).collect::<Vec<_>>(), [Lost, Succeeded]);
    assert!(calls.iter().all(|call| call.side_effect == class && call.idempotency_key == calls[0].idempotency_key));
    assert_eq!((books.code(), &books.asked[1].results[0][..]), (StopCode::FinalAnswer, "Noted."));
    stage.close().await;
}

#[tokio::test]
async fn a_lost_read_only_call_is_repeated_under_the_same_key() {
    is_repeated_under_the_same_key(SideEffect::ReadOnly).await;
}

#[tokio::test]
async fn a_lost_idempotent_call_is_repeated_under_the_same_key() {
    is_repeated_under_the_same_key(SideEffect::Idempotent).await;
}

#[tokio::test]
async fn a_lost_side_effect_ends_the_execution_and_is_never_repeated() {
    let stage = Stage::new().await;
    let execution = lost(&stage, SideEffect::SideEffect).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.code(), StopCode::ToolOutcomeUnknown);
    assert_eq!(books.execution.progress.status, ExecutionStatus::Failed);
    assert_eq!(books.tool_calls().map(|call| call.state).collect::<Vec<_>>(), [Lost]);
    assert_eq!(books.asked.len(), 1, "the model was asked although nobody knows what the tool did");
    stage.close().await;
}

/// The next worker is lost as well, at any of its writes: the cause stays, and nothing is repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_side_effect_stays_unknown_when_the_next_worker_is_lost() {
    let stage = Stage::new().await;
    for (nth, when) in (1..=2).flat_map(|nth| [(nth, When::DownBefore), (nth, When::DownAfter)]) {
        let execution = lost(&stage, SideEffect::SideEffect).await;
        let claimed = stage.claim(execution).await;
        stage.store.set(&[Failpoint { method: "commit", nth, when }]);
        stage.run(claimed).await;
        assert_eq!(stage.store.hits(), 1, "{nth} {when:?}");
        stage.store.set(&[]);
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!(books.code(), StopCode::ToolOutcomeUnknown, "{nth} {when:?}");
        assert_eq!(books.tool_calls().count(), 1);
    }
    stage.close().await;
}

/// A worker that stops in order before the call begins knows what it did: nothing.
#[tokio::test]
async fn a_side_effect_that_did_not_begin_is_made_by_the_next_worker() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::calls("", vec![note("a")]), Turn::answer("Yes.")]).await;
    let claimed = stage.claim(execution).await;
    let signal = Arc::new(StopSignal::default());
    let drained = Arc::clone(&signal);
    stage.model.hook(move |_| drained.drain());
    assert_eq!(stage.run_with(claimed, signal).await, Ended::GivenBack);
    stage.model.unhook();
    stage.declare(execution, SideEffect::SideEffect).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Lost, "NOT_BEGUN"), (Succeeded, "")]);
    assert_eq!(books.code(), StopCode::FinalAnswer);
    stage.close().await;
}
