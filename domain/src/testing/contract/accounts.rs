//! Budget accounts: holds, settlements, periods, and what people do to them.

use std::time::Duration;

use super::assert_lease_lost;
use crate::budget::{
    AccountChange, AccountOwner, AccountPeriod, AccountReservation, AccountState, AccountSubjects, Amount,
    BudgetAccount, Caps, Period, TopUp, TopUpOutcome, TopUpTarget, Warned, WarningLevels,
};
use crate::error::StoreError;
use crate::execution::{Change, Execution, ExecutionRef, Fence};
use crate::ids::ModelCallId;
use crate::money::NanoUsd;
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

const LONG: Duration = Duration::from_secs(600);
const DOLLAR: i64 = 1_000_000_000;

/// A claimed execution and how it is fenced.
struct Runner {
    execution: Execution,
    fence: Fence,
}

impl Runner {
    async fn new(ports: &Ports, samples: &Samples, home: &Home) -> Self {
        let new = samples.new_execution(home, AT);
        ports.executions.start(&new).await.unwrap();
        let reference = new.execution.reference();
        ports.executions.claim(reference, "w", LONG).await.unwrap().unwrap();
        let fence = ports.executions.fence(reference).await.unwrap().unwrap();
        Self { execution: new.execution, fence }
    }

    fn reference(&self) -> ExecutionRef {
        self.execution.reference()
    }

    fn subjects(&self) -> AccountSubjects {
        let Execution { tenant_id, project_id, agent_id, .. } = self.execution;
        AccountSubjects { tenant_id, project_id, agent_id }
    }

    async fn accounts(&self, ports: &Ports) -> Vec<AccountState> {
        ports.accounts.applying(self.reference(), self.subjects()).await.unwrap()
    }

    /// Holds on the accounts as they stand.
    async fn hold(&mut self, ports: &Ports, samples: &Samples, amount: Amount) -> Result<ModelCallId, StoreError> {
        let periods = self.accounts(ports).await.iter().map(AccountState::period).collect();
        self.hold_on(ports, samples, amount, periods).await
    }

    async fn hold_on(
        &mut self,
        ports: &Ports,
        samples: &Samples,
        amount: Amount,
        periods: Vec<AccountPeriod>,
    ) -> Result<ModelCallId, StoreError> {
        let call = samples.model_call_id();
        let hold = AccountReservation { call, subjects: self.subjects(), periods, amount };
        let changes = vec![Change::SaveIteration(samples.iteration(1, AT)), Change::ReserveAccounts(hold)];
        ports.executions.commit(&samples.commit(self.fence, 1, changes)).await?;
        self.fence.next_sequence += 1;
        Ok(call)
    }

    async fn commit(&mut self, ports: &Ports, samples: &Samples, change: Change) {
        ports.executions.commit(&samples.commit(self.fence, 1, vec![change])).await.unwrap();
        self.fence.next_sequence += 1;
    }

    async fn settle(&mut self, ports: &Ports, samples: &Samples, call: ModelCallId, used: Amount) {
        self.commit(ports, samples, Change::SettleAccounts { call, used }).await;
    }
}

fn dollars(tenths: i64) -> Amount {
    Amount { cost: NanoUsd(tenths * DOLLAR / 10), tokens: 10 }
}

fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    assert!(matches!(outcome, Err(StoreError::AccountRefused)), "{outcome:?}");
}

async fn set(
    ports: &Ports,
    samples: &Samples,
    home: &Home,
    (owner, period): (AccountOwner, Period),
    cap: Option<i64>,
) -> AccountState {
    let account = BudgetAccount {
        id: samples.account_id(),
        tenant_id: home.tenant.id,
        owner,
        period,
        caps: Caps { max_cost: cap.map(|tenths| dollars(tenths).cost), max_tokens: None },
        warning_levels: WarningLevels::new(vec![90, 10]),
        created_at: AT,
    };
    let change = AccountChange { account, by: home.owner, at: AT, reason: "für März".to_owned() };
    ports.accounts.set(&change).await.unwrap()
}

