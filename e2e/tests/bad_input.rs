//! Bad input: each mistake gets a code and a path that its maker can act on, and the server goes on as before.

use std::process::Command;
use std::time::Duration;

use e2e::Result;
use e2e::agents::{AgentSpec, create, project};
use e2e::client::{Client, text};
use e2e::follow::{Follower, whole_log};
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

const ABSENT_RESOURCE: &str = "res_00000000000000000000000000";
const ABSENT_EXECUTION: &str = "exe_00000000000000000000000000";

/// One server with an agent that echoes.
struct Bench {
    _data: tempfile::TempDir,
    server: Server,
    client: Client,
    agent: String,
}

impl Bench {
    async fn start() -> Result<Self> {
        Self::with_environment(Vec::new()).await
    }

    async fn with_environment(environment: Vec<(String, String)>) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let mut options = ServerOptions::new(&data.path().join("data"));
        options.environment = environment;
        let server = Server::start(&options)?;
        let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
        let agent = create(&client, &AgentSpec::new("echo", "echo")).await?;
        Ok(Self { _data: data, server, client, agent })
    }

    async fn agent(&self, slug: &str, scenario: &str) -> Result<String> {
        create(&self.client, &AgentSpec::new(slug, scenario)).await
    }

    /// The refusals of a start call that is right but for these fields.
    async fn start_refusals(&self, fields: Value) -> Result<Vec<String>> {
        let mut input = json!({ "agentId": self.agent, "task": "hello", "idempotencyKey": "refused" });
        for (name, value) in fields.as_object().ok_or("no fields")? {
            input[name] = value.clone();
        }
        self.client.refusals("executionStart", "ExecutionStartInput", input).await
    }

    /// The server still answers, and still runs.
    async fn finish(self) -> Result {
        let data = self.client.query("{ viewer { id } }", json!({})).await?;
        text(&data, "/viewer/id")?;
        let execution = self.client.start(&self.agent, "still here", "finish").await?;
        let state = self.client.ended(&execution).await?;
        assert_eq!((state["status"].as_str(), state["answer"].as_str()), (Some("SUCCEEDED"), Some("still here")));
        assert!(self.server.stop()?.success());
        Ok(())
    }
}

#[tokio::test]
async fn a_start_names_every_field_that_is_wrong() -> Result {
    let bench = Bench::start().await?;
    let draft = draft_agent(&bench.client).await?;
    let too_much = "x".repeat(512 * 1024 + 1);
    let cases = [
        (json!({ "agentId": ABSENT_RESOURCE }), vec!["NOT_FOUND input.agentId"]),
        (json!({ "agentId": "nonsense" }), vec!["MALFORMED_ID input.agentId"]),
        (json!({ "agentId": ABSENT_EXECUTION }), vec!["MALFORMED_ID input.agentId"]),
        (json!({ "agentId": null }), vec!["MISSING input.agentId"]),
        (json!({ "agentId": null, "agentVersionId": "ver_" }), vec!["MALFORMED_ID input.agentVersionId"]),
        (json!({ "agentId": draft.0 }), vec!["NOT_PUBLISHED input.agentId"]),
        (json!({ "agentId": null, "agentVersionId": draft.1 }), vec!["NOT_PUBLISHED input.agentVersionId"]),
        (json!({ "agentVersionId": draft.1 }), vec!["CONFLICTING input.agentVersionId"]),
        (json!({ "task": " \n" }), vec!["OUT_OF_RANGE input.task"]),
        (json!({ "task": "x".repeat(64 * 1024 + 1) }), vec!["OUT_OF_RANGE input.task"]),
        (json!({ "idempotencyKey": "" }), vec!["OUT_OF_RANGE input.idempotencyKey"]),
        (json!({ "idempotencyKey": "k".repeat(129) }), vec!["OUT_OF_RANGE input.idempotencyKey"]),
        (json!({ "deadlineAt": "2001-01-01T00:00:00Z" }), vec!["OUT_OF_RANGE input.deadlineAt"]),
        (json!({ "files": [{ "name": "big", "text": too_much }] }), vec!["TOO_LARGE input.files"]),
        (json!({ "files": [{ "name": "../up", "text": "" }] }), vec!["INVALID_PATH input.files.0.name"]),
        (
            json!({ "files": [{ "name": "a", "text": "" }, { "name": "a", "text": "" }] }),
            vec!["DUPLICATE input.files.1.name"],
        ),
        (
            json!({ "files": [{ "name": "a", "contentBase64": "@" }, { "name": "b" }] }),
            vec!["MALFORMED input.files.0.contentBase64", "MISSING input.files.1"],
        ),
    ];
    for (fields, expected) in cases {
        let shown: String = fields.to_string().chars().take(80).collect();
        assert_eq!(bench.start_refusals(fields).await?, expected, "{shown}");
    }
    let many: Vec<_> = (0..33).map(|number| json!({ "name": format!("f{number}"), "text": "" })).collect();
    assert_eq!(bench.start_refusals(json!({ "files": many })).await?, ["TOO_MANY input.files"]);
    bench.finish().await
}

