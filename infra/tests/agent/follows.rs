//! Programs with a long time limit run in the background of their sandbox and outlive their worker: whoever comes next
//! follows them to their end, and nobody sees a byte twice or misses one.

use std::sync::Arc;

use domain::agent::Ended;
use domain::artifact::StoredText;
use domain::event::Event;
use domain::execution::{ExecutionRef, StopCause, StopCode, StopSignal};
use domain::resource::LoopPolicy;
use domain::sandbox::SandboxState;
use domain::tool_call::ToolCallState::{Interrupted, Started, Succeeded};

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::failpoints::sweep;
use crate::mariadb;
use crate::played_background::DROPPED_BYTES;
use crate::played_model::{Turn, shell};
use crate::stage::{Place, Scene, Stage, until};
use crate::step::{Fuse, Step};
use crate::steps::{finish_and_check, live_until_lost, runtime};

/// Seven words.
const LINE: &str = "echo one two three four five six";

fn turns(command: &str) -> Vec<Turn> {
    vec![Turn::calls("", vec![shell(command)]), Turn::answer("Done.")]
}

/// What the log tells of the output of all calls.
fn told(books: &Books) -> String {
    let text = |event: &Event| match event {
        Event::SandboxOutput { text, .. } => Some(text.clone()),
        _ => None,
    };
    books.log.iter().filter_map(|record| text(&record.event)).collect()
}

/// How many calls of the execution would go on without their worker.
async fn going_on(stage: &Stage, execution: ExecutionRef) -> usize {
    let books = Books::read(stage, execution).await;
    books.tool_calls().filter(|call| call.state == Started && call.command.is_some()).count()
}

/// Waits until this many programs wait at the gate, and their ids are stored.
async fn until_at_the_gate(stage: &Stage, execution: ExecutionRef, programs: usize) {
    until("the gate is followed", async || {
        stage.sandbox.commands("gate").len() == programs && going_on(stage, execution).await == programs
    })
    .await;
}

#[tokio::test]
async fn a_long_program_runs_in_the_background_and_a_short_one_does_not() {
    for (stage, follows) in [(Stage::with_long_programs().await, 1), (Stage::new().await, 0)] {
        let execution = stage.start(turns(LINE)).await;
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!(stage.sandbox.background.follows(), follows);
        assert_eq!(told(&books), LINE);
        let call = books.tool_calls().next().unwrap();
        assert_eq!((call.state, &call.result), (Succeeded, &StoredText::Inline(LINE.to_owned())));
        stage.close().await;
    }
}

#[tokio::test]
async fn output_that_nobody_has_kept_is_told_as_cut() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(turns("flood a b")).await;
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(told(&books), "flood a b");
    let call = books.tool_calls().next().unwrap();
    let text = format!("flood a b\n[cut here: {DROPPED_BYTES} more bytes were printed]\n");
    assert_eq!((call.state, &call.result), (Succeeded, &StoredText::Inline(text)));
    let omitted = books.log.iter().find_map(|record| match &record.event {
        Event::OutputTruncated { omitted_bytes, artifact_id: None, .. } => Some(*omitted_bytes),
        _ => None,
    });
    assert_eq!(omitted, Some(DROPPED_BYTES));
    stage.close().await;
}

/// Around each write and each append: the program runs once, and its output is told once as a whole. Where it could not be
/// known that it ran in the background, it is interrupted, as every other program is.
#[tokio::test(flavor = "multi_thread")]
async fn output_is_told_once_wherever_the_worker_is_lost() {
    let stage = Stage::with_long_programs().await;
    let calm = stage.start(turns(LINE)).await;
    stage.store.set(&[]);
    stage.finish(calm).await;
    let calls = stage.store.calls();
    let mut followed = 0;
    for (method, when) in [("commit", When::DownBefore), ("commit", When::DownAfter), ("append", When::DownAfter)] {
        for nth in 1..=calls.get(method).copied().unwrap_or(1) {
            let before = stage.sandbox.commands(LINE).len();
            let execution = stage.start(turns(LINE)).await;
            let claimed = stage.claim(execution).await;
            stage.store.set(&[Failpoint { method, nth, when }]);
            let ended = stage.run(claimed).await;
            stage.store.set(&[]);
            followed += u32::from(going_on(&stage, execution).await > 0);
            if ended != Ended::Finished {
                stage.finish(execution).await;
            }
            sweep(&stage).await;
            let books = Books::closed(&stage, execution).await;
            assert_eq!(books.code(), StopCode::FinalAnswer);
            let call = books.tool_calls().last().unwrap();
            let place = format!("lost around {method} {nth}, {when:?}: {call:?}");
            assert!(stage.sandbox.commands(LINE).len() <= before + 1, "it ran twice, {place}");
            if call.state == Interrupted {
                assert!(call.command.is_none(), "{place}");
                continue;
            }
            assert_eq!((call.state, &call.result), (Succeeded, &StoredText::Inline(LINE.to_owned())), "{place}");
            assert_eq!(told(&books), LINE, "{place}");
        }
    }
    assert!(followed >= 2, "the next claim followed a program {followed} times");
    stage.close().await;
}

