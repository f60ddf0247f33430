//! Reading: pages, cursors, nodes, and numbers that do not fit into 32 bits.

use serde_json::{Value, json};

use crate::world::{World, code};

#[tokio::test]
async fn pages_through_executions_without_gap_or_repeat() {
    let world = World::new().await;
    let things = world.things().await;
    for index in 0..6 {
        world.start(&things.agent, &format!("page-{index}")).await;
    }
    let document = "query($after: String) {
        executions(first: 3, after: $after) { nodes { id } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor startCursor } }
    }";
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = world.data(document, json!({"after": after})).await["executions"].clone();
        assert_eq!(page["pageInfo"]["hasPreviousPage"], !after.is_null());
        assert_eq!(page["edges"][0]["cursor"], page["pageInfo"]["startCursor"]);
        seen.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap().to_owned()));
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    let mut newest_first = seen.clone();
    newest_first.sort();
    newest_first.dedup();
    newest_first.reverse();
    assert_eq!((seen.len(), seen), (7, newest_first));
}

#[tokio::test]
async fn refuses_pages_and_cursors_that_it_did_not_offer() {
    let world = World::new().await;
    let project = world.project.to_string();
    for arguments in ["first: 0", "first: -1", "first: 101", "after: \"%\"", "after: \"\"", "after: \"QUFB\""] {
        for list in [format!("agents(projectId: \"{project}\", "), "executions(".to_owned(), "projects(".to_owned()] {
            let document = format!("{{ {list}{arguments}) {{ nodes {{ id }} }} }}");
            let answer = world.run(Some(world.owner), &document, json!({})).await;
            assert_eq!(code(&answer), Some("BAD_USER_INPUT"), "{document}: {answer}");
        }
    }
    let answer = world.run(Some(world.owner), "{ projects(first: 100) { nodes { id } } }", json!({})).await;
    assert_eq!(code(&answer), None);
}

#[tokio::test]
async fn refuses_malformed_ids_and_too_many() {
    let world = World::new().await;
    for field in ["node(id: \"x\") { id }", "node(id: \"exe_1\") { id }", "execution(id: \"prj_x\") { id }"] {
        let answer = world.run(Some(world.owner), &format!("{{ {field} }}"), json!({})).await;
        assert_eq!(code(&answer), Some("BAD_USER_INPUT"), "{field}: {answer}");
    }
    let ids = vec![world.project.to_string(); 101];
    let document = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let answer = world.run(Some(world.owner), document, json!({"ids": ids})).await;
    assert_eq!(code(&answer), Some("BAD_USER_INPUT"));
    assert!(world.data(document, json!({"ids": &ids[1..]})).await["nodes"][99]["id"].is_string());
}

#[tokio::test]
async fn finds_every_kind_of_node() {
    let world = World::new().await;
    let things = world.things().await;
    let tenant = world.owner.tenant_id.to_string();
    let expected = [
        (&tenant, "Tenant"),
        (&things.project, "Project"),
        (&things.key, "ApiKey"),
        (&things.credential, "Credential"),
        (&things.model, "Model"),
        (&things.connection, "SandboxConnection"),
        (&things.profile, "SandboxProfile"),
        (&things.agent, "Agent"),
        (&things.version, "AgentVersion"),
        (&things.execution, "Execution"),
    ];
    let ids: Vec<_> = expected.iter().map(|(id, _)| id).collect();
    let data = world.data("query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }", json!({"ids": ids})).await;
    for (index, (id, kind)) in expected.into_iter().enumerate() {
        assert_eq!(data["nodes"][index], json!({"__typename": kind, "id": id}));
    }
}

