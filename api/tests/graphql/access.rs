//! Every root field, as nobody and as a stranger: what is foreign looks like what does not exist.

use std::collections::BTreeSet;

use domain::access::{ApiKeyPorts, CreateApiKey, ProjectRole, create_api_key};
use domain::ctx::{OpContext, Principal};
use domain::ids::{AccountId, ApiKeyId, ExecutionId, ProjectId, ResourceId, VersionId};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::world::{PRICES, Things, World, code, faults};

/// How each root field is asked for something that belongs to somebody.
fn cases(things: &Things) -> Vec<(&'static str, String)> {
    let mut cases = queries(things);
    cases.extend(creations(things));
    cases.extend(other_mutations(things));
    let Things { project, execution, .. } = things;
    let events = format!("subscription {{ executionEvents(executionId: \"{execution}\") {{ sequence }} }}");
    let updates = format!("subscription {{ executionUpdates(filter: {{projectId: \"{project}\"}}) {{ id }} }}");
    cases.extend([("executionEvents", events), ("executionUpdates", updates)]);
    cases
}

fn queries(things: &Things) -> Vec<(&'static str, String)> {
    let Things { project, model, agent, version, execution, key, account, .. } = things;
    let list = |field| (field, format!("query {{ {field}(projectId: \"{project}\") {{ nodes {{ id name }} }} }}"));
    let ids = [project, model, version, execution, key].map(|id| format!("\"{id}\"")).join(", ");
    vec![
        ("viewer", "query { viewer { id name tenant { name } } }".to_owned()),
        ("node", format!("query {{ node(id: \"{agent}\") {{ id }} }}")),
        ("nodes", format!("query {{ nodes(ids: [{ids}]) {{ id }} }}")),
        ("project", format!("query {{ project(id: \"{project}\") {{ name }} }}")),
        ("projects", "query { projects { nodes { id name } } }".to_owned()),
        list("agents"),
        list("models"),
        list("credentials"),
        list("sandboxConnections"),
        list("sandboxProfiles"),
        ("budgetAccount", format!("query {{ budgetAccount(id: \"{account}\") {{ id }} }}")),
        ("budgetAccounts", format!("query {{ budgetAccounts(projectId: \"{project}\") {{ id }} }}")),
        ("execution", format!("query {{ execution(id: \"{execution}\") {{ task }} }}")),
        ("executions", format!("query {{ executions(filter: {{agentId: \"{agent}\"}}) {{ nodes {{ task }} }} }}")),
        ("priceVersions", format!("query {{ priceVersions(projectId: \"{project}\") {{ nodes {{ provider }} }} }}")),
        ("executionCost", format!("query {{ executionCost(executionId: \"{execution}\") {{ totals {{ calls }} }} }}")),
        (
            "costSummary",
            format!(
                "query {{ costSummary(by: AGENT, filter: {{projectId: \"{project}\"}}) {{ totals {{ calls }} }} }}"
            ),
        ),
    ]
}

fn mutation(field: &'static str, input: &str) -> (&'static str, String) {
    let errors = "userErrors { code message path }";
    (field, format!("mutation {{ {field}(input: {{{input}}}) {{ {errors} }} }}"))
}

/// Resources and their versions, with specifications that would be valid.
fn creations(things: &Things) -> Vec<(&'static str, String)> {
    let Things { project, credential, model, connection, profile, agent, .. } = things;
    let head = format!("projectId: \"{project}\", slug: \"s\", name: \"n\"");
    let model_spec = "spec: {protocol: OPENAI_COMPATIBLE, provider: \"p\", deployment: \"d\", alias: \"a\", baseUrl: \"http://h/\", contextWindow: 9, maxOutputTokens: 1}";
    let profile_spec =
        format!("spec: {{connectionId: \"{connection}\", image: \"i\", memoryBytes: 268435456, diskBytes: 67108864}}");
    let agent_spec = format!("spec: {{instructions: \"\", modelId: \"{model}\", tools: []}}");
    let connection_spec = "spec: {baseUrl: \"local:\"}";
    vec![
        mutation("credentialCreate", &format!("{head}, secret: \"s\"")),
        mutation("modelCreate", &format!("{head}, {model_spec}")),
        mutation("sandboxConnectionCreate", &format!("{head}, {connection_spec}")),
        mutation("sandboxProfileCreate", &format!("{head}, {profile_spec}")),
        mutation("agentCreate", &format!("{head}, {agent_spec}")),
        mutation("credentialVersionCreate", &format!("credentialId: \"{credential}\", secret: \"s\"")),
        mutation("modelVersionCreate", &format!("modelId: \"{model}\", {model_spec}")),
        mutation(
            "sandboxConnectionVersionCreate",
            &format!("sandboxConnectionId: \"{connection}\", {connection_spec}"),
        ),
        mutation("sandboxProfileVersionCreate", &format!("sandboxProfileId: \"{profile}\", {profile_spec}")),
        mutation("agentVersionCreate", &format!("agentId: \"{agent}\", {agent_spec}")),
    ]
}