/// What does not fit beside what is spent and held is refused as a whole; a settlement makes room.
pub async fn a_hold_takes_what_fits_and_nothing_else(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::None), Some(10)).await;
    let (mut first, mut second) =
        (Runner::new(ports, &samples, &home).await, Runner::new(ports, &samples, &home).await);
    let call = first.hold(ports, &samples, dollars(6)).await.unwrap();
    assert_refused(second.hold(ports, &samples, dollars(6)).await);
    assert_eq!(ports.executions.fence(second.reference()).await.unwrap(), Some(second.fence));
    assert_eq!(ports.reader.transcript(second.reference()).await.unwrap(), []);
    let second_call = second.hold(ports, &samples, dollars(4)).await.unwrap();
    assert_refused(first.hold(ports, &samples, Amount { cost: NanoUsd(1), tokens: 0 }).await);
    let state = second.accounts(ports).await.pop().unwrap();
    assert_eq!(
        (state.spent.cost, state.reserved),
        (NanoUsd(0), dollars(10).plus(Amount { tokens: 10, ..Amount::default() }))
    );
    first.settle(ports, &samples, call, dollars(1)).await;
    second.settle(ports, &samples, second_call, dollars(5)).await;
    let state = second.accounts(ports).await.pop().unwrap();
    assert_eq!((state.spent.cost, state.reserved), (dollars(6).cost, Amount::default()));
    assert_eq!(state.remaining().max_cost, Some(dollars(4).cost));
    first.hold(ports, &samples, dollars(4)).await.unwrap();
}

/// A settlement is taken once, and a call that holds nothing changes nothing.
pub async fn a_call_is_settled_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    set(ports, &samples, &home, (AccountOwner::Project(home.project.id), Period::Day), Some(10)).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    let call = runner.hold(ports, &samples, dollars(6)).await.unwrap();
    for _ in 0..2 {
        runner.settle(ports, &samples, call, dollars(20)).await;
    }
    runner.settle(ports, &samples, samples.model_call_id(), dollars(3)).await;
    let state = runner.accounts(ports).await.pop().unwrap();
    assert_eq!((state.spent, state.reserved), (Amount { tokens: 10, ..dollars(20) }, Amount::default()));
    assert_refused(runner.hold(ports, &samples, dollars(0)).await);
}

/// Every account that applies is held, or the commit is refused: also one that was made a moment ago.
pub async fn a_hold_covers_every_account_that_applies(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    runner.hold_on(ports, &samples, dollars(1), Vec::new()).await.unwrap();
    let agent = runner.execution.agent_id;
    set(ports, &samples, &home, (AccountOwner::Agent(samples.resource_id()), Period::None), Some(1)).await;
    runner.hold_on(ports, &samples, dollars(1), Vec::new()).await.unwrap();
    for owner in
        [AccountOwner::Tenant(home.tenant.id), AccountOwner::Agent(agent), AccountOwner::Project(home.project.id)]
    {
        set(ports, &samples, &home, (owner, Period::Month), Some(10)).await;
        assert_refused(runner.hold_on(ports, &samples, dollars(1), Vec::new()).await);
    }
    let ranks = |states: &[AccountState]| states.iter().map(|state| state.account.owner).collect::<Vec<_>>();
    let seen = runner.accounts(ports).await;
    let order =
        [AccountOwner::Agent(agent), AccountOwner::Project(home.project.id), AccountOwner::Tenant(home.tenant.id)];
    assert_eq!(ranks(&seen), order);
    let mut some: Vec<_> = seen.iter().map(AccountState::period).collect();
    some.pop();
    assert_refused(runner.hold_on(ports, &samples, dollars(1), some).await);
    runner.hold(ports, &samples, dollars(1)).await.unwrap();
}