#[test]
fn a_worker_of_long_programs_that_is_lost_at_any_step_is_followed_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    lose_a_worker_at_every_step(format!("sqlite://{}", dir.path().join("vitrine.db").display()));
}

#[test]
fn a_worker_of_long_programs_that_is_lost_at_any_step_is_followed_on_mariadb() {
    let url = runtime().block_on(mariadb::fresh_database());
    lose_a_worker_at_every_step(url);
}

fn lose_a_worker_at_every_step(url: String) {
    let scene = runtime().block_on(Scene::set_with(url, LoopPolicy::default(), Place::LONG));
    for step in Step::ALL.iter().copied() {
        for nth in 1..=2 {
            let fuse = Arc::new(Fuse::at(step, nth));
            let execution = live_until_lost(&scene, &fuse);
            assert!(fuse.is_blown() || nth > 1, "{step:?} was never reached");
            runtime().block_on(finish_and_check(&scene, execution, step));
        }
    }
}

/// The sandbox is taken over with what runs in it: it is the same one, its files are not put back, and nothing is told.
#[tokio::test]
async fn the_next_claim_takes_over_the_sandbox_with_its_files() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(a_file_a_long_program_and_a_look()).await;
    lose_at_the_gate(&stage, execution, 1).await;
    let before = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
    stage.sandbox.open(1);
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let results: Vec<_> = books.tool_calls().map(|call| (call.state, call.result.clone(), call.sandbox_id)).collect();
    let sandbox = Some(before[0].1.id);
    let inline = |text: &str| StoredText::Inline(text.to_owned());
    let expected = ["done", "gate it", "a=one"].map(|text| (Succeeded, inline(text), sandbox));
    assert_eq!(results, expected);
    let after = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
    assert_eq!((before.len(), after.len()), (1, 1));
    assert!(after[0].1.epoch > before[0].1.epoch, "{after:?}");
    stage.close().await;
}

fn a_file_a_long_program_and_a_look() -> Vec<Turn> {
    let programs = ["put a one", "gate it", "ls"].map(|program| Turn::calls("", vec![shell(program)]));
    programs.into_iter().chain([Turn::answer("Done.")]).collect()
}

/// Runs until the gate is followed, and loses the worker there.
async fn lose_at_the_gate(stage: &Stage, execution: ExecutionRef, programs: usize) {
    let claimed = stage.claim(execution).await;
    let signal = Arc::new(StopSignal::default());
    let lost = Arc::clone(&signal);
    let at_the_gate = async {
        until_at_the_gate(stage, execution, programs).await;
        lost.trip(StopCause::LeaseLost);
    };
    let (ended, ()) = tokio::join!(stage.run_with(claimed, signal), at_the_gate);
    assert_eq!((ended, stage.sandbox.live(), stage.sandbox.background.interrupts()), (Ended::Abandoned, 1, 0));
}

#[tokio::test]
async fn a_sandbox_that_ended_meanwhile_interrupts_the_program_and_is_replaced() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(a_file_a_long_program_and_a_look()).await;
    lose_at_the_gate(&stage, execution, 1).await;
    stage.sandbox.end_all();
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    let calls: Vec<_> = books.tool_calls().collect();
    assert_eq!(calls.iter().map(|call| call.state).collect::<Vec<_>>(), [Succeeded, Interrupted, Succeeded]);
    let told = &books.asked[2].results[0];
    assert!(told.contains("may have run in part") && told.contains("from the end of the last finished"), "{told}");
    assert_eq!(calls[2].result, StoredText::Inline("a=one".to_owned()));
    assert_eq!(stage.sandbox.commands("gate").len(), 1);
    stage.close().await;
}

/// The server has less than what was told: nothing that it says of the command can be relied on.
#[tokio::test]
async fn a_log_that_is_shorter_than_what_was_told_is_no_success() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(turns("gate it")).await;
    lose_at_the_gate(&stage, execution, 1).await;
    stage.sandbox.background.forget("cmd-0", "echo");
    stage.finish(execution).await;
    assert_eq!(Books::closed(&stage, execution).await.tool_ends(), [(Interrupted, "INTERRUPTED")]);
    stage.close().await;
}

