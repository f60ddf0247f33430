//! What lies in the workspace outlives the worker, wherever it is lost, and the model is told what does not.

use domain::agent::Ended;
use domain::event::Event;
use domain::tool_call::ToolCallState::{Interrupted, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, shell};
use crate::stage::Stage;

fn shells(commands: &[&str]) -> Vec<Turn> {
    let mut turns: Vec<_> = commands.iter().map(|command| Turn::calls("", vec![shell(command)])).collect();
    turns.push(Turn::answer("Done."));
    turns
}

/// Runs it with a loss around this write; the books afterwards.
async fn lose_at(stage: &Stage, nth: u32, when: When, turns: Vec<Turn>) -> Books {
    let execution = stage.start(turns).await;
    let claimed = stage.claim(execution).await;
    stage.store.set(&[Failpoint { method: "commit", nth, when }]);
    let ended = stage.run(claimed).await;
    stage.store.set(&[]);
    if ended != Ended::Finished {
        stage.finish(execution).await;
    }
    Books::read(stage, execution).await
}

fn result_of(books: &Books, command: &str) -> Option<String> {
    let calls: Vec<_> = books.tool_calls().collect();
    let at = calls.iter().position(|call| match &call.arguments {
        domain::artifact::StoredText::Inline(text) => text.contains(command),
        domain::artifact::StoredText::Blob { .. } => false,
    })?;
    match (&calls[at].state, &calls[at].result) {
        (Succeeded, domain::artifact::StoredText::Inline(text)) => Some(text.clone()),
        _ => None,
    }
}

/// Each command that is recorded as done has its effect in every later sandbox, and none that was interrupted has.
#[tokio::test(flavor = "multi_thread")]
async fn what_finished_calls_left_is_there_after_a_loss_at_every_write() {
    let stage = Stage::new().await;
    let commands = ["put a one", "put b two", "rm a", "put a three", "ls"];
    let calm = stage.start(shells(&commands)).await;
    stage.store.set(&[]);
    stage.finish(calm).await;
    let writes = stage.store.calls()["commit"];
    assert_eq!(result_of(&Books::closed(&stage, calm).await, "\"ls\"").as_deref(), Some("a=three b=two"));
    let mut listed = 0;
    for (nth, when) in (1..=writes).flat_map(|nth| [(nth, When::DownBefore), (nth, When::DownAfter)]) {
        let books = lose_at(&stage, nth, when, shells(&commands)).await;
        let Some(ls) = result_of(&books, "\"ls\"") else { continue };
        listed += 1;
        let is_done = |command: &str| result_of(&books, &format!("\"{command}\"")).is_some();
        let a = if is_done("put a three") {
            Some("a=three")
        } else {
            (is_done("put a one") && !is_done("rm a")).then_some("a=one")
        };
        let files: Vec<_> = a.into_iter().chain(is_done("put b two").then_some("b=two")).collect();
        let first_line = ls.lines().next().unwrap_or_default();
        assert_eq!(first_line, files.join(" "), "lost around write {nth}, {when:?}: {ls}");
    }
    assert!(listed > writes, "the listing was reached in {listed} runs");
    stage.close().await;
}

#[tokio::test]
async fn only_what_changed_is_read_again_and_nothing_is_stored_when_nothing_changed() {
    let stage = Stage::new().await;
    let execution = stage.start(shells(&["put a one", "put b two", "ls", "put a three", "rm b"])).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(stage.sandbox.reads(), ["a", "b", "a"]);
    let rows: Vec<_> = books.transcript.iter().map(|record| record.workspace.is_some()).collect();
    assert_eq!(rows, [true, true, false, true, true, false]);
    stage.close().await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_told_once_in_the_log_and_to_the_model_after_a_loss() {
    let stage = Stage::new().await;
    let turns = shells(&["put a one", "link l", "put b two", "ls"]);
    let calm = stage.start(turns.clone()).await;
    stage.store.set(&[]);
    stage.finish(calm).await;
    let books = Books::closed(&stage, calm).await;
    let is_warning = |event: &Event| matches!(event, Event::WarningRaised { code, .. } if code == "WORKSPACE_NOT_KEPT");
    assert_eq!(books.log.iter().filter(|record| is_warning(&record.event)).count(), 1);
    // The last call's end is the write before those of the answer's iteration: reserve, settle, finish.
    let end_of_ls = stage.store.calls()["commit"] - 3;
    let books = lose_at(&stage, end_of_ls, When::DownBefore, turns).await;
    assert_eq!(books.tool_calls().last().unwrap().state, Interrupted);
    let told = &books.asked.last().unwrap().results[0];
    assert!(told.contains("may have run in part") && told.contains("1 are missing"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn a_sandbox_that_is_lost_in_the_middle_of_a_claim_is_made_again_with_its_files() {
    let stage = Stage::new().await;
    let execution = stage.start(shells(&["put a one", "vanish", "ls"])).await;
    stage.finish(execution).await;
    let books = Books::read(&stage, execution).await;
    let ls = result_of(&books, "\"ls\"").unwrap();
    assert!(ls.starts_with("a=one\n[The sandbox is a new one: "), "{ls}");
    stage.close().await;
}

/// Row F45 of the cases: a sandbox in which something of a program may still run is given up, not used again.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_in_which_something_may_still_run_is_not_used_again() {
    let stage = Stage::new().await;
    let execution = stage.start(shells(&["put a one", "linger", "ls"])).await;
    stage.finish(execution).await;
    let books = Books::read(&stage, execution).await;
    let listed = result_of(&books, "\"ls\"").unwrap();
    assert!(listed.starts_with("a=one\n[The sandbox is a new one"), "{listed}");
    let codes: Vec<_> = books.tool_calls().map(|call| call.error.clone().map(|(code, _)| code)).collect();
    assert_eq!(codes, [None, Some("TIMED_OUT".to_owned()), None]);
    assert_eq!(stage.sandbox.live(), 0);
}
