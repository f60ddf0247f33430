//! The loop asks for access before each call: what was revoked is not used any more, whatever was allowed at the start.

use domain::agent::Ended;
use domain::execution::StopCode;
use domain::tool_call::ToolCallState::{Failed, Succeeded};
use futures_util::future::join;

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Then, Turn, note, shell};
use crate::stage::{Stage, until};

#[tokio::test]
async fn a_model_that_was_revoked_is_not_called() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::answer("Never.")]).await;
    stage.revoke_model().await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!((books.code(), books.asked.len(), books.model_calls().count()), (StopCode::AccessDenied, 0, 0));
    stage.close().await;
}

/// Revoked between two iterations, while the execution is in nobody's hands for a moment.
#[tokio::test]
async fn a_grant_that_was_revoked_in_mid_run_ends_the_run() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::calls("", vec![note("a")]), Turn::answer("Never.")]).await;
    let claimed = stage.claim(execution).await;
    // Behind the end of the first iteration's tool call.
    stage.store.set(&[Failpoint { method: "commit", nth: 4, when: When::DownAfter }]);
    assert_eq!(stage.run(claimed).await, Ended::Abandoned);
    stage.store.set(&[]);
    stage.store.heal();
    stage.revoke_model().await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!((books.code(), books.asked.len()), (StopCode::AccessDenied, 1));
    assert!(books.execution.progress.stop_reason.as_ref().unwrap().message.contains("no grant"));
    stage.close().await;
}

#[tokio::test]
async fn a_sandbox_profile_that_was_revoked_is_not_used() {
    let stage = Stage::new().await;
    let execution = stage.start(vec![Turn::calls("", vec![shell("echo never")]), Turn::answer("Never.")]).await;
    stage.revoke_sandbox().await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.code(), StopCode::AccessDenied, "{:?}", books.tool_ends());
    assert!(stage.sandbox.commands("never").is_empty());
    stage.close().await;
}

/// The sandbox is there, and was allowed when it was made.
#[tokio::test]
async fn a_sandbox_profile_that_is_revoked_in_mid_run_is_used_by_no_further_call() {
    let stage = Stage::new().await;
    let held = Turn { then: Then::IsHeld, ..Turn::calls("", vec![shell("echo never")]) };
    let execution = stage.start(vec![Turn::calls("", vec![shell("echo first")]), held, Turn::answer("Never.")]).await;
    let claimed = stage.claim(execution).await;
    let watch = async {
        until("the first call", async || Books::read(&stage, execution).await.tool_ends().len() == 1).await;
        stage.revoke_sandbox().await;
        stage.model.release();
    };
    join(stage.run(claimed), watch).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.code(), StopCode::AccessDenied);
    assert_eq!(books.tool_ends(), [(Succeeded, ""), (Failed, "ACCESS_DENIED")]);
    assert!(stage.sandbox.commands("never").is_empty());
    stage.close().await;
}
