use super::*;
use crate::money::{NanoUsd, Price, TokenUsage};

const PRICE: Price = Price {
    input_per_million: NanoUsd(1_000_000_000),
    cached_input_per_million: NanoUsd(1_000_000_000),
    output_per_million: NanoUsd(2_000_000_000),
    reasoning_per_million: None,
};

fn budget(limits: Limits) -> Budget {
    Budget { limits, used: Used::default() }
}

fn call(input_tokens: u64, output_cap: u64) -> Estimate {
    Estimate { input_tokens, output_cap, price: Some(PRICE) }
}

#[test]
fn lowers_the_output_cap_to_what_the_tokens_allow() {
    let mut budget = budget(Limits { max_tokens: Some(1000), ..Limits::default() });
    let reservation = budget.reserve_model_call(call(800, 4096)).unwrap();
    assert_eq!((reservation.output_cap, reservation.tokens), (200, 1000));
    assert_eq!(budget.reserve_model_call(call(1, 4096)), Err(Limit::Tokens));
}

#[test]
fn lowers_the_output_cap_to_what_the_money_allows() {
    let mut budget = budget(Limits { max_cost: Some(NanoUsd(1_000_000)), ..Limits::default() });
    let reservation = budget.reserve_model_call(call(500, 4096)).unwrap();
    assert_eq!(reservation.output_cap, 250);
    assert_eq!(reservation.cost, NanoUsd(1_000_000));
}

#[test]
fn refuses_a_call_when_the_useful_minimum_does_not_fit() {
    let mut budget = budget(Limits { max_cost: Some(NanoUsd(1_000_000)), ..Limits::default() });
    assert_eq!(budget.reserve_model_call(call(970, 4096)), Err(Limit::Cost));
    assert_eq!(budget.used, Used::default());
}

#[test]
fn a_call_is_made_for_the_useful_minimum_and_not_for_a_token_less() {
    for (left, outcome) in
        [(MINIMUM_USEFUL_OUTPUT, Ok(MINIMUM_USEFUL_OUTPUT)), (MINIMUM_USEFUL_OUTPUT - 1, Err(Limit::Tokens))]
    {
        let mut budget = budget(Limits { max_tokens: Some(500 + left), ..Limits::default() });
        assert_eq!(budget.reserve_model_call(call(500, 4096)).map(|held| held.output_cap), outcome);
    }
    // A model whose own cap is lower is called as long as that fits.
    let mut budget = budget(Limits { max_tokens: Some(504), ..Limits::default() });
    assert_eq!(budget.reserve_model_call(call(500, 4)).map(|held| held.output_cap), Ok(4));
}

#[test]
fn refuses_a_money_limit_without_a_price() {
    let mut budget = budget(Limits { max_cost: Some(NanoUsd(1_000_000_000)), ..Limits::default() });
    assert_eq!(budget.reserve_model_call(Estimate { price: None, ..call(1, 100) }), Err(Limit::Cost));
}

#[test]
fn records_the_true_cost_above_the_reservation_and_then_refuses() {
    let mut budget = budget(Limits { max_tokens: Some(1000), ..Limits::default() });
    let held = budget.reserve_model_call(call(100, 100)).unwrap();
    let usage = TokenUsage { input: 900, output: 300, ..TokenUsage::default() };
    budget.settle_model_call(held.tokens, held.cost, &usage, PRICE.cost(&usage));
    assert_eq!((budget.used.tokens, budget.used.reserved_tokens), (1200, 0));
    assert_eq!(budget.used.reserved, NanoUsd::ZERO);
    assert_eq!(budget.reserve_model_call(call(1, 100)), Err(Limit::Tokens));
}

#[test]
fn grants_only_the_tool_calls_that_fit() {
    let mut budget = budget(Limits { max_tool_calls: Some(5), ..Limits::default() });
    assert_eq!(budget.reserve_tool_calls(9), Ok(5));
    assert_eq!(budget.reserve_tool_calls(1), Ok(0));
    assert_eq!(budget.used.tool_calls, 5);
}

#[test]
fn stops_at_the_active_time() {
    let mut budget = budget(Limits { max_active_time_ms: Some(10), ..Limits::default() });
    budget.used.active_time_us = 9_999;
    assert_eq!(budget.check_active_time(), Ok(()));
    budget.used.active_time_us = 10_000;
    assert_eq!(budget.reserve_model_call(call(1, 100)), Err(Limit::ActiveTime));
}

#[test]
fn takes_of_each_limit_the_tighter_one() {
    let agent = Limits { max_tokens: Some(100), max_iterations: Some(5), ..Limits::default() };
    let start = Limits { max_tokens: Some(300), max_cost: Some(NanoUsd(1)), ..Limits::default() };
    let expected =
        Limits { max_tokens: Some(100), max_iterations: Some(5), max_cost: Some(NanoUsd(1)), ..Limits::default() };
    assert_eq!(agent.tightest(start), expected);
}

#[test]
fn a_default_holds_only_where_nothing_is_set() {
    let defaults = Limits { max_tokens: Some(100), max_iterations: Some(5), ..Limits::default() };
    let set = Limits { max_tokens: Some(300), ..Limits::default() };
    let expected = Limits { max_tokens: Some(300), max_iterations: Some(5), ..Limits::default() };
    assert_eq!(set.or(defaults), expected);
}

#[test]
fn names_each_limit_that_is_not_positive() {
    let limits =
        Limits { max_tokens: Some(0), max_cost: Some(NanoUsd(-1)), max_iterations: Some(1), ..Limits::default() };
    let fields: Vec<_> = limits.validate(&["input", "limits"]).into_iter().map(|fault| fault.path.join(".")).collect();
    assert_eq!(fields, ["input.limits.maxTokens", "input.limits.maxCostUsd"]);
}
