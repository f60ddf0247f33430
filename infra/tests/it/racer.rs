//! A racer is one process's share of a case: its own executions, each with model calls that hold on the tenant's
//! accounts as the agent loop does. Two racers meet only in the database.

use std::time::Duration;

use domain::budget::{
    self, AccountReservation, AccountState, AccountSubjects, Amount, Budget, Estimate, ModelCallReservation, Patience,
    Refused,
};
use domain::clock::Timestamp;
use domain::error::StoreError;
use domain::execution::{Change, Commit, Execution, Fence};
use domain::ids::ModelCallId;
use domain::money::{NanoUsd, Price, TokenUsage};
use domain::testing::{Home, Ports, Samples};
use infra::sql::SqlStore;
use tokio_util::task::TaskTracker;

use crate::random::Random;
use crate::world::ports;

const AT: Timestamp = Timestamp::from_micros(1);
const LONG: Duration = Duration::from_secs(600);

/// A dollar a million tokens: a token costs 1000 nano-USD.
pub const PRICE: Price = Price {
    input_per_million: NanoUsd(1_000_000_000),
    cached_input_per_million: NanoUsd(1_000_000_000),
    output_per_million: NanoUsd(1_000_000_000),
    reasoning_per_million: None,
};

/// How providers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Providers {
    /// Never more than was reserved, and now and then a call fails or its worker is lost.
    Honest,
    /// As that, and now and then more than was reserved.
    Careless,
    /// Every call uses exactly this many tokens.
    Exact(u64),
}

/// What one racer did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub admitted: u64,
    pub used_up: u64,
    pub busy: u64,
    pub outrun: u64,
    pub spent: i64,
}

impl Tally {
    pub fn plus(self, other: Self) -> Self {
        Self {
            admitted: self.admitted + other.admitted,
            used_up: self.used_up + other.used_up,
            busy: self.busy + other.busy,
            outrun: self.outrun + other.outrun,
            spent: self.spent + other.spent,
        }
    }

    pub fn to_line(self) -> String {
        let Self { admitted, used_up, busy, outrun, spent } = self;
        format!("RACE {admitted} {used_up} {busy} {outrun} {spent}")
    }

    pub fn from_line(line: &str) -> Option<Self> {
        let numbers: Vec<i64> = line.strip_prefix("RACE ")?.split(' ').map(|number| number.parse().unwrap()).collect();
        let count = |index: usize| u64::try_from(numbers[index]).unwrap();
        Some(Self { admitted: count(0), used_up: count(1), busy: count(2), outrun: count(3), spent: numbers[4] })
    }
}

/// What a racer is to do.
#[derive(Debug, Clone)]
pub struct Orders {
    pub home: Home,
    /// Of its random numbers and its ids; no two racers have the same.
    pub seed: u64,
    pub executions: usize,
    pub calls: usize,
    pub providers: Providers,
    /// None for random sizes.
    pub estimate: Option<Estimate>,
}

/// Runs the executions side by side.
pub async fn race(store: &SqlStore, orders: &Orders) -> Tally {
    let tasks = TaskTracker::new();
    let runners: Vec<_> = (0..orders.executions)
        .map(|index| {
            let (ports, orders) = (ports(store), orders.clone());
            tasks.spawn(async move { Runner::start(ports, orders, index as u64).await.run().await })
        })
        .collect();
    let mut sum = Tally::default();
    for runner in runners {
        sum = sum.plus(runner.await.unwrap());
    }
    sum
}

struct Runner {
    ports: Ports,
    orders: Orders,
    samples: Samples,
    random: Random,
    execution: Execution,
    fence: Fence,
    tally: Tally,
}

impl Runner {
    async fn start(ports: Ports, orders: Orders, index: u64) -> Self {
        let samples = Samples::new(1 + orders.seed * 1000 + index);
        let new = samples.new_execution(&orders.home, AT);
        ports.executions.start(&new).await.unwrap();
        let random = Random::new(orders.seed * 1000 + index);
        let fence = Fence { execution: new.execution.reference(), epoch: 0, next_sequence: 2 };
        let mut runner =
            Self { ports, orders, samples, random, execution: new.execution, fence, tally: Tally::default() };
        runner.claim().await;
        runner
    }

    /// With a lease that is over at once, so that the next claim is free to come.
    async fn claim(&mut self) {
        let lease = if self.orders.providers == Providers::Careless { Duration::ZERO } else { LONG };
        self.ports.executions.claim(self.fence.execution, "w", lease).await.unwrap().unwrap();
        self.fence.epoch += 1;
    }