fn other_mutations(things: &Things) -> Vec<(&'static str, String)> {
    let Things { project, model, agent, version, execution, key, account, .. } = things;
    let grant = format!("agentId: \"{agent}\", resourceId: \"{model}\"");
    vec![
        mutation("apiKeyCreate", &format!("projectId: \"{project}\", name: \"n\", role: OWNER")),
        mutation("apiKeyRevoke", &format!("apiKeyId: \"{key}\"")),
        mutation("grantCreate", &grant),
        mutation("grantRevoke", &grant),
        mutation("resourceVersionPublish", &format!("versionId: \"{version}\"")),
        mutation("resourceArchive", &format!("resourceId: \"{agent}\"")),
        mutation("executionStart", &format!("agentId: \"{agent}\", task: \"t\", idempotencyKey: \"k\"")),
        mutation("budgetAccountSet", &format!("agentId: \"{agent}\", period: DAY, maxCostUsd: \"1\", reason: \"r\"")),
        mutation(
            "budgetTopUp",
            &format!("accountId: \"{account}\", costUsd: \"1\", reason: \"r\", idempotencyKey: \"k\""),
        ),
        mutation("priceTableImport", &format!("projectId: \"{project}\", table: {}", Value::from(PRICES))),
        mutation("executionCancel", &format!("executionId: \"{execution}\"")),
        mutation("executionOverrideLoop", &format!("executionId: \"{execution}\", reason: \"it may\"")),
    ]
}

fn missing_things(world: &World) -> Things {
    let (clock, entropy) = (world.services.clock.as_ref(), world.services.entropy.as_ref());
    let resource = || ResourceId::generate(clock, entropy).to_string();
    Things {
        project: ProjectId::generate(clock, entropy).to_string(),
        credential: resource(),
        model: resource(),
        connection: resource(),
        profile: resource(),
        agent: resource(),
        version: VersionId::generate(clock, entropy).to_string(),
        execution: ExecutionId::generate(clock, entropy).to_string(),
        key: ApiKeyId::generate(clock, entropy).to_string(),
        account: AccountId::generate(clock, entropy).to_string(),
    }
}

/// Every kind of operation ends with its first response here; both subscriptions are refused with one.
async fn first_answer(world: &World, caller: Option<Principal>, document: &str) -> Value {
    if !document.starts_with("subscription") {
        return world.run(caller, document, json!({})).await;
    }
    let mut responses = world.subscribe(caller, document, json!({}));
    serde_json::to_value(responses.next().await.unwrap()).unwrap()
}

#[tokio::test]
async fn has_a_case_for_every_root_field() {
    let world = World::new().await;
    let root = |kind: &str| format!("{kind} {{ fields {{ name }} }}");
    let roots = [root("queryType"), root("mutationType"), root("subscriptionType")].join(" ");
    let data = world.data(&format!("{{ __schema {{ {roots} }} }}"), json!({})).await;
    let mut fields = BTreeSet::new();
    for kind in ["queryType", "mutationType", "subscriptionType"] {
        let names = data["__schema"][kind]["fields"].as_array().unwrap().iter();
        fields.extend(names.map(|field| field["name"].as_str().unwrap().to_owned()));
    }
    let covered = cases(&missing_things(&world)).into_iter().map(|(field, _)| field.to_owned()).collect();
    assert_eq!(fields, covered);
}