#[tokio::test]
async fn a_limit_must_be_above_zero() -> Result {
    let bench = Bench::start().await?;
    let limits = [
        ("maxIterations", json!(0)),
        ("maxIterations", json!(-1)),
        ("maxModelCalls", json!(0)),
        ("maxToolCalls", json!(-7)),
        ("maxTokens", json!("0")),
        ("maxTokens", json!(-5)),
        ("maxCostUsd", json!("0")),
        ("maxCostUsd", json!("-1")),
        ("maxCostUsd", json!("-0.000000001")),
        ("maxActiveTimeMs", json!(0)),
        ("maxErrorsPerTool", json!(0)),
    ];
    let project = project(&bench.client).await?;
    for (name, value) in limits {
        let refusals = bench.start_refusals(json!({ "limits": { name: value } })).await?;
        assert_eq!(refusals, [format!("OUT_OF_RANGE input.limits.{name}")], "{value}");
        let spec = json!({ "instructions": "Do.", "modelId": ABSENT_RESOURCE, "tools": [], "limits": { name: value } });
        let agent = json!({ "projectId": project, "slug": "limited", "name": "limited", "spec": spec });
        let refusals = bench.client.refusals("agentCreate", "AgentCreateInput", agent).await?;
        let expected = format!("OUT_OF_RANGE input.spec.limits.{name}");
        assert!(refusals.contains(&expected), "{value}: {refusals:?}");
    }
    let malformed = bench.start_refusals(json!({ "limits": { "maxCostUsd": "much" } })).await?;
    assert_eq!(malformed, ["MALFORMED input.limits.maxCostUsd"]);
    bench.finish().await
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_as_too_large() -> Result {
    let bench = Bench::start().await?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let send = |body: Vec<u8>| {
        let request = http.post(format!("{}/graphql", bench.client.url)).bearer_auth(&bench.client.api_key);
        request.header("content-type", "application/json").body(body).send()
    };
    let padded = |bytes: usize| format!("{{\"query\":\"{{ viewer {{ id }} }}\"{}}}", " ".repeat(bytes)).into_bytes();
    assert_eq!(send(padded(1000 * 1024)).await?.status(), 200);
    // The answer must also reach a sender that is busy writing.
    for mebibytes in [1, 2, 4, 7] {
        let refused = send(padded(mebibytes << 20)).await?;
        assert_eq!(refused.status(), 413);
        assert_eq!(code_of(&serde_json::from_str(&refused.text().await?)?), "BAD_USER_INPUT");
    }
    for body in ["", "{", "[]", "null", "{\"query\":7}", "{\"query\":\"{\", \"query\":\"{\"}"] {
        let refused = send(body.as_bytes().to_vec()).await?;
        assert_eq!(refused.status(), 400, "{body}");
        assert_eq!(code_of(&serde_json::from_str(&refused.text().await?)?), "BAD_USER_INPUT", "{body}");
    }
    bench.finish().await
}

#[tokio::test]
async fn ids_and_pages_that_are_none_are_refused_and_strangers_are_not_found() -> Result {
    let bench = Bench::start().await?;
    let refused = [
        "{ execution(id: \"zzz\") { id } }",
        "{ execution(id: \"res_00000000000000000000000000\") { id } }",
        "{ execution(id: \"exe_0000000000000000000000000\") { id } }",
        "{ execution(id: \"exe_0000000000000000000000000é\") { id } }",
        "{ node(id: \"exe_!!\") { id } }",
        "{ nodes(ids: [\"\"]) { id } }",
        "{ executions(after: \"zzz\") { nodes { id } } }",
        "{ executions(first: 0) { nodes { id } } }",
        "{ executions(first: -1) { nodes { id } } }",
        "{ executions(first: 101) { nodes { id } } }",
    ];
    for document in refused {
        assert_eq!(code_of(&bench.client.send(document, json!({})).await?), "BAD_USER_INPUT", "{document}");
    }
    let document = "query N($id: ID!) { execution(id: $id) { id } node(id: $id) { id } }";
    let data = bench.client.query(document, json!({ "id": ABSENT_EXECUTION })).await?;
    assert_eq!(data, json!({ "execution": null, "node": null }));
    let cancel = async |id: &str| {
        bench.client.refusals("executionCancel", "ExecutionCancelInput", json!({ "executionId": id })).await
    };
    assert_eq!(cancel(ABSENT_EXECUTION).await?, ["NOT_FOUND input.executionId"]);
    assert_eq!(cancel("zzz").await?, ["MALFORMED_ID input.executionId"]);
    bench.finish().await
}

#[tokio::test]
async fn a_subscription_takes_only_cursors_of_its_own_log() -> Result {
    let bench = Bench::start().await?;
    let execution = bench.client.start(&bench.agent, "one", "one").await?;
    let events = whole_log(&bench.client, &execution).await?;
    let other = bench.client.start(&bench.agent, "two", "two").await?;
    let foreign = &whole_log(&bench.client, &other).await?[0].cursor;
    let own = &events[0].cursor;
    // The 24th character holds high bits of the sequence and nothing else.
    let beyond = format!("{}B{}", &own[..23], &own[24..]);
    let refused = [
        ("", "is not a cursor"),
        ("zzz", "is not a cursor"),
        ("né", "is not a cursor"),
        (&own[..own.len() - 2], "is not a cursor"),
        (&format!("{own}AAAA"), "is not a cursor"),
        (foreign, "belongs to another execution"),
        (&beyond, "lies beyond the last event"),
    ];
    for (cursor, why) in refused {
        let refusal = refusal_of(&bench.client, &execution, Some(cursor)).await?;
        assert!(refusal.contains("BAD_USER_INPUT") && refusal.contains(why), "{cursor}: {refusal}");
    }
    assert!(refusal_of(&bench.client, ABSENT_EXECUTION, None).await?.contains("NOT_FOUND"));
    assert!(refusal_of(&bench.client, "zzz", None).await?.contains("BAD_USER_INPUT"));
    // The cursor of the last event is a place like any other: nothing follows, and the subscription completes.
    let last = events.last().map(|event| event.cursor.as_str());
    assert!(Follower::open(&bench.client, &execution, last).await?.rest().await?.is_empty());
    bench.finish().await
}

#[tokio::test]
async fn a_model_that_fails_ends_the_run_with_its_cause() -> Result {
    let bench = Bench::start().await?;
    let mut down = AgentSpec::new("down", "echo");
    down.base_url = "http://127.0.0.1:1/v1".to_owned();
    let down = create(&bench.client, &down).await?;
    let fail = bench.agent("fail", "fail").await?;
    let cases = [
        (&down, "hello", "MODEL_UNREACHABLE"),
        (&fail, "status=401", "MODEL_CREDENTIALS"),
        (&fail, "status=400", "MODEL_REJECTED"),
        (&fail, "garbage", "MODEL_PROTOCOL"),
        (&fail, "cut", "STREAM_TRUNCATED"),
        (&fail, "error", "MODEL_PROVIDER_ERROR"),
    ];
    for (agent, task, code) in cases {
        let execution = bench.client.start(agent, task, &format!("{agent} {task}")).await?;
        let state = bench.client.ended(&execution).await?;
        assert_eq!(state["status"].as_str(), Some("FAILED"), "{task}: {state}");
        assert_eq!(state["stopReason"]["code"].as_str(), Some("MODEL_FAILED"), "{task}: {state}");
        assert!(text(&state, "/stopReason/message")?.contains(code), "{task}: {state}");
        let call = &state["iterations"]["nodes"][0]["modelCalls"][0];
        assert_eq!((call["state"].as_str(), call["error"]["code"].as_str()), (Some("FAILED"), Some(code)), "{task}");
        assert_eq!(state["budget"]["tokens"]["reserved"].to_string().trim_matches('"'), "0", "{task}");
    }
    bench.finish().await
}

#[tokio::test]
async fn a_revoked_key_ends_its_socket_and_its_requests() -> Result {
    let bench = Bench::start().await?;
    let project = project(&bench.client).await?;
    let wanted = json!({ "projectId": project, "name": "short-lived", "role": "OPERATOR" });
    let made = bench.client.mutate("apiKeyCreate", "ApiKeyCreateInput", "secret apiKey { id }", wanted).await?;
    let holder = Client::new(&bench.client.url, &text(&made, "/secret")?)?;
    let burst = bench.agent("burst", "burst").await?;
    let execution = holder.start(&burst, "deltas=100 over_ms=20000 notes=0", "revoked").await?;
    let follower = Follower::open(&holder, &execution, None).await?;

    let key = json!({ "apiKeyId": text(&made, "/apiKey/id")? });
    bench.client.mutate("apiKeyRevoke", "ApiKeyRevokeInput", "apiKey { revokedAt }", key).await?;
    // One that is left open to the end of the log is not closed in this way.
    assert_eq!(follower.close_code().await?, 4403);
    assert_eq!(code_of(&holder.send("{ viewer { id } }", json!({})).await?), "UNAUTHENTICATED");
    let refused = Follower::open(&holder, &execution, None).await;
    assert!(refused.is_err(), "a new socket was let in");
    let cancelled = json!({ "executionId": execution });
    bench.client.mutate("executionCancel", "ExecutionCancelInput", "execution { id }", cancelled).await?;
    assert_eq!(bench.client.ended(&execution).await?["status"], "CANCELLED");
    bench.finish().await
}

#[tokio::test]
async fn a_grant_that_is_revoked_in_mid_run_stops_the_next_call() -> Result {
    let bench = Bench::start().await?;
    let agent = bench.agent("granted", "tools").await?;
    let calls: Vec<_> =
        (0..50).map(|number| json!([{ "tool": "note", "arguments": { "text": format!("n{number}") } }])).collect();
    let task = json!({ "calls": calls, "first_ms": 200 }).to_string();
    let execution = bench.client.start(&agent, &task, "granted").await?;
    let mut follower = Follower::open(&bench.client, &execution, None).await?;
    while let Some(event) = follower.next().await? {
        if event.payload.contains("\"kind\":\"IterationStarted\",\"iteration\":3") {
            break;
        }
    }
    let document = "query M($project: ID!) { models(projectId: $project) { nodes { id slug } } }";
    let models = bench.client.query(document, json!({ "project": project(&bench.client).await? })).await?;
    let nodes = models["models"]["nodes"].as_array().ok_or("no models")?;
    let model = nodes.iter().find(|node| node["slug"] == "granted").ok_or("no model")?;
    let grant = json!({ "agentId": agent, "resourceId": model["id"] });
    let left = bench.client.mutate("grantRevoke", "GrantInput", "granted", grant.clone()).await?;
    assert_eq!(left["granted"], false);

    let state = bench.client.ended(&execution).await?;
    assert_eq!(
        (state["status"].as_str(), state["stopReason"]["code"].as_str()),
        (Some("FAILED"), Some("ACCESS_DENIED"))
    );
    assert!(text(&state, "/stopReason/message")?.contains(model["id"].as_str().unwrap_or("?")), "{state}");
    assert!(state["currentIteration"].as_u64().is_some_and(|number| (3..10).contains(&number)), "{state}");
    // What was revoked stays so for the next execution, until it is granted again.
    let next = bench.client.start(&agent, &json!({ "calls": [] }).to_string(), "next").await?;
    assert_eq!(bench.client.ended(&next).await?["stopReason"]["code"], "ACCESS_DENIED");
    assert_eq!(bench.client.mutate("grantCreate", "GrantInput", "granted", grant).await?["granted"], true);
    let last = bench.client.start(&agent, &json!({ "calls": [] }).to_string(), "last").await?;
    assert_eq!(bench.client.ended(&last).await?["status"], "SUCCEEDED");
    bench.finish().await
}

#[tokio::test]
async fn one_key_starts_once_and_never_something_else() -> Result {
    let bench = Bench::start().await?;
    let input = |task: &str| json!({ "agentId": bench.agent, "task": task, "idempotencyKey": "twice", "limits": { "maxIterations": 3 } });
    let start = async |input: Value| {
        let selection = "replayed execution { id }";
        bench.client.mutate("executionStart", "ExecutionStartInput", selection, input).await
    };
    // All at once, as a client with impatient retries would.
    let answers = futures_util::future::try_join_all((0..10).map(|_| start(input("once")))).await?;
    let id = text(&answers[0], "/execution/id")?;
    assert!(answers.iter().all(|answer| answer["execution"]["id"] == id.as_str()), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer["replayed"] == false).count(), 1);
    bench.client.ended(&id).await?;
    assert_eq!(start(input("once")).await?, json!({ "replayed": true, "execution": { "id": id } }));
    let refusals = bench.client.refusals("executionStart", "ExecutionStartInput", input("another")).await?;
    assert_eq!(refusals, ["IDEMPOTENCY_CONFLICT input.idempotencyKey"]);
    let data = bench.client.query("{ executions { nodes { id } } }", json!({})).await?;
    assert_eq!(data["executions"]["nodes"], json!([{ "id": id }]));
    bench.finish().await
}