/// When one account of several has no room, none is held.
pub async fn accounts_are_held_together_or_not_at_all(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    set(ports, &samples, &home, (AccountOwner::Agent(runner.execution.agent_id), Period::Day), Some(9)).await;
    set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::Month), Some(5)).await;
    assert_refused(runner.hold(ports, &samples, dollars(6)).await);
    assert!(runner.accounts(ports).await.iter().all(|state| state.reserved == Amount::default()));
    let call = runner.hold(ports, &samples, dollars(5)).await.unwrap();
    assert!(runner.accounts(ports).await.iter().all(|state| state.reserved == dollars(5)));
    runner.settle(ports, &samples, call, dollars(2)).await;
    assert!(runner.accounts(ports).await.iter().all(|state| state.spent == dollars(2)));
}

/// A stale worker is told so, whatever the accounts say.
pub async fn a_stale_hold_is_a_lost_lease(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::None), Some(0)).await;
    runner.fence.epoch -= 1;
    assert_lease_lost(runner.hold_on(ports, &samples, dollars(1), Vec::new()).await);
    assert_lease_lost(runner.hold(ports, &samples, dollars(1)).await);
    runner.fence.epoch += 1;
    assert_refused(runner.hold(ports, &samples, dollars(1)).await);
    let mut end = samples.commit(runner.fence, 1, Vec::new());
    end.progress = Some(samples.ended(AT));
    ports.executions.commit(&end).await.unwrap();
    runner.fence.next_sequence += 1;
    assert_lease_lost(runner.hold_on(ports, &samples, dollars(1), Vec::new()).await);
}

/// The store's clock says which period runs. A hold in one that is over is refused; one that was taken in it is settled
/// in it.
pub async fn a_period_begins_anew_and_keeps_its_holds(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::Day), Some(10)).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    let today = runner.accounts(ports).await.pop().unwrap();
    assert!(today.starts_at <= ports.clock.now() && ports.clock.now() < today.ends_at.unwrap());
    let over = AccountPeriod { ends_at: Some(today.starts_at), ..today.period() };
    assert_refused(runner.hold_on(ports, &samples, dollars(1), vec![over]).await);
    // As if the call had started a moment before midnight.
    let yesterday = AccountPeriod { starts_at: AT, ends_at: None, ..today.period() };
    let call = runner.hold_on(ports, &samples, dollars(10), vec![yesterday]).await.unwrap();
    assert_eq!(runner.accounts(ports).await.pop().unwrap().reserved, Amount::default());
    assert_refused(runner.hold_on(ports, &samples, dollars(1), vec![yesterday]).await);
    runner.settle(ports, &samples, call, dollars(9)).await;
    assert_eq!(runner.accounts(ports).await.pop().unwrap().spent, Amount::default());
    runner.hold_on(ports, &samples, dollars(1), vec![yesterday]).await.unwrap();
    runner.hold(ports, &samples, dollars(10)).await.unwrap();
}

/// An owner has one account a period; setting it again alters it and keeps what was used.
pub async fn an_account_is_altered_in_place(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let owner = AccountOwner::Project(home.project.id);
    let first = set(ports, &samples, &home, (owner, Period::Day), Some(10)).await;
    let mut runner = Runner::new(ports, &samples, &home).await;
    let call = runner.hold(ports, &samples, dollars(8)).await.unwrap();
    runner.settle(ports, &samples, call, dollars(8)).await;
    let lower = set(ports, &samples, &home, (owner, Period::Day), Some(5)).await;
    assert_eq!(
        (lower.account.id, lower.spent, lower.caps.max_cost),
        (first.account.id, dollars(8), Some(dollars(5).cost))
    );
    assert_eq!(lower.account.warning_levels.percentages(), [10, 90]);
    assert_refused(runner.hold(ports, &samples, dollars(0)).await);
    let open = set(ports, &samples, &home, (owner, Period::Day), None).await;
    assert_eq!(open.caps, Caps::default());
    runner.hold(ports, &samples, dollars(1_000_000)).await.unwrap();
    set(ports, &samples, &home, (owner, Period::Month), Some(1)).await;
    let all = ports.accounts.accounts(home.scope(), None).await.unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(ports.accounts.accounts(home.scope(), Some(&[owner])).await.unwrap(), all);
    assert_eq!(ports.accounts.account(home.scope(), all[1].account.id).await.unwrap(), Some(all[1].clone()));
}

