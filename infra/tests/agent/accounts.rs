//! Budget accounts around a run: what it may spend together with others, and what becomes of it when a worker is lost.

use std::time::Duration;

use domain::agent::Ended;
use domain::budget::{
    AccountChange, AccountOwner, AccountReservation, AccountState, AccountSubjects, Amount, BudgetAccount,
    BudgetSource, Caps, Limit, Limits, Period, TopUp, TopUpOutcome, TopUpTarget, WarningLevels,
};
use domain::event::Event;
use domain::execution::{Change, Execution, ExecutionRef, Fence, StopCode};
use domain::model_call::CallState;
use domain::money::NanoUsd;

use crate::books::Books;
use crate::failing_store::{Failpoint, When};
use crate::played_model::{Turn, USAGE, note};
use crate::stage::{PRICE, Stage, reserved_for_tools};

/// What one whole reply costs.
fn reply() -> NanoUsd {
    PRICE.cost(&USAGE)
}

async fn set(stage: &Stage, owner: AccountOwner, period: Period, max_cost: NanoUsd) -> AccountState {
    let now = stage.ports.clock.now();
    let account = BudgetAccount {
        id: stage.samples.account_id(),
        tenant_id: stage.home.tenant.id,
        owner,
        period,
        caps: Caps { max_cost: Some(max_cost), max_tokens: None },
        warning_levels: WarningLevels::default(),
        created_at: now,
    };
    let change = AccountChange { account, by: stage.home.owner, at: now, reason: "test".to_owned() };
    stage.stores.accounts.set(&change).await.unwrap()
}

async fn set_project(stage: &Stage, max_cost: NanoUsd) -> AccountState {
    set(stage, AccountOwner::Project(stage.home.project.id), Period::Month, max_cost).await
}

async fn now(stage: &Stage, state: &AccountState) -> AccountState {
    stage.stores.accounts.account(stage.home.scope(), state.account.id).await.unwrap().unwrap()
}

async fn assert_spent(stage: &Stage, state: &AccountState, cost: NanoUsd) {
    let state = now(stage, state).await;
    assert_eq!((state.spent.cost, state.reserved), (cost, Amount::default()));
}

fn notes(count: usize) -> Vec<Turn> {
    (0..count).map(|number| Turn::calls("", vec![note(number)])).chain([Turn::answer("Done.")]).collect()
}

async fn run(stage: &Stage, execution: ExecutionRef) -> Books {
    let claimed = stage.claim(execution).await;
    // On a busy machine a lease may run out; the next claim goes on.
    if stage.run(claimed).await != Ended::Finished {
        stage.finish(execution).await;
    }
    Books::closed(stage, execution).await
}

fn warnings(books: &Books) -> Vec<(BudgetSource, Limit, u8)> {
    let warning = |event: &Event| match event {
        Event::BudgetWarning { source, limit, level, .. } => Some((*source, *limit, *level)),
        _ => None,
    };
    books.log.iter().filter_map(|record| warning(&record.event)).collect()
}

#[tokio::test]
async fn an_execution_without_accounts_never_looks_for_them() {
    let stage = Stage::new().await;
    let execution = stage.start(notes(3)).await;
    assert_eq!(run(&stage, execution).await.code(), StopCode::FinalAnswer);
    assert_eq!(stage.accounts.looks(), 0);
    set_project(&stage, NanoUsd(1_000_000_000)).await;
    let execution = stage.start(notes(3)).await;
    assert_eq!(run(&stage, execution).await.code(), StopCode::FinalAnswer);
    // The first call did not know of it; then each of the four looks.
    assert!(stage.accounts.looks() >= 4, "{} looks", stage.accounts.looks());
    stage.close().await;
}

#[tokio::test]
async fn an_account_that_is_used_up_stops_the_run_and_is_named() {
    let stage = Stage::new().await;
    let limit = NanoUsd(2 * reply().0 + PRICE.worst_case(250 + reserved_for_tools(), 20).0);
    let state = set_project(&stage, limit).await;
    let execution = stage.start(notes(20)).await;
    let books = run(&stage, execution).await;
    assert_eq!(books.code(), StopCode::CostLimit);
    let reason = books.execution.progress.stop_reason.clone().unwrap();
    assert_eq!(reason.limit.unwrap(), format!("project maxCostUsd {} a month", limit.to_usd_text()));
    assert!(reason.message.starts_with("Stopped by a budget account of the project: "), "{}", reason.message);
    assert!(books.asked.last().unwrap().output_cap < books.asked[0].output_cap, "the cap was lowered");
    assert_spent(&stage, &state, books.execution.progress.used.spent).await;
    // A fresh run has a shorter conversation, and may still fit; in the end none does.
    let mut asked = 1;
    for _ in 0..10 {
        let next = stage.start(notes(20)).await;
        let books = run(&stage, next).await;
        assert_eq!(books.code(), StopCode::CostLimit);
        asked = books.asked.len();
    }
    assert_eq!(asked, 0);
    assert!(now(&stage, &state).await.spent.cost <= limit);
    stage.close().await;
}

