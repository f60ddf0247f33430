//! Costs over random histories: every sum that the store gives is the sum of the stored calls, to the last digit, and a
//! recount by the price that a call was settled with is what it cost.
//!
//! Each failure names its seed; built with `VITRINE_COST_SEED=7`, the test plays that history alone.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::clock::Timestamp;
use domain::cost::{CostBy, CostFilter, CostKey, CostTotals, recount};
use domain::ctx::PageRequest;
use domain::execution::{AgentIteration, Change, ExecutionRef, Fence};
use domain::ids::{PriceVersionId, ProjectId, ResourceId};
use domain::model_call::{CallState, ModelCall};
use domain::money::{NanoUsd, Price, TokenUsage};
use domain::price_table::ModelName;
use domain::testing::{Home, Samples};

use crate::random::Random;
use crate::world::World;

const HISTORIES: u64 = 30;
const DAY_US: u64 = 86_400_000_000;
/// 2026-01-01T00:00:00Z
const START_US: i64 = 1_767_225_600_000_000;

/// A stored call, as this test remembers it.
struct Written {
    execution: ExecutionRef,
    project: ProjectId,
    agent: ResourceId,
    call: ModelCall,
}

struct History {
    seed: u64,
    home: Home,
    calls: Vec<Written>,
}

fn seeds() -> Vec<u64> {
    match option_env!("VITRINE_COST_SEED") {
        Some(seed) => vec![seed.parse().expect("VITRINE_COST_SEED is a number")],
        None => (0..HISTORIES).collect(),
    }
}

fn price(random: &mut Random) -> Price {
    let mut amount = || {
        let digits = random.below(13);
        NanoUsd(i64::try_from(random.next() % 10_u64.pow(u32::try_from(digits).unwrap())).unwrap())
    };
    let (input, cached, output, reasoning) = (amount(), amount(), amount(), amount());
    Price {
        input_per_million: input,
        cached_input_per_million: cached,
        output_per_million: output,
        reasoning_per_million: random.one_in(3).then_some(reasoning),
    }
}

fn usage(random: &mut Random) -> TokenUsage {
    let mut tokens = |most: usize| random.below(most + 1) as u64;
    let (input, output) = (tokens(200_000), tokens(20_000));
    let (cached, reasoning) = (tokens(300_000), tokens(30_000));
    // Cached and reasoning tokens beyond their whole do come from providers.
    TokenUsage { input, cached_input: cached, output, reasoning }
}

/// A call as the loop would settle it: the price in force by then, whole or estimated usage, lost at its worst case.
fn call(random: &mut Random, samples: &Samples, prices: &[(PriceVersionId, Price)], iteration: u32) -> ModelCall {
    let at = Timestamp::from_micros(START_US).plus(Duration::from_micros(random.next() % (5 * DAY_US)));
    let version = (!random.one_in(6)).then(|| prices[random.below(prices.len())]);
    let states = [
        CallState::Settled,
        CallState::Settled,
        CallState::Failed,
        CallState::Cancelled,
        CallState::Lost,
        CallState::Started,
    ];
    let state = states[random.below(states.len())];
    let usage = if state == CallState::Failed && random.one_in(2) { TokenUsage::default() } else { usage(random) };
    let price = version.map(|(_, price)| price);
    let cost = match (state, price) {
        (CallState::Started, _) | (_, None) => NanoUsd::ZERO,
        (CallState::Lost, Some(price)) => price.worst_case(usage.input, usage.output),
        (_, Some(price)) => price.cost(&usage),
    };
    let name = |random: &mut Random, names: &[&str]| names[random.below(names.len())].to_owned();
    ModelCall {
        state,
        provider: name(random, &["openai", "OpenAI", "openai ", "é"]),
        deployment: name(random, &["gpt-9", "gpt-9-mini"]),
        price_version: version.map(|(id, _)| id),
        price,
        usage,
        cost,
        estimated: state == CallState::Lost || random.one_in(4),
        ..samples.model_call(iteration, 1, at)
    }
}