#[tokio::test]
async fn an_orderly_stop_leaves_the_program_to_the_next_process() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(turns("gate it")).await;
    let claimed = stage.claim(execution).await;
    let signal = Arc::new(StopSignal::default());
    let stopping = Arc::clone(&signal);
    let stop = async {
        until_at_the_gate(&stage, execution, 1).await;
        stopping.drain();
    };
    let (ended, ()) = tokio::join!(stage.run_with(claimed, signal), stop);
    assert_eq!((ended, stage.sandbox.live()), (Ended::GivenBack, 1));
    sweep(&stage).await;
    assert_eq!(stage.sandbox.live(), 1, "the reaper took what the next claim follows");
    stage.sandbox.open(1);
    stage.finish(execution).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Succeeded, "")]);
    assert_eq!((stage.sandbox.commands("gate").len(), stage.sandbox.background.interrupts()), (1, 0));
    stage.close().await;
}

/// Between the claim and its first commit nobody knows what the claim takes over: the reaper waits.
#[tokio::test]
async fn the_reaper_waits_until_the_claim_has_taken_over() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(turns("gate it")).await;
    lose_at_the_gate(&stage, execution, 1).await;
    let claimed = stage.claim(execution).await;
    sweep(&stage).await;
    assert_eq!(stage.sandbox.live(), 1);
    stage.sandbox.open(1);
    assert_eq!(stage.run(claimed).await, Ended::Finished);
    assert_eq!(Books::closed(&stage, execution).await.tool_ends(), [(Succeeded, "")]);
    stage.close().await;
}

/// The old worker is alive and reads on; whatever it hears, the command is another's.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_worker_stops_nothing_that_the_next_claim_follows() {
    for cause in [StopCause::ActiveTime, StopCause::LeaseLost] {
        let stage = Stage::with_long_programs().await;
        let execution = stage.start(turns("gate it")).await;
        let claimed = stage.claim(execution).await;
        let signal = Arc::new(StopSignal::default());
        let word = Arc::clone(&signal);
        let next = async {
            until_at_the_gate(&stage, execution, 1).await;
            // Its renewals do not arrive for longer than its lease, and then it hears that its time is over.
            let lost = (1..=14).map(|nth| Failpoint { method: "renew", nth, when: When::Before });
            stage.store.set(&lost.collect::<Vec<_>>());
            let claimed = stage.claim(execution).await;
            word.trip(cause);
            // Both see the end.
            stage.sandbox.open(2);
            stage.run(claimed).await
        };
        let (stale, next) = tokio::join!(stage.run_with(claimed, signal), next);
        assert_eq!((stale, next), (Ended::Abandoned, Ended::Finished), "{cause:?}");
        let books = Books::closed(&stage, execution).await;
        assert_eq!(books.tool_ends(), [(Succeeded, "")], "{cause:?}");
        assert_eq!(stage.sandbox.background.interrupts(), 0, "{cause:?}");
        assert_eq!(told(&books), "gate it", "{cause:?}");
        stage.close().await;
    }
}

#[tokio::test]
async fn a_cancel_stops_a_program_that_is_followed() {
    let stage = Stage::with_long_programs().await;
    let execution = stage.start(turns("gate it")).await;
    lose_at_the_gate(&stage, execution, 1).await;
    let claimed = stage.claim(execution).await;
    let signal = Arc::new(StopSignal::default());
    let stopping = Arc::clone(&signal);
    let stop = async {
        until("it is followed again", async || stage.sandbox.background.follows() == 2).await;
        stopping.trip(StopCause::Cancelled);
    };
    let (ended, ()) = tokio::join!(stage.run_with(claimed, signal), stop);
    assert_eq!((ended, stage.sandbox.background.interrupts()), (Ended::Finished, 1));
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.code(), StopCode::Cancelled);
    assert_eq!(told(&books), "gate it");
    stage.close().await;
}

/// A program of the lost claim that nobody can follow may still run there.
#[tokio::test]
async fn a_sandbox_in_which_something_unseen_may_run_is_not_taken_over() {
    let stage = Stage::with_long_programs().await;
    let turns = vec![Turn::calls("", vec![shell("gate a"), shell("gate b")]), Turn::answer("Done.")];
    let execution = stage.start(turns).await;
    lose_at_the_gate(&stage, execution, 2).await;
    stage.forget_a_command(execution).await;
    stage.finish(execution).await;
    sweep(&stage).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.tool_ends(), [(Interrupted, "INTERRUPTED"), (Interrupted, "INTERRUPTED")]);
    let rows = stage.stores.reader.sandboxes(execution.scope(), &[execution.id]).await.unwrap();
    assert!(rows.iter().all(|(_, row)| row.state == SandboxState::Gone), "{rows:?}");
    stage.close().await;
}