#[tokio::test]
async fn answers_nobody_with_unauthenticated() {
    let world = World::new().await;
    for (field, document) in cases(&world.things().await) {
        let answer = first_answer(&world, None, &document).await;
        if field == "viewer" {
            assert_eq!(answer, json!({"data": {"viewer": null}}));
        } else {
            assert_eq!(code(&answer), Some("UNAUTHENTICATED"), "{field}: {answer}");
            assert!(answer["data"].as_object().is_none_or(|data| data.values().all(Value::is_null)), "{field}");
        }
    }
}

#[tokio::test]
async fn answers_a_stranger_for_foreign_things_as_for_missing_ones() {
    let world = World::new().await;
    let (foreign, missing) = (cases(&world.things().await), cases(&missing_things(&world)));
    for ((field, foreign), (_, missing)) in foreign.into_iter().zip(missing) {
        let answer = first_answer(&world, Some(world.stranger), &foreign).await;
        assert_eq!(answer, first_answer(&world, Some(world.stranger), &missing).await, "{field}");
        assert!(!answer.to_string().to_lowercase().contains("acme"), "{field}: {answer}");
        let payload = &answer["data"][field];
        if let Some(errors) = payload["userErrors"].as_array() {
            assert!(errors.iter().all(|error| error["code"] == "NOT_FOUND") && !errors.is_empty(), "{field}: {answer}");
        }
    }
}

#[tokio::test]
async fn answers_the_owner_in_every_case_that_reads() {
    let world = World::new().await;
    let things = world.things().await;
    for (field, document) in cases(&things).into_iter().filter(|(_, document)| !document.starts_with("mutation")) {
        let answer = first_answer(&world, Some(world.owner), &document).await;
        assert_eq!(code(&answer), None, "{field}: {answer}");
        let data = &answer["data"][field];
        let is_empty = data.is_null() || data["nodes"] == json!([]) || data[0].is_null() && data.is_array();
        assert!(!is_empty, "{field}: {answer}");
    }
}

#[tokio::test]
async fn lets_a_viewer_read_and_forbids_the_rest() {
    let world = World::new().await;
    let things = world.things().await;
    let op = OpContext {
        principal: world.owner,
        clock: world.services.clock.clone(),
        entropy: world.services.entropy.clone(),
    };
    let ports = ApiKeyPorts { identity: world.store.clone(), authorizer: world.services.authorizer.clone() };
    let request = CreateApiKey {
        project_id: world.project,
        name: "reader".to_owned(),
        role: ProjectRole::Viewer,
        expires_at: None,
    };
    let key = create_api_key(&op, &ports, request).await.unwrap().key;
    let reader = Principal { id: key.principal_id, tenant_id: key.tenant_id, project_id: Some(key.project_id) };
    for (field, document) in cases(&things) {
        let answer = first_answer(&world, Some(reader), &document).await;
        assert_eq!(code(&answer), None, "{field}: {answer}");
        if document.starts_with("mutation") {
            let wanted = if field == "apiKeyRevoke" { "NOT_FOUND" } else { "FORBIDDEN" };
            let codes: Vec<_> = faults(&answer["data"][field]).into_iter().map(|(_, code)| code).collect();
            assert!(!codes.is_empty() && codes.iter().all(|code| code == wanted), "{field}: {answer}");
        }
    }
}

#[tokio::test]
async fn ends_a_key_at_once() {
    let world = World::new().await;
    let input = json!({"projectId": world.project.to_string(), "name": "robot", "role": "EDITOR"});
    let made = world.mutate("apiKeyCreate", &input, "secret apiKey { id prefix }").await;
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("vit_") && secret.len() == 4 + 52);
    assert!(secret.starts_with(made["apiKey"]["prefix"].as_str().unwrap()));
    let (identity, clock) = (world.services.identity.as_ref(), world.services.clock.as_ref());
    let before = domain::access::by_api_key(identity, clock, &secret).await.unwrap().unwrap();
    assert_eq!(before.principal.project_id, Some(world.project));
    world.mutate("apiKeyRevoke", &json!({"apiKeyId": made["apiKey"]["id"]}), "apiKey { revokedAt }").await;
    assert_eq!(domain::access::by_api_key(identity, clock, &secret).await.unwrap(), None);
}