#[tokio::test]
async fn keeps_large_numbers_and_exact_money() {
    let world = World::new().await;
    let things = world.things().await;
    let document = "query($id: ID!) { node(id: $id) { ... on AgentVersion {
        limits { maxTokens maxCost { amount currency nanoUsd } }
        model { price { outputPerMillion { amount } cachedInputPerMillion { amount } validFrom } scripted }
        sandboxProfile { memoryBytes diskBytes pids connection { tier } }
    } } }";
    let node = world.data(document, json!({"id": things.version})).await["node"].clone();
    // One more than a double can hold.
    assert_eq!(node["limits"]["maxTokens"], "9007199254740993");
    assert_eq!(node["limits"]["maxCost"], json!({"amount": "0.05", "currency": "USD", "nanoUsd": "50000000"}));
    assert_eq!(node["model"]["price"]["outputPerMillion"]["amount"], "2");
    assert_eq!(node["model"]["price"]["cachedInputPerMillion"]["amount"], "0.25");
    let valid_from = node["model"]["price"]["validFrom"].as_str().unwrap();
    assert!(valid_from.len() == 27 && valid_from.ends_with('Z'), "{valid_from}");
    let profile =
        json!({"memoryBytes": "268435456", "diskBytes": "67108864", "pids": 64, "connection": {"tier": "LOCAL"}});
    assert_eq!(node["sandboxProfile"], profile);
}

#[tokio::test]
async fn refuses_what_a_scalar_cannot_hold_by_the_name_of_its_field() {
    let world = World::new().await;
    let refusal = async |limits: Value, variable: &str| {
        let input = json!({"task": "t", "idempotencyKey": "k", "limits": limits});
        let document = "mutation($input: ExecutionStartInput!) { executionStart(input: $input) { replayed } }";
        let answer = world.run(Some(world.owner), document, json!({"input": input})).await;
        assert!(answer["data"].is_null(), "{answer}");
        let message = answer["errors"][0]["message"].as_str().unwrap_or_default().to_owned();
        message.strip_prefix(&format!("Invalid value for argument \"{variable}\", expected type ")).map(str::to_owned)
    };
    for value in [json!("1.5"), json!(1.5), json!("18446744073709551616"), json!(""), json!("0x10"), json!(true)] {
        let said = refusal(json!({"maxTokens": value}), "input.limits.maxTokens").await;
        assert_eq!(said.as_deref(), Some("\"BigInt\""), "{value}");
    }
    for value in [json!(0.05), json!(5), json!("1".repeat(65))] {
        let said = refusal(json!({"maxCostUsd": value}), "input.limits.maxCostUsd").await;
        assert_eq!(said.as_deref(), Some("\"Decimal\""), "{value}");
    }
    let summary = "query($filter: CostFilter!) { costSummary(by: DAY, filter: $filter) { totals { calls } } }";
    for from in [json!("yesterday"), json!("2026-02-30T00:00:00Z"), json!(5)] {
        let filter = json!({"projectId": world.project.to_string(), "from": from});
        let answer = world.run(Some(world.owner), summary, json!({"filter": filter})).await;
        let expected = "Invalid value for argument \"filter.from\", expected type \"DateTime\"";
        assert_eq!(answer["errors"][0]["message"], expected, "{answer}");
    }
}

#[tokio::test]
async fn limits_the_life_of_links() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({
        "agentId": things.agent, "task": "t", "idempotencyKey": "files", "files": [{"name": "a.csv", "text": "1,2"}],
    });
    let started = world.mutate("executionStart", &input, "execution { inputs { id mediaType downloadUrl } }").await;
    let file = &started["execution"]["inputs"][0];
    assert_eq!(file["mediaType"], "text/csv");
    let id = file["id"].as_str().unwrap();
    assert!(file["downloadUrl"].as_str().unwrap().contains(id));
    for (seconds, wanted) in [(1, None), (3600, None), (0, Some("BAD_USER_INPUT")), (3601, Some("BAD_USER_INPUT"))] {
        let document =
            format!("{{ node(id: \"{id}\") {{ ... on Artifact {{ downloadUrl(expiresInSeconds: {seconds}) }} }} }}");
        let answer = world.run(Some(world.owner), &document, json!({})).await;
        assert_eq!(code(&answer), wanted, "{seconds}: {answer}");
    }
}
