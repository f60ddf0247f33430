//! Price tables, costs and outcomes of limits, as a caller of the API sees them.

use domain::execution::{Change, Commit, Fence};
use domain::model_call::{CallState, ModelCall};
use domain::money::{NanoUsd, TokenUsage};
use domain::testing::Samples;
use serde_json::{Value, json};

use crate::world::{PRICES, World, faults};

fn table(lines: &Value) -> String {
    json!({ "formatVersion": 1, "prices": lines }).to_string()
}

fn line(deployment: &str, valid_from: &str, output: &str) -> Value {
    json!({
        "provider": "openai", "deployment": deployment, "currency": "USD", "validFrom": valid_from,
        "perMillion": { "input": "0.25", "output": output },
    })
}

const LIST: &str = "query($project: ID!) { priceVersions(projectId: $project) { nodes { provider deployment version { \
                    id validFrom outputPerMillion { amount } reasoningPerMillion { amount } } } } }";

async fn listed(world: &World) -> Vec<(String, String)> {
    let data = world.data(LIST, json!({"project": world.project.to_string()})).await;
    let nodes = data["priceVersions"]["nodes"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    nodes.iter().map(|node| (text(&node["deployment"]), text(&node["version"]["outputPerMillion"]["amount"]))).collect()
}

#[tokio::test]
async fn imports_a_price_table_whole_or_not_at_all() {
    let world = World::new().await;
    let project = world.project.to_string();
    let import = async |table: String| {
        let input = json!({"projectId": project, "table": table});
        world.mutate("priceTableImport", &input, "added prices { version { id } }").await
    };
    let first = import(table(&json!([line("a", "2026-01-01T00:00:00Z", "2.000000001")]))).await;
    assert_eq!((&first["added"], first["prices"].as_array().unwrap().len()), (&json!(1), 1));

    let bad = json!([line("b", "2026-01-01T00:00:00Z", "1"), line("c", "2026-01-01T00:00:00Z", "1.0000000001")]);
    let refused = import(table(&bad)).await;
    let pair = |path: &str, code: &str| vec![(path.to_owned(), code.to_owned())];
    assert_eq!(faults(&refused), pair("input.table.prices.1.perMillion.output", "TOO_PRECISE"));
    assert_eq!(refused["prices"], Value::Null);

    let changed = json!([line("b", "2026-01-01T00:00:00Z", "1"), line("a", "2026-01-01T00:00:00Z", "3")]);
    assert_eq!(faults(&import(table(&changed)).await), pair("input.table.prices.1.validFrom", "PRICE_EXISTS"));
    assert_eq!(listed(&world).await, [("a".to_owned(), "2.000000001".to_owned())]);

    let grown = json!([line("a", "2026-01-01T00:00:00Z", "2.000000001"), line("a", "2026-02-01T00:00:00Z", "3")]);
    let again = import(table(&grown)).await;
    assert_eq!((&again["added"], &again["prices"][0]), (&json!(1), &first["prices"][0]));
    assert_eq!(listed(&world).await, [("a", "3"), ("a", "2.000000001")].map(|(a, b)| (a.to_owned(), b.to_owned())));
}

/// F39: with a money limit and no price nothing starts; a price that comes into force lets it start, and is pinned.
#[tokio::test]
async fn an_unknown_price_is_refused_at_the_start_and_a_price_in_force_is_pinned() {
    let world = World::new().await;
    let things = world.things().await;
    let spec = json!({
        "protocol": "OPENAI_COMPATIBLE", "provider": "openai", "deployment": "later", "alias": "m",
        "baseUrl": "https://models.example/v1", "contextWindow": 8000, "maxOutputTokens": 1000,
    });
    let head = json!({"projectId": things.project, "slug": "later", "name": "Later", "spec": spec, "publish": true});
    let model = world.mutate("modelCreate", &head, "model { id }").await["model"]["id"].clone();
    let spec = json!({"instructions": "", "modelId": model, "tools": []});
    let head = json!({"projectId": things.project, "slug": "agent", "name": "Agent", "spec": spec, "publish": true});
    let agent = world.mutate("agentCreate", &head, "agent { id }").await["agent"]["id"].clone();
    let start = async |key: &str, limits: Value| {
        let input = json!({"agentId": agent, "task": "t", "idempotencyKey": key, "limits": limits});
        world.mutate("executionStart", &input, "execution { id }").await
    };
    let money = json!({"maxCostUsd": "1"});
    let refused = start("k1", money.clone()).await;
    assert_eq!(faults(&refused), [("input.limits.maxCostUsd".to_owned(), "PRICE_UNKNOWN".to_owned())]);
    let counted = start("k2", json!({"maxTokens": "1000"})).await;
    assert_eq!(faults(&counted), []);

    // A price that holds only tomorrow does not help today.
    for (from, is_started) in [("2999-01-01T00:00:00Z", false), ("2020-01-01T00:00:00Z", true)] {
        let input = json!({"projectId": things.project, "table": table(&json!([line("later", from, "2")]))});
        assert_eq!(faults(&world.mutate("priceTableImport", &input, "added").await), []);
        let outcome = start(&format!("k3 {from}"), money.clone()).await;
        assert_eq!(outcome["execution"].is_object(), is_started, "{outcome}");
    }
    let id = start("k3 2020-01-01T00:00:00Z", money).await["execution"]["id"].as_str().unwrap().to_owned();
    let pinned = world.claim(&id).await.execution.pins.price.unwrap();
    assert_eq!(pinned.price.output_per_million, NanoUsd(2_000_000_000));
}

/// Stores model calls of an execution, as its worker would.
async fn add_calls(world: &World, execution: &str, calls: Vec<ModelCall>) {
    let worker = world.claim(execution).await;
    let samples = Samples::new(9);
    let reference = worker.execution.reference();
    let fence =
        Fence { execution: reference, epoch: worker.execution.epoch, next_sequence: worker.execution.next_sequence };
    let mut changes = vec![Change::SaveIteration(samples.iteration(1, worker.execution.created_at))];
    changes.extend(calls.into_iter().map(|call| Change::SaveModelCall(Box::new(call))));
    let commit = Commit { fence, progress: None, changes, segment: None };
    domain::execution::ExecutionStore::commit(world.store.as_ref(), &commit).await.unwrap();
}

const COSTS: &str = "query($id: ID!, $project: ID!, $price: ID!, $own: ID!) {
  executionCost(executionId: $id) {
    totals { total { amount nanoUsd } calls estimatedTotal { amount } estimatedCalls usage { total } }
    recount(priceVersionId: $price) {
      recounted priceVersionId total { amount } storedTotal { amount } difference { amount }
      calls(first: 1) { nodes { cost { amount } storedCost { amount } } pageInfo { hasNextPage } } }
    own: recount(priceVersionId: $own) { storedTotal { amount } calls { nodes { cost { nanoUsd } } } }
    none: recount(priceVersionId: \"prc_00000000000000000000000001\") { recounted } }
  model: costSummary(by: MODEL, filter: {projectId: $project}) { ...All }
  agent: costSummary(by: AGENT, filter: {projectId: $project}) { ...All }
  day: costSummary(by: DAY, filter: {projectId: $project, from: \"2020-01-01T00:00:00Z\"}) { ...All }
  before: costSummary(by: DAY, filter: {projectId: $project, to: \"2020-01-01T00:00:00Z\"}) { ...All } }
      fragment All on CostSummary {
  totals { total { amount } calls }
  lines { nodes { provider deployment day agentId agent { slug } totals { total { amount } } } } }";

#[tokio::test]
async fn sums_costs_exactly_and_marks_a_recount() {
    let world = World::new().await;
    let things = world.things().await;
    let samples = Samples::new(8);
    let at = world.services.clock.now();
    let settled = ModelCall { cost: NanoUsd(9_007_199_254_740_993), estimated: false, ..samples.model_call(1, 1, at) };
    let lost = ModelCall {
        state: CallState::Lost,
        usage: TokenUsage { input: 3, cached_input: 0, output: 1, reasoning: 0 },
        cost: NanoUsd(123),
        ..samples.model_call(1, 1, at)
    };
    let started = ModelCall { state: CallState::Started, cost: NanoUsd::ZERO, ..samples.model_call(1, 1, at) };
    let own_version = settled.price_version.unwrap().to_string();
    add_calls(&world, &things.execution, vec![settled, lost, started]).await;

    let table = table(&json!([line("gpt-9", "2026-01-01T00:00:00Z", "4")]));
    let input = json!({"projectId": things.project, "table": table});
    let imported = world.mutate("priceTableImport", &input, "prices { version { id } }").await;
    let price = imported["prices"][0]["version"]["id"].clone();
    let variables = json!({"id": things.execution, "project": things.project, "price": price, "own": own_version});
    let data = world.data(COSTS, variables.clone()).await;

    let cost = &data["executionCost"];
    let sum = "9007199.254741116";
    assert_eq!(cost["totals"]["total"], json!({"amount": sum, "nanoUsd": "9007199254741116"}));
    assert_eq!((&cost["totals"]["calls"], &cost["totals"]["estimatedCalls"]), (&json!("2"), &json!("1")));
    assert_eq!(cost["totals"]["estimatedTotal"]["amount"], "0.000000123");
    assert_eq!(cost["totals"]["usage"]["total"], "1504");
    // 1000 input at $0.25 a million, 500 output at $4: 0.00225; the lost call at its worst case: 4750 nano.
    let recount = &cost["recount"];
    assert_eq!((&recount["recounted"], &recount["priceVersionId"]), (&json!(true), &price));
    assert_eq!(recount["total"]["amount"], "0.00225475");
    assert_eq!(recount["storedTotal"]["amount"], sum);
    assert_eq!(recount["difference"]["amount"], "-9007199.252486366");
    let first = json!({"cost": {"amount": "0.00225"}, "storedCost": {"amount": "9007199.254740993"}});
    assert_eq!(recount["calls"], json!({"nodes": [first], "pageInfo": {"hasNextPage": true}}));
    // By its own version the settled call is counted as it was: the sample's prices say 1 270 000 nano.
    assert_eq!(cost["own"]["calls"]["nodes"][0]["cost"]["nanoUsd"], "1270000");
    assert_eq!(cost["none"], Value::Null);

    for by in ["model", "agent", "day"] {
        assert_eq!(data[by]["totals"], json!({"total": {"amount": sum}, "calls": "2"}), "{by}");
        let lines = data[by]["lines"]["nodes"].as_array().unwrap();
        assert_eq!((lines.len(), &lines[0]["totals"]["total"]["amount"]), (1, &json!(sum)), "{by}");
    }
    assert_eq!(data["model"]["lines"]["nodes"][0]["provider"], "openai");
    assert_eq!(data["agent"]["lines"]["nodes"][0]["agent"]["slug"], "auditor");
    let day = data["day"]["lines"]["nodes"][0]["day"].as_str().unwrap().to_owned();
    assert!(day.ends_with("T00:00:00.000000Z"), "{day}");
    assert_eq!(data["before"]["totals"], json!({"total": {"amount": "0"}, "calls": "0"}));
    assert_eq!(world.data(COSTS, variables).await["executionCost"]["totals"], cost["totals"]);
}

#[tokio::test]
async fn refuses_a_cost_filter_that_is_empty() {
    let world = World::new().await;
    let filter =
        format!("{{projectId: \"{}\", from: \"2026-01-02T00:00:00Z\", to: \"2026-01-01T00:00:00Z\"}}", world.project);
    let document = format!("{{ costSummary(by: DAY, filter: {filter}) {{ totals {{ calls }} }} }}");
    let answer = world.run(Some(world.owner), &document, json!({})).await;
    assert_eq!(crate::world::code(&answer), Some("BAD_USER_INPUT"));
}

/// What a stranger imports is no price of ours, and our prices are none of theirs.
#[tokio::test]
async fn a_recount_uses_only_prices_that_the_caller_may_see() {
    let world = World::new().await;
    let things = world.things().await;
    let stranger = world.data(LIST, json!({"project": things.project})).await;
    let foreign = stranger["priceVersions"]["nodes"][0]["version"]["id"].clone();
    let document = "query($id: ID!, $price: ID!) { executionCost(executionId: $id) { recount(priceVersionId: $price) { recounted } } }";
    let variables = json!({"id": things.execution, "price": foreign});
    let own = world.run(Some(world.owner), document, variables.clone()).await;
    assert_eq!(own["data"]["executionCost"]["recount"]["recounted"], true);
    let theirs = world.run(Some(world.stranger), document, variables).await;
    assert_eq!(theirs["data"]["executionCost"], Value::Null);
    assert!(PRICES.contains("0.25"));
}

#[tokio::test]
async fn outcomes_of_limits_are_read_shown_and_stored() {
    let world = World::new().await;
    let things = world.things().await;
    let limits = |on_limit: Value| json!({"maxTokens": "100", "onLimit": on_limit});
    let spec = json!({
        "instructions": "", "modelId": things.model, "tools": [],
        "limits": limits(json!([{"limit": "COST", "outcome": "ERROR_ITEM"}, {"limit": "DEADLINE", "outcome": "STOP"}])),
    });
    let head = json!({"projectId": things.project, "slug": "agent", "name": "Agent", "spec": spec, "publish": true});
    let made =
        world.mutate("agentCreate", &head, "agent { id } version { limits { onLimit { limit outcome } } }").await;
    let shown = json!([{"limit": "COST", "outcome": "ERROR_ITEM"}, {"limit": "DEADLINE", "outcome": "STOP"}]);
    assert_eq!(made["version"]["limits"]["onLimit"], shown);

    let start = async |on_limit: Value| {
        let input = json!({
            "agentId": made["agent"]["id"], "task": "t", "idempotencyKey": "k", "limits": limits(on_limit),
        });
        world.mutate("executionStart", &input, "execution { id errorItem { code } items stopReason { step } }").await
    };
    let twice = json!([{"limit": "COST", "outcome": "STOP"}, {"limit": "COST", "outcome": "ERROR_ITEM"}]);
    let refused = start(twice).await;
    assert_eq!(faults(&refused), [("input.limits.onLimit.1.limit".to_owned(), "DUPLICATE".to_owned())]);
    let started = start(json!([{"limit": "TOKENS", "outcome": "ERROR_ITEM"}])).await;
    assert_eq!(started["execution"]["items"], json!([]));
    let worker = world.claim(started["execution"]["id"].as_str().unwrap()).await;
    let stored = serde_json::to_value(worker.execution.limits.on_limit).unwrap();
    assert_eq!(stored, json!({"TOKENS": "ERROR_ITEM", "COST": "ERROR_ITEM", "DEADLINE": "STOP"}));
}
