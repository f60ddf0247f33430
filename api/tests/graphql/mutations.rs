//! Payloads and user errors: all faults at once, with the path of the field.

use serde_json::{Value, json};

use crate::world::{SECRET, World, faults};

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    expected.into_iter().map(|(path, code)| (path.to_owned(), code.to_owned())).collect()
}

#[tokio::test]
async fn starts_once_for_a_key_and_cancels() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({
        "agentId": things.agent, "task": "Count.", "idempotencyKey": "k1",
        "files": [{"name": "Cargo.lock", "text": "version = 4"}, {"name": "b.bin", "contentBase64": "AAE="}],
        "limits": {"maxTokens": 100, "maxIterations": 3},
    });
    let selection = "execution { id status budget { tokens { limit } cost { limit { amount nanoUsd } } } inputs { name byteSize } } replayed";
    let first = world.mutate("executionStart", &input, selection).await;
    assert_eq!(first["replayed"], false);
    assert_eq!(
        first["execution"]["budget"],
        json!({"tokens": {"limit": "100"}, "cost": {"limit": {"amount": "0.05", "nanoUsd": "50000000"}}})
    );
    assert_eq!(first["execution"]["inputs"][1], json!({"name": "b.bin", "byteSize": "2"}));
    let again = world.mutate("executionStart", &input, selection).await;
    assert_eq!((&again["replayed"], &again["execution"]["id"]), (&json!(true), &first["execution"]["id"]));
    let mut other = input.clone();
    other["task"] = json!("Something else.");
    let refused = world.mutate("executionStart", &other, selection).await;
    assert_eq!(faults(&refused), pairs([("input.idempotencyKey", "IDEMPOTENCY_CONFLICT")]));
    let cancel = json!({"executionId": first["execution"]["id"]});
    let cancelled = world.mutate("executionCancel", &cancel, "execution { status stopReason { code } }").await;
    assert_eq!(cancelled["execution"], json!({"status": "CANCELLED", "stopReason": {"code": "CANCELLED"}}));
}

