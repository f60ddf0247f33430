//! Fallback models: what an agent's version may list, what publishing it grants, and what a start pins.

use domain::access::{AccessStore, Action, Target};
use serde_json::{Value, json};

use crate::world::{SECRET, Things, World, faults};

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    expected.into_iter().map(|(path, code)| (path.to_owned(), code.to_owned())).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn model_spec(alias: &str, price: Value, credential: Value) -> Value {
    json!({
        "protocol": "OPENAI_COMPATIBLE", "provider": "p", "deployment": alias, "alias": alias, "baseUrl": "http://h/v1",
        "contextWindow": 9000, "maxOutputTokens": 100, "price": price, "credentialId": credential,
    })
}

fn price() -> Value {
    json!({"inputPerMillionUsd": "1", "outputPerMillionUsd": "2"})
}

async fn model(world: &World, alias: &str, price: Value, credential: Value) -> String {
    let spec = model_spec(alias, price, credential);
    let input =
        json!({"projectId": world.project.to_string(), "slug": alias, "name": alias, "spec": spec, "publish": true});
    let made = world.mutate("modelCreate", &input, "model { id } version { maxRetries }").await;
    assert_eq!(made["version"]["maxRetries"], 2, "what holds when nobody says otherwise");
    text(&made["model"]["id"])
}

fn agent_input(things: &Things, slug: &str, fallbacks: Value, limits: Value) -> Value {
    let spec = json!({
        "instructions": "", "modelId": things.model, "fallbackModelIds": fallbacks, "tools": ["note"], "limits": limits,
    });
    json!({"projectId": things.project, "slug": slug, "name": slug, "spec": spec, "publish": true})
}

#[tokio::test]
async fn a_start_pins_the_list_and_publishing_grants_all_of_it() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({"projectId": things.project, "slug": "other", "name": "other", "secret": SECRET});
    let credential = text(&world.mutate("credentialCreate", &input, "credential { id }").await["credential"]["id"]);
    let second = model(&world, "second", price(), json!(credential)).await;
    let third = model(&world, "third", price(), Value::Null).await;
    let input = agent_input(&things, "careful", json!([second, third]), json!({"maxCostUsd": "1"}));
    let selection = "agent { id } version { fallbackModels { alias } }";
    let made = world.mutate("agentCreate", &input, selection).await;
    assert_eq!(made["version"]["fallbackModels"], json!([{"alias": "second"}, {"alias": "third"}]));
    let agent = text(&made["agent"]["id"]);

    let identity = world.store.service_identity(world.owner.scope(), agent.parse().unwrap()).await.unwrap();
    let identity = identity.unwrap().principal_id;
    for resource in [&things.model, &things.credential, &second, &credential, &third] {
        let resource_id = Some(resource.parse().unwrap());
        let target = Target { tenant_id: world.owner.tenant_id, project_id: world.project, resource_id };
        let facts = world.store.facts(identity, Action::Use, &target).await.unwrap();
        assert!(facts.is_some_and(|facts| facts.has_grant), "{resource}");
    }

    let execution = world.start(&agent, "k").await;
    let later = json!({"modelId": second, "spec": model_spec("newer", price(), Value::Null), "publish": true});
    assert_eq!(world.mutate("modelVersionCreate", &later, "version { id }").await["userErrors"], json!([]));
    let document = "query($id: ID!) { execution(id: $id) { modelVersions { alias credential { id } } } }";
    let pinned = world.data(document, json!({"id": execution})).await["execution"]["modelVersions"].clone();
    let credentials = [json!({"id": things.credential}), json!({"id": credential}), Value::Null];
    let wanted: Vec<_> = ["m", "second", "third"]
        .into_iter()
        .zip(credentials)
        .map(|(alias, credential)| json!({"alias": alias, "credential": credential}))
        .collect();
    assert_eq!(pinned, json!(wanted));
}

#[tokio::test]
async fn names_every_fault_of_a_list() {
    let world = World::new().await;
    let things = world.things().await;
    let second = model(&world, "second", price(), Value::Null).await;
    let refused = async |fallbacks: Value| {
        let input = agent_input(&things, "refused", fallbacks, json!({}));
        faults(&world.mutate("agentCreate", &input, "agent { id }").await)
    };
    let twice = json!([second, things.model, second, "mod_nonsense"]);
    let wanted = [
        ("input.spec.fallbackModelIds.3", "MALFORMED_ID"),
        ("input.spec.fallbackModelIds.1", "DUPLICATE"),
        ("input.spec.fallbackModelIds.2", "DUPLICATE"),
    ];
    assert_eq!(refused(twice).await, pairs(wanted));
    for no_model in [&things.agent, &things.credential] {
        let found = refused(json!([no_model])).await;
        assert!(found.contains(&pairs([("input.spec.fallbackModelIds", "NOT_FOUND")])[0]), "{found:?}");
    }
    let many: Vec<_> = (0..9).map(|_| second.clone()).collect();
    assert!(refused(json!(many)).await.contains(&pairs([("input.spec.fallbackModelIds", "TOO_MANY")])[0]));
    let mut draft = json!({"projectId": things.project, "slug": "draft", "name": "draft"});
    draft["spec"] = model_spec("draft", price(), Value::Null);
    let draft = world.mutate("modelCreate", &draft, "model { id }").await["model"]["id"].clone();
    assert_eq!(refused(json!([draft])).await, pairs([("input.spec.fallbackModelIds", "NOT_PUBLISHED")]));
    for wrong in [-1, 11] {
        let mut spec = model_spec("x", price(), Value::Null);
        spec["maxRetries"] = json!(wrong);
        let input = json!({"modelId": second, "spec": spec});
        let found = faults(&world.mutate("modelVersionCreate", &input, "version { id }").await);
        assert_eq!(found, pairs([("input.spec.maxRetries", "OUT_OF_RANGE")]), "{wrong}");
    }
}

/// A limit that one of the models could go past without anybody noticing is no limit.
#[tokio::test]
async fn a_cost_limit_needs_a_price_of_every_model_in_the_list() {
    let world = World::new().await;
    let things = world.things().await;
    let dark = model(&world, "dark", Value::Null, Value::Null).await;
    let input = agent_input(&things, "hopeful", json!([dark]), json!({}));
    let agent = world.mutate("agentCreate", &input, "agent { id }").await["agent"]["id"].clone();
    let mut start = json!({"agentId": agent, "task": "t", "idempotencyKey": "k", "limits": {"maxCostUsd": "1"}});
    let refused = world.mutate("executionStart", &start, "replayed").await;
    assert_eq!(faults(&refused), pairs([("input.limits.maxCostUsd", "PRICE_UNKNOWN")]));
    assert!(refused["userErrors"][0]["message"].as_str().unwrap().starts_with("dark has no price"), "{refused}");
    start["limits"] = json!({"maxTokens": "1000"});
    assert_eq!(world.mutate("executionStart", &start, "replayed").await["userErrors"], json!([]));
}