    async fn run(mut self) -> Tally {
        for _ in 0..self.orders.calls {
            if let Some((call, reservation)) = self.hold().await {
                self.tally.admitted += 1;
                self.check(&reservation).await;
                self.end(call, &reservation).await;
            }
        }
        self.tally
    }

    async fn look(&self) -> Vec<AccountState> {
        let Execution { tenant_id, project_id, agent_id, .. } = self.execution;
        let subjects = AccountSubjects { tenant_id, project_id, agent_id };
        self.ports.accounts.applying(self.fence.execution, subjects).await.unwrap()
    }

    /// Tries until it is admitted or the account is used up, whatever others settle.
    async fn hold(&mut self) -> Option<(ModelCallId, ModelCallReservation)> {
        let size = || Estimate { input_tokens: 0, output_cap: 0, price: Some(PRICE) };
        let estimate = self.orders.estimate.unwrap_or_else(|| Estimate {
            input_tokens: self.random.next() % 200,
            output_cap: 1 + self.random.next() % 300,
            ..size()
        });
        loop {
            let accounts = self.look().await;
            let mut budget = Budget::default();
            let reservation = match budget::reserve(&mut budget, &accounts, estimate, Patience::Waits) {
                Ok(reservation) => reservation,
                Err(Refused::Busy(_)) => {
                    self.tally.busy += 1;
                    tokio::time::sleep(Duration::from_micros(500 + self.random.next() % 2000)).await;
                    continue;
                }
                Err(Refused::Account(_)) => {
                    self.tally.used_up += 1;
                    return None;
                }
                Err(other) => panic!("{other:?}"),
            };
            let call = self.samples.model_call_id();
            let Execution { tenant_id, project_id, agent_id, .. } = self.execution;
            let subjects = AccountSubjects { tenant_id, project_id, agent_id };
            let periods = accounts.iter().map(AccountState::period).collect();
            let hold = AccountReservation { call, subjects, periods, amount: reservation.amount() };
            match self.commit(Change::ReserveAccounts(hold)).await {
                Ok(()) => return Some((call, reservation)),
                Err(StoreError::AccountRefused) => self.tally.outrun += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// While it holds, it is one of those who are paid for. With honest providers nobody sees an account that is over.
    async fn check(&self, reservation: &ModelCallReservation) {
        for state in self.look().await {
            assert!(state.reserved.cost >= reservation.cost, "{state:?}");
            let taken = state.spent.plus(state.reserved);
            let is_within = state.caps.max_cost.is_none_or(|most| taken.cost <= most)
                && state.caps.max_tokens.is_none_or(|most| taken.tokens <= most);
            assert!(is_within || self.orders.providers == Providers::Careless, "over an account: {state:?}");
            if self.orders.estimate.is_some() {
                assert_eq!(state.reserved, reservation.amount(), "two calls at one time");
            }
        }
    }

    async fn end(&mut self, call: ModelCallId, reservation: &ModelCallReservation) {
        let (input, output) = (reservation.input_tokens, reservation.output_cap);
        let usage = |input, output| TokenUsage { input, output, ..TokenUsage::default() };
        let providers = self.orders.providers;
        let used = match (providers, self.random.below(5)) {
            (Providers::Exact(tokens), _) => usage(tokens, 0),
            (Providers::Honest | Providers::Careless, 0) => TokenUsage::default(),
            (Providers::Careless, 1) => usage(input * 2, output * 2),
            (Providers::Careless, 2) => return self.lose(call, reservation).await,
            (Providers::Honest | Providers::Careless, _) => usage(input, self.random.next() % (output + 1)),
        };
        let used = Amount { cost: PRICE.cost(&used), tokens: used.total() };
        self.tally.spent += used.cost.0;
        self.commit(Change::SettleAccounts { call, used }).await.unwrap();
    }

    /// The worker is lost: the next claim settles at the worst case, and the late settlement of the old one is refused.
    async fn lose(&mut self, call: ModelCallId, reservation: &ModelCallReservation) {
        let stale = self.fence;
        self.claim().await;
        let late = Change::SettleAccounts { call, used: Amount::default() };
        let late = self.ports.executions.commit(&self.samples.commit(stale, 1, vec![late])).await;
        assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
        self.tally.spent += reservation.cost.0;
        self.commit(Change::SettleAccounts { call, used: reservation.amount() }).await.unwrap();
    }

    async fn commit(&mut self, change: Change) -> Result<(), StoreError> {
        let commit: Commit = self.samples.commit(self.fence, 1, vec![change]);
        self.ports.executions.commit(&commit).await?;
        self.fence.next_sequence += 1;
        Ok(())
    }
}