/// A commit of another worker that holds this much, and what it settles with.
struct Other {
    fence: Fence,
    call: domain::ids::ModelCallId,
}

impl Other {
    async fn hold(stage: &Stage, state: &AccountState, cost: NanoUsd) -> Self {
        let new = stage.new_execution(notes(0), Limits::default(), None);
        stage.ports.executions.start(&new).await.unwrap();
        let reference = new.execution.reference();
        stage.ports.executions.claim(reference, "other", Duration::from_secs(600)).await.unwrap().unwrap();
        let fence = stage.ports.executions.fence(reference).await.unwrap().unwrap();
        let call = stage.samples.model_call_id();
        let Execution { tenant_id, project_id, agent_id, .. } = new.execution;
        let hold = AccountReservation {
            call,
            subjects: AccountSubjects { tenant_id, project_id, agent_id },
            periods: vec![state.period()],
            amount: Amount { cost, tokens: 1 },
        };
        let commit = stage.samples.commit(fence, 1, vec![Change::ReserveAccounts(hold)]);
        stage.ports.executions.commit(&commit).await.unwrap();
        Self { fence: Fence { next_sequence: fence.next_sequence + 1, ..fence }, call }
    }

    async fn settle(self, stage: &Stage, cost: NanoUsd) {
        let settle = Change::SettleAccounts { call: self.call, used: Amount { cost, tokens: 1 } };
        let commit = stage.samples.commit(self.fence, 1, vec![settle]);
        stage.ports.executions.commit(&commit).await.unwrap();
    }
}

#[tokio::test]
async fn a_call_waits_for_others_to_settle_and_does_not_shrink() {
    let stage = Stage::new().await;
    let state = set_project(&stage, NanoUsd(10_000_000)).await;
    let other = Other::hold(&stage, &state, NanoUsd(9_990_000)).await;
    let execution = stage.start(notes(0)).await;
    let settle = async {
        while stage.accounts.looks() < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(stage.model.asked(execution.id).len(), 0);
        other.settle(&stage, NanoUsd(5)).await;
    };
    let (books, ()) = tokio::join!(run(&stage, execution), settle);
    assert_eq!((books.code(), books.asked[0].output_cap), (StopCode::FinalAnswer, 1000));
    assert_spent(&stage, &state, books.execution.progress.used.spent + NanoUsd(5)).await;
    stage.close().await;
}

