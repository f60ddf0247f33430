//! Methods, media types, statuses and bodies.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream;
use serde_json::{Value, json};

use super::world::{Reply, World, until};

async fn post(world: &World, body: impl Into<reqwest::Body>) -> Reply {
    world.send(world.post().bearer_auth("valid").body(body)).await
}

#[tokio::test]
async fn answers_in_the_media_type_that_is_liked_best() {
    let world = World::start().await;
    let cases = [
        (None, "application/json"),
        (Some("*/*"), "application/json"),
        (Some("application/*"), "application/json"),
        (Some("application/json"), "application/json"),
        (Some("application/graphql-response+json"), "application/graphql-response+json"),
        (Some("application/graphql-response+json, application/json;q=0.9"), "application/graphql-response+json"),
        (Some("application/graphql-response+json;q=0.1, application/json;q=0.9"), "application/json"),
        (
            Some("text/html, application/json;q=0, application/graphql-response+json"),
            "application/graphql-response+json",
        ),
    ];
    for (accept, expected) in cases {
        let mut request = world
            .client
            .post(world.url())
            .header("content-type", "application/json; charset=UTF-8")
            .body(r#"{"query":"{ __typename }"}"#);
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let reply = world.send(request).await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (200, &*format!("{expected}; charset=utf-8")),
            "{accept:?}"
        );
        assert_eq!(reply.json(), json!({"data": {"__typename": "Query"}}));
    }
}

#[tokio::test]
async fn refuses_media_types_that_it_does_not_speak() {
    let world = World::start().await;
    let body = r#"{"query":"mutation { increment }"}"#;
    let reply = world.send(world.client.post(world.url()).header("accept", "text/html").body(body)).await;
    assert_eq!((reply.status, reply.code().as_str()), (406, "BAD_USER_INPUT"));
    for content_type in [
        "",
        "text/plain",
        "text/plain; application/json",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin1",
    ] {
        let request = world.client.post(world.url()).header("content-type", content_type).body(body);
        assert_eq!(world.send(request).await.status, 415, "{content_type}");
    }
    let zipped = world.post().header("content-encoding", "gzip").body(body);
    assert_eq!(world.send(zipped).await.status, 415);
    assert_eq!(world.mutated(), 0);
}