/// A retry that comes late must not be refused for what was right when the key was first used.
#[tokio::test]
async fn a_late_retry_gets_its_execution_also_when_it_could_not_be_started_again() -> Result {
    let bench = Bench::start().await?;
    let agent = bench.agent("late", "echo").await?;
    let input = json!({ "agentId": agent, "task": "t", "idempotencyKey": "late", "deadlineAt": soon()? });
    let start = async || {
        let selection = "replayed execution { id }";
        bench.client.mutate("executionStart", "ExecutionStartInput", selection, input.clone()).await
    };
    let id = text(&start().await?, "/execution/id")?;
    bench.client.ended(&id).await?;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(start().await?, json!({ "replayed": true, "execution": { "id": id } }), "the deadline has passed");
    let archive = json!({ "resourceId": agent });
    bench.client.mutate("resourceArchive", "ResourceArchiveInput", "resource { id }", archive).await?;
    assert_eq!(start().await?, json!({ "replayed": true, "execution": { "id": id } }), "the agent is archived");
    bench.finish().await
}

/// A moment in the near future.
fn soon() -> Result<String> {
    let output = Command::new("date").args(["-u", "-d", "6 seconds", "+%FT%TZ"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

async fn draft_agent(client: &Client) -> Result<(String, String)> {
    let project = project(client).await?;
    let document = "query M($project: ID!) { models(projectId: $project) { nodes { id } } }";
    let models = client.query(document, json!({ "project": project })).await?;
    let spec = json!({ "instructions": "Do.", "modelId": models["models"]["nodes"][0]["id"], "tools": [] });
    let agent = json!({ "projectId": project, "slug": "draft", "name": "draft", "spec": spec });
    let made = client.mutate("agentCreate", "AgentCreateInput", "agent { id } version { id }", agent).await?;
    Ok((text(&made, "/agent/id")?, text(&made, "/version/id")?))
}

async fn refusal_of(client: &Client, execution: &str, cursor: Option<&str>) -> Result<String> {
    match Follower::open(client, execution, cursor).await?.next().await {
        Err(refusal) => Ok(refusal.to_string()),
        Ok(event) => Err(format!("{cursor:?} was taken: {event:?}").into()),
    }
}

fn code_of(answer: &Value) -> &str {
    answer.pointer("/errors/0/extensions/code").and_then(Value::as_str).unwrap_or("no error")
}