#[tokio::test]
async fn a_call_that_has_waited_takes_what_is_free_if_that_is_useful() {
    let stage = Stage::new().await;
    let state = set_project(&stage, NanoUsd(10_000_000)).await;
    let first = Other::hold(&stage, &state, NanoUsd(9_000_000)).await;
    let execution = stage.start(notes(0)).await;
    let books = run(&stage, execution).await;
    let spent = books.execution.progress.used.spent;
    assert_eq!(books.code(), StopCode::FinalAnswer);
    assert!((16..1000).contains(&books.asked[0].output_cap), "{}", books.asked[0].output_cap);
    let second = Other::hold(&stage, &state, NanoUsd(800_000)).await;
    let execution = stage.start(notes(0)).await;
    let books = run(&stage, execution).await;
    assert_eq!((books.code(), books.asked.len()), (StopCode::CostLimit, 0));
    let message = books.execution.progress.stop_reason.clone().unwrap().message;
    assert!(message.contains("other calls hold too much of the rest"), "{message}");
    first.settle(&stage, NanoUsd(0)).await;
    second.settle(&stage, NanoUsd(0)).await;
    assert_spent(&stage, &state, spent).await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_side_by_side_take_turns_on_an_account_that_pays_one_call() {
    let stage = Stage::new().await;
    let state = set_project(&stage, NanoUsd(3_500_000)).await;
    let executions = [stage.start(notes(1)).await, stage.start(notes(1)).await, stage.start(notes(1)).await];
    let [a, b, c] = executions.map(|execution| run(&stage, execution));
    let (a, b, c) = tokio::join!(a, b, c);
    let all = [a, b, c];
    let spent: NanoUsd = all.iter().map(|books| books.execution.progress.used.spent).sum();
    assert_spent(&stage, &state, spent).await;
    // A call that was lost with its worker costs its worst case, and may leave too little for the others.
    let is_lost = |books: &Books| books.model_calls().any(|call| call.state == CallState::Lost);
    if !all.iter().any(is_lost) {
        assert!(all.iter().all(|books| books.code() == StopCode::FinalAnswer));
        assert_eq!(spent, NanoUsd(6 * reply().0));
    }
    stage.close().await;
}

/// Whatever becomes of the answer of a write, or of the worker, the account says what the calls say.
#[tokio::test(flavor = "multi_thread")]
async fn accounts_agree_with_the_calls_after_a_loss_at_every_write() {
    let stage = Stage::new().await;
    let state = set_project(&stage, NanoUsd(1_000_000_000)).await;
    let agent = stage.new_execution(Vec::new(), Limits::default(), None).execution.agent_id;
    let narrow = set(&stage, AccountOwner::Agent(agent), Period::None, NanoUsd(900_000_000)).await;
    let calm = stage.start(notes(2)).await;
    stage.store.set(&[]);
    let mut spent = run(&stage, calm).await.execution.progress.used.spent;
    let writes = stage.store.calls()["commit"];
    let mut lost = 0;
    for when in [When::Before, When::After, When::DownBefore, When::DownAfter] {
        for nth in 1..=writes {
            let execution = stage.start(notes(2)).await;
            let claimed = stage.claim(execution).await;
            stage.store.set(&[Failpoint { method: "commit", nth, when }]);
            stage.run(claimed).await;
            stage.store.set(&[]);
            stage.finish(execution).await;
            let books = Books::closed(&stage, execution).await;
            lost += books.model_calls().count() - 3;
            spent += books.execution.progress.used.spent;
            for state in [&state, &narrow] {
                assert_spent(&stage, state, spent).await;
            }
        }
    }
    assert!(lost > 3, "{lost} calls were lost");
    stage.close().await;
}

#[tokio::test]
async fn each_level_is_told_once() {
    let stage = Stage::new().await;
    let limit = NanoUsd(10 * reply().0);
    set_project(&stage, limit).await;
    let limits = Limits { max_cost: Some(limit), ..Limits::default() };
    let execution = stage.start_with(notes(20), limits).await;
    let books = run(&stage, execution).await;
    let (own, shared) = (BudgetSource::Execution, BudgetSource::Project);
    let expected = [(shared, 50), (own, 50), (shared, 80), (own, 80)];
    assert_eq!(warnings(&books), expected.map(|(source, level)| (source, Limit::Cost, level)));
    // Another run is told of the account at its first call, and of nothing of its own.
    let next = stage.start(notes(0)).await;
    let told = warnings(&run(&stage, next).await);
    assert!(told.iter().all(|(source, ..)| *source == shared), "{told:?}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_level_is_told_twice_after_a_loss() {
    let stage = Stage::new().await;
    let limit = NanoUsd(40 * reply().0);
    let agent = stage.new_execution(Vec::new(), Limits::default(), None).execution.agent_id;
    let mut told = 0;
    for nth in 3..=12 {
        // Alters the cap, so that each run crosses the levels of what the runs before have left.
        let spent = set(&stage, AccountOwner::Agent(agent), Period::Day, limit).await.spent.cost;
        set(&stage, AccountOwner::Agent(agent), Period::Day, spent + limit).await;
        let limits = Limits { max_cost: Some(limit), ..Limits::default() };
        let execution = stage.start_with(notes(12), limits).await;
        let claimed = stage.claim(execution).await;
        stage.store.set(&[Failpoint { method: "commit", nth, when: When::DownAfter }]);
        stage.run(claimed).await;
        stage.store.set(&[]);
        stage.finish(execution).await;
        let mut levels = warnings(&Books::closed(&stage, execution).await);
        let all = levels.len();
        levels.sort_by_key(|(source, limit, level)| (format!("{source:?}"), *limit, *level));
        levels.dedup();
        assert_eq!(levels.len(), all, "a level was told twice, lost behind write {nth}");
        told += all;
    }
    assert!(told > 0);
    stage.close().await;
}

/// A top-up lets a run go on, and counts once whoever applies it.
#[tokio::test(flavor = "multi_thread")]
async fn a_top_up_raises_the_limit_once() {
    let stage = Stage::new().await;
    let limit = NanoUsd(PRICE.worst_case(250, 20).0);
    let more = NanoUsd(100 * reply().0);
    stage.store.set(&[]);
    for nth in 1..=8 {
        let execution = stage.start_with(notes(4), Limits { max_cost: Some(limit), ..Limits::default() }).await;
        let top_up = TopUp {
            id: stage.samples.command_id(),
            target: TopUpTarget::Execution(execution.id),
            amount: Amount { cost: more, tokens: 0 },
            reason: "go on".to_owned(),
            by: stage.home.owner,
            at: stage.ports.clock.now(),
            idempotency_key: format!("key {nth}"),
            request_hash: "0".repeat(64),
        };
        let done = stage.stores.accounts.top_up(execution.scope(), &top_up).await.unwrap();
        assert_eq!(done, TopUpOutcome::Done);
        let claimed = stage.claim(execution).await;
        let when = if nth % 2 == 0 { When::DownAfter } else { When::After };
        stage.store.set(&[Failpoint { method: "commit", nth, when }]);
        stage.run(claimed).await;
        stage.store.set(&[]);
        stage.finish(execution).await;
        let books = Books::closed(&stage, execution).await;
        assert_eq!((books.code(), books.execution.limits.max_cost), (StopCode::FinalAnswer, Some(limit + more)));
        let told = books.log.iter().filter(|record| matches!(record.event, Event::BudgetToppedUp { .. })).count();
        assert_eq!(told, 1);
    }
    stage.close().await;
}
