//! A worker is lost at every step of the loop, with all that its process holds. The next one, with nothing but the
//! database, finishes the execution: the answer is the same, and the books and the log are as they must be.

use std::sync::Arc;
use std::time::Duration;

use domain::execution::{ExecutionRef, StopCode};
use domain::resource::LoopPolicy;
use tokio::runtime::Runtime;

use crate::books::Books;
use crate::failpoints::sweep;
use crate::mariadb;
use crate::played_model::{Turn, note, shell};
use crate::stage::{Scene, Stage};
use crate::step::{Fuse, Step};

const ANSWER: &str = "All is done.";
/// The first time that a step is reached is in an execution without a past; the next one has something to lose.
const TIMES: u32 = 2;

/// Each text has three words: the first, the last, and one that is neither.
fn turns() -> Vec<Turn> {
    vec![
        Turn::calls("Let me see. ", vec![note("a"), shell("put a one")]),
        Turn::calls("One more thing. ", vec![shell("ls")]),
        Turn::answer(ANSWER),
    ]
}

#[test]
fn a_worker_that_is_lost_at_any_step_is_followed_by_one_that_finishes_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    lose_a_worker_at_every_step(format!("sqlite://{}", dir.path().join("vitrine.db").display()));
}

#[test]
fn a_worker_that_is_lost_at_any_step_is_followed_by_one_that_finishes_on_mariadb() {
    let url = runtime().block_on(mariadb::fresh_database());
    lose_a_worker_at_every_step(url);
}

fn lose_a_worker_at_every_step(url: String) {
    assert!(Step::ALL.len() >= 20);
    let scene = runtime().block_on(Scene::set(url, LoopPolicy::default()));
    for step in Step::ALL.iter().copied() {
        for nth in 1..=TIMES {
            let fuse = Arc::new(Fuse::at(step, nth));
            let execution = live_until_lost(&scene, &fuse);
            assert!(fuse.is_blown() || nth > 1, "{step:?} was never reached");
            runtime().block_on(finish_and_check(&scene, execution, step));
        }
    }
}

/// The process of a worker: when its runtime is gone, so is every task, connection and lock of it.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub fn live_until_lost(scene: &Scene, fuse: &Arc<Fuse>) -> ExecutionRef {
    let process = runtime();
    let execution = process.block_on(async {
        let stage = Stage::open(scene, Arc::clone(fuse)).await;
        let execution = stage.start(turns()).await;
        let sent = Arc::clone(fuse);
        stage.model.hook(move |_| sent.note(Step::AfterSend));
        let work = async {
            let claimed = stage.claim(execution).await;
            stage.run(claimed).await;
        };
        tokio::select! {
            () = work => {}
            () = fuse.blown() => {}
        }
        stage.model.unhook();
        execution
    });
    process.shutdown_timeout(Duration::from_secs(10));
    execution
}

pub async fn finish_and_check(scene: &Scene, execution: ExecutionRef, step: Step) {
    let stage = Stage::open(scene, Arc::default()).await;
    stage.finish(execution).await;
    sweep(&stage).await;
    let books = Books::closed(&stage, execution).await;
    assert_eq!(books.code(), StopCode::FinalAnswer, "{step:?}");
    assert_eq!(books.execution.progress.answer.as_deref(), Some(ANSWER), "{step:?}");
    assert_eq!(stage.sandbox.live(), 0, "{step:?}");
    stage.close().await;
}