/// A top-up counts in the running period, and once for each key.
pub async fn a_top_up_happens_once(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let account =
        set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::Day), Some(1)).await.account;
    let top_up = |key: &str, hash: &str| TopUp {
        id: samples.command_id(),
        target: TopUpTarget::Account(account.id),
        amount: Amount { cost: dollars(2).cost, tokens: 0 },
        reason: "Löhne".to_owned(),
        by: home.owner,
        at: AT,
        idempotency_key: key.to_owned(),
        request_hash: hash.repeat(64),
    };
    let (scope, accounts) = (home.scope(), &ports.accounts);
    assert_eq!(accounts.top_up(scope, &top_up("k", "a")).await.unwrap(), TopUpOutcome::Done);
    assert_eq!(accounts.top_up(scope, &top_up("k", "a")).await.unwrap(), TopUpOutcome::Replayed);
    assert_eq!(accounts.top_up(scope, &top_up("k", "b")).await.unwrap(), TopUpOutcome::KeyReused);
    let state = accounts.account(scope, account.id).await.unwrap().unwrap();
    assert_eq!((state.caps.max_cost, state.account.caps.max_cost), (Some(dollars(3).cost), Some(dollars(1).cost)));
    let mut runner = Runner::new(ports, &samples, &home).await;
    assert_refused(runner.hold(ports, &samples, dollars(4)).await);
    runner.hold(ports, &samples, dollars(3)).await.unwrap();
    assert_eq!(accounts.top_up(scope, &top_up("K", "a")).await.unwrap(), TopUpOutcome::Done);
    runner.hold(ports, &samples, dollars(2)).await.unwrap();
}

/// What an execution was told is kept for it alone, and for the period.
pub async fn warnings_are_remembered(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let state = set(ports, &samples, &home, (AccountOwner::Tenant(home.tenant.id), Period::Day), Some(1)).await;
    let (mut told, other) = (Runner::new(ports, &samples, &home).await, Runner::new(ports, &samples, &home).await);
    for (level, starts_at) in [(10, state.starts_at), (90, state.starts_at), (95, AT)] {
        let warned = Warned { cost: level, tokens: 0 };
        told.commit(ports, &samples, Change::NoteWarned { account: state.account.id, starts_at, warned }).await;
    }
    assert_eq!(told.accounts(ports).await[0].warned, Warned { cost: 90, tokens: 0 });
    assert_eq!(other.accounts(ports).await[0].warned, Warned::default());
}

/// Nothing crosses a tenant.
pub async fn a_foreign_tenant_sees_no_accounts(ports: &Ports) {
    let (samples, others) = (Samples::new(1), Samples::new(2));
    let (home, foreign) = (samples.home(ports).await, others.home(ports).await);
    let state = set(ports, &samples, &home, (AccountOwner::Project(home.project.id), Period::None), Some(0)).await;
    assert_eq!(ports.accounts.account(foreign.scope(), state.account.id).await.unwrap(), None);
    assert_eq!(ports.accounts.accounts(foreign.scope(), None).await.unwrap(), []);
    let mut runner = Runner::new(ports, &others, &foreign).await;
    runner.hold_on(ports, &others, dollars(1), Vec::new()).await.unwrap();
    let owner = AccountOwner::Project(home.project.id);
    assert_eq!(ports.accounts.accounts(foreign.scope(), Some(&[owner])).await.unwrap(), []);
}
