//! Sums of stored model calls.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::cost::{CostBy, CostFilter, CostKey, CostTotals, PricedCall};
use crate::ctx::PageRequest;
use crate::execution::{Change, ExecutionRef, Fence};
use crate::model_call::{CallState, ModelCall};
use crate::money::{NanoUsd, TokenUsage};
use crate::price_table::ModelName;
use crate::testing::samples::LAST_MOMENT_OF_A_DAY as AT;
use crate::testing::{Home, Ports, Samples};

const FIRST_DAY: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
const SECOND_DAY: Timestamp = Timestamp::from_micros(1_767_312_000_000_000);

fn call(samples: &Samples, state: CallState, cost: i64, at: Timestamp) -> ModelCall {
    ModelCall { state, cost: NanoUsd(cost), estimated: state == CallState::Lost, ..samples.model_call(1, 1, at) }
}

/// An execution with these calls.
async fn execution_with(ports: &Ports, samples: &Samples, home: &Home, calls: Vec<ModelCall>) -> ExecutionRef {
    let execution = samples.start(ports, home, AT).await;
    ports.executions.claim(execution, "w", Duration::from_secs(600)).await.unwrap().unwrap();
    let mut changes = vec![Change::SaveIteration(samples.iteration(1, AT))];
    changes.extend(calls.into_iter().map(|call| Change::SaveModelCall(Box::new(call))));
    let fence = Fence { execution, epoch: 1, next_sequence: 2 };
    ports.executions.commit(&samples.commit(fence, 1, changes)).await.unwrap();
    execution
}

fn whole(home: &Home) -> CostFilter {
    CostFilter { project_id: home.project.id, from: None, to: None }
}

/// The lines of a summary, walked page by page.
async fn lines(ports: &Ports, home: &Home, filter: &CostFilter, by: CostBy) -> Vec<(CostKey, CostTotals)> {
    let mut walks = Vec::new();
    for first in [1, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { first, after };
            let page = ports.costs.cost_lines(home.scope(), filter, by, request).await.unwrap();
            after = page.rows.last().map(|(key, _)| key.clone());
            seen.extend(page.rows.into_iter().map(|(_, line)| (line.key, line.totals)));
            if !page.has_next {
                break;
            }
        }
        walks.push(seen);
    }
    assert_eq!(walks[0], walks[1]);
    walks.remove(0)
}

/// Calls that have ended are in the sums with every digit; one that is under way is not, nor what lies outside the time.
pub async fn sums_are_exact_and_paged(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let next = AT.plus(Duration::from_micros(100));
    assert_eq!(next, SECOND_DAY);
    let mut unpriced = call(&samples, CallState::Failed, 0, next);
    (unpriced.price, unpriced.price_version, unpriced.estimated) = (None, None, false);
    let started = call(&samples, CallState::Started, 0, next);
    let settled = call(&samples, CallState::Settled, 9_007_199_254_740_993, AT);
    let lost = call(&samples, CallState::Lost, 1, next);
    let first = execution_with(ports, &samples, &home, vec![settled.clone(), lost.clone(), unpriced, started]).await;
    let second = execution_with(ports, &samples, &home, vec![call(&samples, CallState::Cancelled, 5, AT)]).await;

    let usage = TokenUsage { input: 1000, cached_input: 800, output: 500, reasoning: 400 };
    let totals = |calls: u64, cost: i64, estimated: (u64, i64), unpriced_calls: u64| CostTotals {
        calls,
        estimated_calls: estimated.0,
        unpriced_calls,
        usage: (0..calls).fold(TokenUsage::default(), |sum, _| sum.plus(usage)),
        cost: NanoUsd(cost),
        estimated_cost: NanoUsd(estimated.1),
    };
    let big = 9_007_199_254_740_993;
    assert_eq!(ports.costs.execution_cost(first).await.unwrap(), totals(3, big + 1, (1, 1), 1));
    assert_eq!(ports.costs.execution_cost(second).await.unwrap(), totals(1, 5, (0, 0), 0));
    let all = totals(4, big + 6, (1, 1), 1);
    assert_eq!(ports.costs.cost_totals(home.scope(), &whole(&home)).await.unwrap(), all);
    let days =
        [(CostKey::Day(SECOND_DAY), totals(2, 1, (1, 1), 1)), (CostKey::Day(FIRST_DAY), totals(2, big + 5, (0, 0), 0))];
    assert_eq!(lines(ports, &home, &whole(&home), CostBy::Day).await, days);
    let agents = lines(ports, &home, &whole(&home), CostBy::Agent).await;
    assert_eq!(agents.iter().map(|(_, totals)| totals.cost).collect::<Vec<_>>(), [NanoUsd(big + 1), NanoUsd(5)]);
    let until = CostFilter { to: Some(SECOND_DAY), ..whole(&home) };
    assert_eq!(lines(ports, &home, &until, CostBy::Day).await, days[1..]);
    let since = CostFilter { from: Some(SECOND_DAY), ..whole(&home) };
    assert_eq!(lines(ports, &home, &since, CostBy::Day).await, days[..1]);
    let calls = ports.costs.priced_calls(second).await.unwrap();
    assert_eq!(calls.len(), 1);
    let expected = PricedCall {
        id: settled.id,
        state: CallState::Settled,
        usage,
        price: settled.price_version.zip(settled.price),
        cost: settled.cost,
    };
    assert_eq!(ports.costs.priced_calls(first).await.unwrap()[0], expected);
}

/// A model is a provider and a name, byte for byte.
pub async fn names_that_differ_in_a_space_are_two(ports: &Ports) {
    let samples = Samples::new(1);
    let home = samples.home(ports).await;
    let names = [("A", "m"), ("a", "m"), ("a", "m "), ("a ", "m"), ("é", "m")];
    let calls = names.map(|(provider, deployment)| ModelCall {
        provider: provider.to_owned(),
        deployment: deployment.to_owned(),
        ..call(&samples, CallState::Settled, 7, AT)
    });
    execution_with(ports, &samples, &home, calls.to_vec()).await;
    let found = lines(ports, &home, &whole(&home), CostBy::Model).await;
    let key = |(provider, deployment): (&str, &str)| {
        CostKey::Model(ModelName { provider: provider.to_owned(), deployment: deployment.to_owned() })
    };
    assert_eq!(found.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), names.map(key));
    assert!(found.iter().all(|(_, totals)| (totals.calls, totals.cost) == (1, NanoUsd(7))));
}

/// Sums of another tenant's executions are empty.
pub async fn a_foreign_tenant_has_no_costs(ports: &Ports) {
    let samples = Samples::new(1);
    let (home, stranger) = (samples.home(ports).await, samples.home(ports).await);
    let calls = vec![call(&samples, CallState::Settled, 7, AT)];
    let execution = execution_with(ports, &samples, &home, calls).await;
    let foreign = ExecutionRef { tenant_id: stranger.tenant.id, id: execution.id };
    assert_eq!(ports.costs.execution_cost(foreign).await.unwrap(), CostTotals::default());
    assert_eq!(ports.costs.priced_calls(foreign).await.unwrap(), []);
    assert_eq!(ports.costs.cost_totals(stranger.scope(), &whole(&home)).await.unwrap(), CostTotals::default());
    for by in [CostBy::Model, CostBy::Agent, CostBy::Day] {
        let request = PageRequest { first: 10, after: None };
        let page = ports.costs.cost_lines(stranger.scope(), &whole(&home), by, request).await.unwrap();
        assert!(page.rows.is_empty());
    }
}