#[tokio::test]
async fn names_every_fault_of_a_start() {
    let world = World::new().await;
    let things = world.things().await;
    let input = json!({
        "agentId": things.agent, "task": " ", "idempotencyKey": "",
        "limits": {"maxTokens": "0", "maxIterations": -1, "maxCostUsd": "0"}, "deadlineAt": "2001-01-01T00:00:00Z",
        "files": [{"name": "../x", "text": ""}],
    });
    let mut found = faults(&world.mutate("executionStart", &input, "replayed").await);
    found.sort();
    let expected = pairs([
        ("input.deadlineAt", "OUT_OF_RANGE"),
        ("input.files.0.name", "INVALID_PATH"),
        ("input.idempotencyKey", "OUT_OF_RANGE"),
        ("input.limits.maxCostUsd", "OUT_OF_RANGE"),
        ("input.limits.maxIterations", "OUT_OF_RANGE"),
        ("input.limits.maxTokens", "OUT_OF_RANGE"),
        ("input.task", "OUT_OF_RANGE"),
    ]);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn refuses_input_that_cannot_be_read_together_with_broken_rules() {
    let world = World::new().await;
    let input = json!({
        "agentId": "exe_nonsense", "task": "t", "idempotencyKey": "k",
        "limits": {"maxCostUsd": "1e3", "maxToolCalls": 0}, "files": [{"name": "a"}, {"name": "b", "contentBase64": "!"}],
    });
    let found = faults(&world.mutate("executionStart", &input, "replayed").await);
    let expected = pairs([
        ("input.agentId", "MALFORMED_ID"),
        ("input.files.0", "MISSING"),
        ("input.files.1.contentBase64", "MALFORMED"),
        ("input.limits.maxCostUsd", "MALFORMED"),
        ("input.limits.maxToolCalls", "OUT_OF_RANGE"),
    ]);
    assert_eq!(found, expected);
    let neither = json!({"task": "t", "idempotencyKey": "k"});
    assert_eq!(
        faults(&world.mutate("executionStart", &neither, "replayed").await),
        pairs([("input.agentId", "MISSING")])
    );
    let spec = json!({
        "instructions": "", "modelId": "nope", "tools": ["fly", "run_python"],
        "limits": {"maxErrorsPerTool": 0}, "loopPolicy": {"onLoop": "STOP", "maxIdenticalCalls": 1, "maxPolls": -1},
    });
    let input = json!({"projectId": "prj_", "slug": "Not A Slug", "name": "", "spec": spec});
    let mut found = faults(&world.mutate("agentCreate", &input, "agent { id }").await);
    found.sort();
    let expected = pairs([
        ("input.name", "MALFORMED"),
        ("input.projectId", "MALFORMED_ID"),
        ("input.slug", "MALFORMED"),
        ("input.spec.limits.maxErrorsPerTool", "OUT_OF_RANGE"),
        ("input.spec.loopPolicy.maxIdenticalCalls", "OUT_OF_RANGE"),
        ("input.spec.loopPolicy.maxPolls", "OUT_OF_RANGE"),
        ("input.spec.modelId", "MALFORMED_ID"),
        ("input.spec.tools.0", "UNKNOWN_TOOL"),
        ("input.spec.tools.1", "SANDBOX_PROFILE_MISSING"),
    ]);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn publishing_an_agent_grants_what_it_uses_and_a_revoked_grant_is_gone() {
    use domain::access::{AccessStore, Action, Target};
    let world = World::new().await;
    let things = world.things().await;
    let identity = world.store.service_identity(world.owner.scope(), things.agent.parse().unwrap()).await.unwrap();
    let identity = identity.unwrap().principal_id;
    let has_grant = async |resource: &str| {
        let resource_id = Some(resource.parse().unwrap());
        let target = Target { tenant_id: world.owner.tenant_id, project_id: world.project, resource_id };
        world.store.facts(identity, Action::Use, &target).await.unwrap().is_some_and(|facts| facts.has_grant)
    };
    for resource in [&things.model, &things.credential, &things.profile, &things.connection] {
        assert!(has_grant(resource).await, "{resource}");
    }
    let grant = json!({"agentId": things.agent, "resourceId": things.model});
    assert_eq!(world.mutate("grantRevoke", &grant, "granted").await["granted"], false);
    assert!(!has_grant(&things.model).await && has_grant(&things.credential).await);
    assert_eq!(world.mutate("grantCreate", &grant, "granted").await["granted"], true);
    assert!(has_grant(&things.model).await);
}

#[tokio::test]
async fn keeps_drafts_from_running_until_they_are_published() {
    let world = World::new().await;
    let things = world.things().await;
    let spec = json!({"instructions": "v2", "modelId": things.model, "tools": ["note"]});
    let input = json!({"agentId": things.agent, "spec": spec});
    let draft = world.mutate("agentVersionCreate", &input, "version { id number state publishedAt }").await;
    assert_eq!(draft["version"]["number"], 2);
    assert_eq!(draft["version"]["state"], "DRAFT");
    let start = json!({"agentVersionId": draft["version"]["id"], "task": "t", "idempotencyKey": "k"});
    let refused = world.mutate("executionStart", &start, "replayed").await;
    assert_eq!(faults(&refused), pairs([("input.agentVersionId", "NOT_PUBLISHED")]));
    let publish = json!({"versionId": draft["version"]["id"]});
    let selection = "version { state publishedAt ... on AgentVersion { instructions agent { slug } } }";
    let published = world.mutate("resourceVersionPublish", &publish, selection).await;
    assert_eq!(published["version"]["state"], "PUBLISHED");
    assert_eq!(published["version"]["agent"]["slug"], "auditor");
    assert_eq!(world.mutate("executionStart", &start, "replayed").await["userErrors"], json!([]));
    let archived = world
        .mutate("resourceArchive", &json!({"resourceId": things.agent}), "resource { ... on Agent { archivedAt } }")
        .await;
    assert!(archived["resource"]["archivedAt"].is_string());
    let refused = world.mutate("agentVersionCreate", &input, "version { id }").await;
    assert_eq!(faults(&refused), pairs([("input.agentId", "ARCHIVED")]));
}

#[tokio::test]
async fn refuses_an_agent_whose_model_has_no_published_version() {
    let world = World::new().await;
    let project = world.project.to_string();
    let spec = json!({
        "protocol": "OPENAI_COMPATIBLE", "provider": "p", "deployment": "d", "alias": "a", "baseUrl": "http://h/v1",
        "contextWindow": 9, "maxOutputTokens": 1,
    });
    let input = json!({"projectId": project, "slug": "m", "name": "m", "spec": spec});
    let model = world.mutate("modelCreate", &input, "model { id latestVersion { id } }").await;
    assert_eq!(model["model"]["latestVersion"], Value::Null);
    assert_eq!(faults(&world.mutate("modelCreate", &input, "model { id }").await), pairs([("input.slug", "TAKEN")]));
    let spec = json!({"instructions": "", "modelId": model["model"]["id"], "tools": []});
    let mut agent = json!({"projectId": project, "slug": "a", "name": "a", "spec": spec, "publish": true});
    let refused = world.mutate("agentCreate", &agent, "agent { id }").await;
    assert_eq!(faults(&refused), pairs([("input.spec.modelId", "NOT_PUBLISHED")]));
    agent["publish"] = json!(false);
    let draft = world.mutate("agentCreate", &agent, "agent { id } version { id }").await;
    let refused = world.mutate("resourceVersionPublish", &json!({"versionId": draft["version"]["id"]}), "").await;
    assert_eq!(faults(&refused), pairs([("input.versionId", "NOT_PUBLISHED")]));
}

#[tokio::test]
async fn never_returns_a_secret() {
    let world = World::new().await;
    let things = world.things().await;
    let version = json!({"credentialId": things.credential, "secret": SECRET});
    let payload = world.mutate("credentialVersionCreate", &version, "credential { id } version { id digest }").await;
    let broken = json!({"projectId": "x", "slug": "y", "name": "z", "secret": format!("{SECRET}\n")});
    let refused = world.mutate("credentialCreate", &broken, "credential { id }").await;
    assert_eq!(faults(&refused).len(), 2, "{refused}");
    let everything = world
        .data(
            "query($p: ID!, $n: ID!) {
                credentials(projectId: $p) { nodes { id slug name versions { nodes { id number digest state } } } }
                models(projectId: $p) { nodes { latestVersion { baseUrl parameters credential { id } } } }
                node(id: $n) { ... on ApiKey { name prefix } }
            }",
            json!({"p": things.project, "n": things.key}),
        )
        .await;
    for answer in [payload, refused, everything] {
        assert!(!answer.to_string().contains(SECRET), "{answer}");
    }
}

#[tokio::test]
async fn overrides_the_loop_guard_with_an_audit_record_until_the_end() {
    let world = World::new().await;
    let things = world.things().await;
    let broken = json!({"executionId": things.execution, "reason": " ", "pardons": -1});
    assert_eq!(
        faults(&world.mutate("executionOverrideLoop", &broken, "execution { id }").await),
        pairs([("input.reason", "MALFORMED"), ("input.pardons", "OUT_OF_RANGE")])
    );
    let input = json!({"executionId": things.execution, "reason": "The build is slow today.", "pardons": 2});
    let selection = "execution { id auditRecords { sequence by action target reason detail previousHash } }";
    let payload = world.mutate("executionOverrideLoop", &input, selection).await;
    let records = payload["execution"]["auditRecords"].as_array().unwrap();
    assert_eq!(records.len(), 1, "{payload}");
    let record = &records[0];
    assert_eq!((record["sequence"].as_str(), record["action"].as_str()), (Some("3"), Some("EXECUTION_OVERRIDE_LOOP")));
    assert_eq!((&record["by"], &record["target"]), (&json!(world.owner.id.to_string()), &json!(things.execution)));
    assert_eq!((&record["reason"], &record["detail"]["pardons"]), (&input["reason"], &json!(2)));
    world.mutate("executionCancel", &json!({"executionId": things.execution}), "execution { status }").await;
    let late = world.mutate("executionOverrideLoop", &input, "execution { id }").await;
    assert_eq!(faults(&late), pairs([("input.executionId", "EXECUTION_ENDED")]));
}

#[tokio::test]
async fn shows_a_loop_policy_with_every_threshold() {
    let world = World::new().await;
    let things = world.things().await;
    let selection = "version { ... on AgentVersion { loopPolicy { onLoop maxIdenticalCalls maxRepeatedErrors maxCycles maxPolls } } }";
    let shown = async |policy: serde_json::Value| {
        let spec = json!({"instructions": "", "modelId": things.model, "tools": ["note"], "loopPolicy": policy});
        let input = json!({"agentId": things.agent, "spec": spec});
        world.mutate("agentVersionCreate", &input, selection).await["version"]["loopPolicy"].clone()
    };
    assert_eq!(
        shown(json!({"onLoop": "BLOCK", "maxIdenticalCalls": 4, "maxPolls": 50})).await,
        json!({"onLoop": "BLOCK", "maxIdenticalCalls": 4, "maxRepeatedErrors": 4, "maxCycles": 4, "maxPolls": 50})
    );
    assert_eq!(
        shown(Value::Null).await,
        json!({"onLoop": "STOP", "maxIdenticalCalls": 3, "maxRepeatedErrors": 3, "maxCycles": 3, "maxPolls": 10})
    );
}