async fn history(world: &World, samples: &Samples, seed: u64) -> History {
    let mut random = Random::new(seed);
    let home = samples.home(&world.ports).await;
    let agents = [samples.resource_id(), samples.resource_id(), samples.resource_id()];
    let prices: Vec<_> = (0..4).map(|_| (samples.price_version_id(), price(&mut random))).collect();
    let mut calls = Vec::new();
    for _ in 0..=random.below(5) {
        let mut new = samples.new_execution(&home, Timestamp::from_micros(START_US));
        new.execution.agent_id = agents[random.below(agents.len())];
        world.ports.executions.start(&new).await.unwrap();
        let execution = new.execution.reference();
        world.ports.executions.claim(execution, "w", Duration::from_secs(600)).await.unwrap().unwrap();
        let mut changes = Vec::new();
        for number in 1..=u32::try_from(random.below(10)).unwrap() {
            let started_at = Timestamp::from_micros(START_US);
            let iteration = AgentIteration { number, agent_state_ref: None, started_at, ended_at: None };
            changes.push(Change::SaveIteration(iteration));
            let call = call(&mut random, samples, &prices, number);
            changes.push(Change::SaveModelCall(Box::new(call.clone())));
            calls.push(Written { execution, project: home.project.id, agent: new.execution.agent_id, call });
        }
        let fence = Fence { execution, epoch: 1, next_sequence: 2 };
        world.ports.executions.commit(&samples.commit(fence, 1, changes)).await.unwrap();
    }
    History { seed, home, calls }
}

/// The test's own sum, in wider numbers and without the product's help.
#[derive(Default, PartialEq, Eq, Debug)]
struct Sum {
    calls: u64,
    estimated_calls: u64,
    unpriced_calls: u64,
    tokens: [u128; 4],
    cost: i128,
    estimated_cost: i128,
}

impl Sum {
    fn of<'a>(calls: impl Iterator<Item = &'a Written>) -> Self {
        let mut sum = Self::default();
        for Written { call, .. } in calls.filter(|written| written.call.state != CallState::Started) {
            sum.calls += 1;
            sum.unpriced_calls += u64::from(call.price.is_none());
            sum.cost += i128::from(call.cost.0);
            if call.estimated {
                sum.estimated_calls += 1;
                sum.estimated_cost += i128::from(call.cost.0);
            }
            let TokenUsage { input, cached_input, output, reasoning } = call.usage;
            for (total, tokens) in sum.tokens.iter_mut().zip([input, cached_input, output, reasoning]) {
                *total += u128::from(tokens);
            }
        }
        sum
    }
}

impl From<CostTotals> for Sum {
    fn from(totals: CostTotals) -> Self {
        let TokenUsage { input, cached_input, output, reasoning } = totals.usage;
        Self {
            calls: totals.calls,
            estimated_calls: totals.estimated_calls,
            unpriced_calls: totals.unpriced_calls,
            tokens: [input, cached_input, output, reasoning].map(u128::from),
            cost: totals.cost.0.into(),
            estimated_cost: totals.estimated_cost.0.into(),
        }
    }
}

fn key(by: CostBy, written: &Written) -> CostKey {
    match by {
        CostBy::Model => CostKey::Model(ModelName {
            provider: written.call.provider.clone(),
            deployment: written.call.deployment.clone(),
        }),
        CostBy::Agent => CostKey::Agent(written.agent),
        CostBy::Day => {
            let day = i64::try_from(DAY_US).unwrap();
            CostKey::Day(Timestamp::from_micros(written.call.started_at.as_micros().div_euclid(day) * day))
        }
    }
}

async fn assert_summaries(world: &World, history: &History, filter: &CostFilter) {
    let is_in = |written: &&Written| {
        let at = written.call.started_at;
        written.project == filter.project_id
            && filter.from.is_none_or(|from| at >= from)
            && filter.to.is_none_or(|to| at < to)
            && written.call.state != CallState::Started
    };
    let scope = history.home.scope();
    let totals = world.ports.costs.cost_totals(scope, filter).await.unwrap();
    let seed = history.seed;
    assert_eq!(Sum::from(totals), Sum::of(history.calls.iter().filter(is_in)), "seed {seed}");
    for by in [CostBy::Model, CostBy::Agent, CostBy::Day] {
        let mut expected: BTreeMap<CostKey, Vec<&Written>> = BTreeMap::new();
        for written in history.calls.iter().filter(is_in) {
            expected.entry(key(by, written)).or_default().push(written);
        }
        let expected: BTreeMap<_, _> =
            expected.into_iter().map(|(key, calls)| (key, Sum::of(calls.into_iter()))).collect();
        let request = PageRequest { first: 100, after: None };
        let page = world.ports.costs.cost_lines(scope, filter, by, request).await.unwrap();
        let count = page.rows.len();
        let found: BTreeMap<_, _> = page.rows.into_iter().map(|(_, line)| (line.key, Sum::from(line.totals))).collect();
        assert_eq!((found.len(), &found), (count, &expected), "seed {seed}, {by:?}");
    }
}

