//! Fallback models, seen from outside: a model that cannot be reached gives way, and the API tells which one answered.

use e2e::Result;
use e2e::agents::project;
use e2e::books::{Books, assert_closed};
use e2e::client::{Client, text};
use e2e::follow::whole_log;
use e2e::process::{Server, ServerOptions};
use serde_json::{Value, json};

const CALLS: &str = "query C($id: ID!) { execution(id: $id) { status answer modelVersions { alias maxRetries } \
    iterations(first: 10) { nodes { modelCalls { alias state fallbackIndex fallbackBecause { code } tries error { code } \
    cost { nanoUsd } priceVersion { outputPerMillion { amount } } } } } } }";

async fn model(client: &Client, alias: &str, base_url: &str, output_price: &str) -> Result<String> {
    let provider = if base_url == "scripted:" { "scripted" } else { "loopback" };
    let input = json!({
        "projectId": project(client).await?, "slug": alias, "name": alias, "publish": true,
        "spec": {
            "protocol": "OPENAI_COMPATIBLE", "provider": provider, "deployment": "burst", "alias": alias,
            "baseUrl": base_url, "contextWindow": 1_000_000, "maxOutputTokens": 100_000, "maxRetries": 1,
            "price": { "inputPerMillionUsd": "1", "outputPerMillionUsd": output_price },
        },
    });
    text(&client.mutate("modelCreate", "ModelCreateInput", "model { id }", input).await?, "/model/id")
}

#[tokio::test]
async fn a_model_that_cannot_be_reached_gives_way_to_the_next() -> Result {
    let data = tempfile::tempdir()?;
    let server = Server::start(&ServerOptions::new(&data.path().join("data")))?;
    let client = server.client(server.api_key.as_deref().ok_or("no API key at the first start")?)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let nobody = format!("http://{}/v1", listener.local_addr()?);
    drop(listener);
    let first = model(&client, "away", &nobody, "2").await?;
    let second = model(&client, "here", "scripted:", "3").await?;
    let input = json!({
        "projectId": project(&client).await?, "slug": "careful", "name": "careful", "publish": true,
        "spec": {
            "instructions": "Do the task.", "modelId": first, "fallbackModelIds": [second], "tools": [],
            "limits": { "maxCostUsd": "5" },
        },
    });
    let agent = client.mutate("agentCreate", "AgentCreateInput", "agent { id }", input).await?;
    let execution = client.start(&text(&agent, "/agent/id")?, "deltas=3 over_ms=10 notes=0", "once").await?;
    client.ended(&execution).await?;

    let data = client.query(CALLS, json!({ "id": execution })).await?;
    let seen = &data["execution"];
    assert_eq!((&seen["status"], &seen["answer"]), (&json!("SUCCEEDED"), &json!("d0 d1 d2 ")));
    let models = json!([{ "alias": "away", "maxRetries": 1 }, { "alias": "here", "maxRetries": 1 }]);
    assert_eq!(seen["modelVersions"], models);
    let calls = seen["iterations"]["nodes"][0]["modelCalls"].as_array().ok_or("no model calls")?;
    let unreachable = json!({ "code": "MODEL_UNREACHABLE" });
    let of = |call: &Value, members: [&str; 5]| members.map(|member| call[member].clone());
    let members = ["alias", "fallbackIndex", "fallbackBecause", "tries", "error"];
    assert_eq!(of(&calls[0], members), [json!("away"), json!(0), Value::Null, json!(2), unreachable.clone()]);
    assert_eq!(of(&calls[1], members), [json!("here"), json!(1), unreachable, json!(1), Value::Null]);
    assert_eq!(calls[0]["cost"]["nanoUsd"], "0");
    assert_eq!(calls[1]["priceVersion"]["outputPerMillion"]["amount"], "3");
    assert_closed(&Books::read(&client, &execution).await?);

    let log = whole_log(&client, &execution).await?;
    let retried: Vec<_> = log.iter().filter(|event| event.payload.contains("\"ModelCallRetried\"")).collect();
    assert!(retried.len() == 1 && retried[0].payload.contains("\"MODEL_UNREACHABLE\""), "{retried:?}");
    Ok(())
}