#[tokio::test]
async fn runs_queries_but_no_mutations_by_get() {
    let world = World::start().await;
    let get = |query: &str, variables: &str| {
        let parameters = [("query", query), ("variables", variables)];
        world.client.get(url::Url::parse_with_params(&world.url(), parameters).unwrap())
    };
    let reply = world.send(get("query($n: String!) { hello(name: $n) }", r#"{"n":"ada"}"#)).await;
    assert_eq!((reply.status, reply.json()), (200, json!({"data": {"hello": "hello ada"}})));

    let reply = world.send(get("mutation { increment }", "{}").bearer_auth("valid")).await;
    assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
    assert_eq!(world.mutated(), 0);

    let reply = world.send(get("{ who }", "{}").header("cookie", "vitrine_session=session")).await;
    assert_eq!(reply.json()["data"]["who"], "nobody", "a link must not act for a signed-in browser");
    let reply = world.send(get("{ who }", "[")).await;
    assert_eq!((reply.status, reply.code().as_str()), (400, "BAD_USER_INPUT"));
}

#[tokio::test]
async fn refuses_other_methods() {
    let world = World::start().await;
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = world.client.request(method, world.url()).header("content-type", "application/json");
        let reply = world.send(request.body(r#"{"query":"mutation { increment }"}"#)).await;
        assert_eq!((reply.status, reply.header("allow")), (405, "GET, POST"));
    }
    assert_eq!(world.mutated(), 0);
}

#[tokio::test]
async fn says_what_is_wrong_with_a_body() {
    let world = World::start().await;
    let cases = [
        ("", "The body is empty; send a JSON object with \"query\"."),
        ("[]", "Batches are not served; send one operation per request."),
        (
            r#"[{"query":"mutation { increment }"},{"query":"mutation { increment }"}]"#,
            "Batches are not served; send one operation per request.",
        ),
        ("\"text\"", "The body must be a JSON object."),
        ("{\"query\":", "The body is not valid JSON (line 1, column 9)."),
        ("{}", "\"query\" is missing."),
        (r#"{"query":null}"#, "\"query\" is missing."),
        (r#"{"query":7}"#, "\"query\" must be a string."),
        (r#"{"query":"{ who }","operationName":{}}"#, "\"operationName\" must be a string."),
        (r#"{"query":"{ who }","variables":[]}"#, "\"variables\" must be an object."),
        (r#"{"query":"{ who }","extensions":"x"}"#, "\"extensions\" must be an object."),
        (r#"{"query":"{ who }","query":"{ who }"}"#, "\"query\" is given twice."),
    ];
    for (body, message) in cases {
        let reply = post(&world, body).await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "BAD_USER_INPUT"), "{body}");
        assert_eq!(reply.json()["errors"][0]["message"], message, "{body}");
        assert_eq!(reply.json().get("data"), None);
    }
    assert_eq!(world.mutated(), 0);
}

#[tokio::test]
async fn bounds_the_body_and_the_time_that_it_takes() {
    let world = World::start_with(|settings| settings.http.body_time = Duration::from_millis(100)).await;
    let large = json!({"query": "{ who }", "variables": {"x": "y".repeat(256 * 1024)}}).to_string();
    assert_eq!(post(&world, large.clone()).await.status, 413);
    let chunks =
        large.into_bytes().chunks(8192).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect::<Vec<_>>();
    let unannounced = reqwest::Body::wrap_stream(stream::iter(chunks));
    assert_eq!(post(&world, unannounced).await.status, 413);
    let endless = reqwest::Body::wrap_stream(stream::pending::<Result<Vec<u8>, std::io::Error>>());
    assert_eq!(post(&world, endless).await.status, 408);
}

#[tokio::test]
async fn tells_by_the_status_whether_execution_began() {
    let world = World::start().await;
    let cases = [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("query($id: String!) { hello(name: $id) }", "BAD_USER_INPUT"),
        ("query A { who } query B { who }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ page(first: 101) { nodes } }", "BAD_USER_INPUT"),
        ("subscription { ticks(everyMs: 1) { seq } }", "BAD_USER_INPUT"),
    ];
    for (query, code) in cases {
        let reply = world.query(query).await;
        assert_eq!((reply.status, reply.code().as_str()), (400, code), "{query}");
        assert_eq!(reply.json().get("data"), None, "{query}");
        let body = json!({ "query": query }).to_string();
        let lenient =
            world.send(world.post().header("accept", "application/json").bearer_auth("valid").body(body)).await;
        assert_eq!(lenient.json().get("data"), None, "{query}");
    }
    let reply = world.query("{ coded }").await;
    assert_eq!((reply.status, reply.code().as_str()), (200, "NOT_FOUND"));
    assert_eq!(reply.json()["data"], json!({"coded": null}));
    let reply = world.query("{ nobody }").await;
    assert_eq!((reply.status, &reply.json()["data"]), (200, &Value::Null));
}

#[tokio::test]
async fn stops_an_operation_that_takes_too_long() {
    let world = World::start_with(|settings| settings.http.execution_time = Duration::from_millis(50)).await;
    let reply = world.query("{ never }").await;
    assert_eq!((reply.status, reply.code().as_str()), (200, "TIMEOUT"));
    assert_eq!(reply.json()["data"], Value::Null);
}

#[tokio::test]
async fn a_mutation_goes_on_when_its_caller_leaves() {
    let world = World::start().await;
    let body = r#"{"query":"mutation { incrementWhenOpen }"}"#;
    let request = world.post().bearer_auth("valid").body(body).send();
    tokio::select! {
        _ = request => panic!("the gate is closed"),
        entered = world.counters.gate.entered.acquire() => entered.unwrap().forget(),
    }
    world.counters.gate.open.add_permits(1);
    until("the mutation is done", || world.counters.mutated.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn carries_the_request_id_through() {
    let world = World::start().await;
    let body = r#"{"query":"{ coded uncoded }"}"#;
    let reply = world.send(world.post().header("x-request-id", "req-12345678").body(body)).await;
    assert_eq!(reply.header("x-request-id"), "req-12345678");
    for error in reply.json()["errors"].as_array().unwrap() {
        assert_eq!(error["extensions"]["requestId"], "req-12345678");
    }
    for unusable in ["short", "white space here", &"x".repeat(65)] {
        let reply = world.send(world.post().header("x-request-id", unusable).body("{")).await;
        let id = reply.header("x-request-id");
        assert_eq!(id.len(), 32, "{unusable}");
        assert_eq!(reply.json()["errors"][0]["extensions"]["requestId"], id);
    }
}

#[tokio::test]
async fn attaches_the_caller_that_the_credentials_name() {
    let world = World::start().await;
    let who = r#"{"query":"{ who }"}"#;
    assert_eq!(world.query("{ who }").await.json()["data"]["who"], "ada");
    assert_eq!(world.anonymous("{ who }").await.json()["data"]["who"], "nobody");
    let cookie = world.send(world.post().header("cookie", "a=b; vitrine_session=session").body(who)).await;
    assert_eq!(cookie.json()["data"]["who"], "cookie");
    for request in [world.post().bearer_auth("wrong"), world.post().basic_auth("valid", Some("valid"))] {
        let reply = world.send(request.body(who)).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "UNAUTHENTICATED"));
        assert_eq!(reply.header("www-authenticate"), "Bearer");
    }
    let reply = world.send(world.post().bearer_auth("down").body(who)).await;
    assert_eq!((reply.status, reply.code().as_str()), (503, "UNAVAILABLE"));
    assert_eq!(reply.json()["errors"][0]["extensions"]["retryable"], true);
    assert!(!reply.text.contains("hunter2"), "{}", reply.text);
}