async fn assert_executions(world: &World, history: &History) {
    let mut executions: Vec<_> = history.calls.iter().map(|written| written.execution).collect();
    executions.dedup();
    let seed = history.seed;
    for execution in executions {
        let own = || history.calls.iter().filter(move |written| written.execution == execution);
        let totals = world.ports.costs.execution_cost(execution).await.unwrap();
        assert_eq!(Sum::from(totals), Sum::of(own()), "seed {seed}");
        let stored = world.ports.costs.priced_calls(execution).await.unwrap();
        for call in &stored {
            let Some((_, price)) = call.price else { continue };
            let again = recount(std::slice::from_ref(call), &price);
            assert_eq!((again.recounted(), again.stored()), (call.cost, call.cost), "seed {seed}, {call:?}");
        }
        // By another version each call is counted as it was settled, and what is stored stays.
        let Some((_, other)) = stored.iter().find_map(|call| call.price) else { continue };
        let expected: i128 = own()
            .filter(|written| written.call.state != CallState::Started)
            .map(|Written { call, .. }| i128::from(independent_cost(&other, call).0))
            .sum();
        assert_eq!(i128::from(recount(&stored, &other).recounted().0), expected, "seed {seed}");
        assert_eq!(world.ports.costs.priced_calls(execution).await.unwrap(), stored, "seed {seed}");
    }
}

/// Cost by the rule as it is written down: parts times prices, divided once; half to even, or up when it was lost.
fn independent_cost(price: &Price, call: &ModelCall) -> NanoUsd {
    let TokenUsage { input, cached_input, output, reasoning } = call.usage;
    let (input, output) = (i128::from(input), i128::from(output));
    let reasoning_price = price.reasoning_per_million.unwrap_or(price.output_per_million);
    let times = |tokens: i128, price: NanoUsd| tokens * i128::from(price.0);
    if call.state == CallState::Lost {
        let most = times(input, price.input_per_million.max(price.cached_input_per_million))
            + times(output, price.output_per_million.max(reasoning_price));
        return NanoUsd(i64::try_from((most + 999_999) / 1_000_000).unwrap());
    }
    let (cached, thought) = (input.min(cached_input.into()), output.min(reasoning.into()));
    let exact = times(input - cached, price.input_per_million)
        + times(cached, price.cached_input_per_million)
        + times(output - thought, price.output_per_million)
        + times(thought, reasoning_price);
    let (down, rest) = (exact / 1_000_000, exact % 1_000_000);
    let up = rest > 500_000 || (rest == 500_000 && down % 2 != 0);
    NanoUsd(i64::try_from(down + i128::from(up)).unwrap())
}

async fn costs_are_the_sums_of_the_stored_calls(world: World) {
    let samples = Samples::new(7);
    let mut written = 0;
    for seed in seeds() {
        let history = history(&world, &samples, seed).await;
        written += history.calls.len();
        let project_id = history.home.project.id;
        assert_summaries(&world, &history, &CostFilter { project_id, from: None, to: None }).await;
        let mut random = Random::new(seed ^ 0xda7e);
        for _ in 0..3 {
            let mut moment =
                || Timestamp::from_micros(START_US).plus(Duration::from_micros(random.next() % (5 * DAY_US)));
            let (a, b) = (moment(), moment());
            let filter = CostFilter { project_id, from: Some(a.min(b)), to: Some(a.max(b)) };
            assert_summaries(&world, &history, &filter).await;
        }
        assert_executions(&world, &history).await;
    }
    assert!(written > 0 && (written > 200 || seeds().len() == 1), "{written} calls are too few to show anything");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn costs_are_the_sums_of_the_stored_calls_on_sqlite() {
    costs_are_the_sums_of_the_stored_calls(World::sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn costs_are_the_sums_of_the_stored_calls_on_mariadb() {
    costs_are_the_sums_of_the_stored_calls(World::mariadb().await).await;
}
