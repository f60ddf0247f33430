//! The rules of `graphql-transport-ws`: messages, ids and close codes.

use std::time::Duration;

use serde_json::{Value, json};

use super::peer::{Peer, Seen};
use super::world::World;

fn next(id: &str, data: Value) -> Value {
    json!({"id": id, "type": "next", "payload": {"data": data}})
}

fn complete(id: &str) -> Value {
    json!({"id": id, "type": "complete"})
}

#[tokio::test]
async fn follows_a_subscription_to_its_end() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    peer.subscribe("1", "subscription { countdown(count: 2) { seq } }").await;
    assert_eq!(peer.message().await, next("1", json!({"countdown": {"seq": 1}})));
    assert_eq!(peer.message().await, next("1", json!({"countdown": {"seq": 2}})));
    assert_eq!(peer.message().await, complete("1"));
    peer.subscribe("1", "subscription { countdown(count: 0) { seq } }").await;
    assert_eq!(peer.message().await, complete("1"), "an id is free again after complete");
}

#[tokio::test]
async fn runs_queries_and_mutations() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    peer.send(json!({"id": "q", "type": "subscribe", "payload": {
        "query": "query A { who } query B($n: String!) { hello(name: $n) }",
        "operationName": "B", "variables": {"n": "ada"}, "extensions": null}}))
        .await;
    assert_eq!(peer.message().await, next("q", json!({"hello": "hello ada"})));
    assert_eq!(peer.message().await, complete("q"));
    peer.subscribe("m", "mutation { increment }").await;
    assert_eq!(peer.message().await, next("m", json!({"increment": 1})));
    assert_eq!(peer.message().await, complete("m"));
    assert_eq!(world.mutated(), 1);
}

#[tokio::test]
async fn an_id_may_be_used_again_after_complete_but_not_twice_at_once() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    let query = "subscription { runEvents(runId: \"r1\", after: 0) { seq } }";
    peer.subscribe("1", query).await;
    for seq in 1..=3 {
        assert_eq!(peer.message().await, next("1", json!({"runEvents": {"seq": seq}})));
    }
    peer.complete("1").await;
    peer.subscribe("1", query).await;
    for seq in 1..=3 {
        assert_eq!(peer.message().await, next("1", json!({"runEvents": {"seq": seq}})), "complete is not echoed");
    }
    peer.subscribe("1", query).await;
    assert_eq!(peer.see().await, Seen::Closed(4409, "Subscriber for 1 already exists".into()));
    world.settled().await;
}

#[tokio::test]
async fn the_last_of_three_at_once_closes_the_socket() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    let query = "subscription { runEvents(runId: \"r1\", after: 0) { seq } }";
    peer.subscribe("1", query).await;
    peer.complete("1").await;
    peer.subscribe("1", query).await;
    peer.subscribe("1", query).await;
    assert_eq!(peer.closed().await.0, 4409);
    world.settled().await;
}

#[tokio::test]
async fn a_refused_document_is_an_error_message() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    let cases = [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("subscription { nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { a: countdown(count: 1) { seq } b: countdown(count: 1) { seq } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { ...F } fragment F on Events { countdown(count: 1) { seq } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { ... on Events { countdown(count: 1) { seq } } }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { __typename }", "GRAPHQL_VALIDATION_FAILED"),
        ("subscription { countdown(count: 1) @skip(if: true) { seq } }", "GRAPHQL_VALIDATION_FAILED"),
        ("query { ...A } fragment A on Query { ...A }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ page(first: 101) { nodes } }", "BAD_USER_INPUT"),
    ];
    for (query, code) in cases {
        peer.subscribe("1", query).await;
        let message = peer.message().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("error"), &json!("1")), "{query}");
        assert_eq!(message["payload"][0]["extensions"]["code"], code, "{query}");
        assert!(message["payload"][0]["extensions"]["requestId"].is_string(), "{query}");
    }
    assert_eq!(world.resolved(), 0);
}

#[tokio::test]
async fn errors_of_resolvers_are_masked_as_over_http() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    let cases = [
        ("{ uncoded }", "INTERNAL"),
        ("{ panics }", "INTERNAL"),
        ("{ coded }", "NOT_FOUND"),
        ("subscription { refused { seq } }", "BAD_USER_INPUT"),
    ];
    for (query, code) in cases {
        peer.subscribe("1", query).await;
        let message = peer.message().await;
        assert_eq!(message["type"], "next", "{query}");
        assert_eq!(message["payload"]["errors"][0]["extensions"]["code"], code, "{query}");
        assert_eq!(peer.message().await, complete("1"));
    }
    peer.subscribe("1", "subscription { breaks { seq } }").await;
    let message = peer.message().await;
    assert_eq!((&message["type"], &message["payload"][0]["extensions"]["code"]), (&json!("error"), &json!("INTERNAL")));
}

#[tokio::test]
async fn answers_pings_of_the_protocol() {
    let world = World::start().await;
    let mut peer = Peer::connect(&world).await;
    peer.send(json!({"type": "ping"})).await;
    assert_eq!(peer.message().await, json!({"type": "pong"}), "also before the initialisation");
    peer.send(json!({"type": "pong", "payload": {"x": 1}})).await;
    peer.send(json!({"type": "connection_init"})).await;
    assert_eq!(peer.message().await, json!({"type": "connection_ack"}));
    peer.complete("unknown").await;
    peer.send(json!({"type": "ping", "payload": {}})).await;
    assert_eq!(peer.message().await, json!({"type": "pong"}));
}

#[tokio::test]
async fn closes_on_what_is_not_the_protocol() {
    let world = World::start().await;
    for text in [
        "",
        "no json",
        "[]",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"start","id":"1","payload":{"query":"{ who }"}}"#,
        r#"{"type":"subscribe","payload":{"query":"{ who }"}}"#,
        r#"{"type":"subscribe","id":"","payload":{"query":"{ who }"}}"#,
        r#"{"type":"subscribe","id":1,"payload":{"query":"{ who }"}}"#,
        r#"{"type":"subscribe","id":"1"}"#,
        r#"{"type":"subscribe","id":"1","payload":{}}"#,
        r#"{"type":"subscribe","id":"1","payload":{"query":"{ who }","variables":[]}}"#,
        r#"{"type":"complete"}"#,
        r#"{"type":"connection_init","payload":"x"}"#,
        r#"{"type":"connection_init","payload":["x"]}"#,
        r#"{"type":"connection_init","payload":{"authorization":7}}"#,
    ] {
        let mut peer = Peer::connect(&world).await;
        peer.send_text(text).await;
        assert_eq!(peer.closed().await.0, 4400, "{text}");
    }
    let mut peer = Peer::connect(&world).await;
    let binary = br#"{"type":"connection_init"}"#.to_vec();
    futures_util::SinkExt::send(&mut peer.socket, tokio_tungstenite::tungstenite::Message::binary(binary))
        .await
        .unwrap();
    assert_eq!(peer.closed().await.0, 4400);
    world.settled().await;
}

#[tokio::test]
async fn closes_on_messages_out_of_order() {
    let world = World::start_with(|settings| settings.socket.init_time = Duration::from_millis(100)).await;
    let mut peer = Peer::connect(&world).await;
    peer.subscribe("1", "{ who }").await;
    assert_eq!(peer.see().await, Seen::Closed(4401, "Unauthorized".into()));

    let mut peer = Peer::ready(&world).await;
    peer.send(json!({"type": "connection_init"})).await;
    assert_eq!(peer.see().await, Seen::Closed(4429, "Too many initialisation requests".into()));

    let mut peer = Peer::connect(&world).await;
    assert_eq!(peer.see().await, Seen::Closed(4408, "Connection initialisation timeout".into()));
}

#[tokio::test]
async fn closes_when_another_protocol_is_asked_for() {
    let world = World::start().await;
    let legacy = Peer::try_connect(&world, &[("sec-websocket-protocol", "graphql-ws")]).await;
    // The client library itself refuses a server that selects none of its protocols.
    assert!(legacy.is_err());
    let offered = [("sec-websocket-protocol", "graphql-ws, graphql-transport-ws")];
    let mut peer = Peer::try_connect(&world, &offered).await.unwrap();
    peer.send(json!({"type": "connection_init"})).await;
    assert_eq!(peer.message().await, json!({"type": "connection_ack"}));

    let mut request = tokio_tungstenite::tungstenite::client::IntoClientRequest::into_client_request(format!(
        "ws://{}/graphql",
        world.address
    ))
    .unwrap();
    request.headers_mut().remove("sec-websocket-protocol");
    let tcp = tokio::net::TcpStream::connect(world.address).await.unwrap();
    let mut peer = Peer { socket: tokio_tungstenite::client_async(request, tcp).await.unwrap().0 };
    assert_eq!(peer.see().await, Seen::Closed(4406, "Subprotocol not acceptable".into()));
}

#[tokio::test]
async fn a_long_id_is_refused_and_no_reason_breaks_its_frame() {
    let world = World::start().await;
    let mut peer = Peer::ready(&world).await;
    let id = "é".repeat(64);
    peer.subscribe(&id, "subscription { ticks(everyMs: 10000) { seq } }").await;
    peer.subscribe(&id, "subscription { ticks(everyMs: 10000) { seq } }").await;
    let (code, reason) = peer.closed().await;
    assert_eq!(code, 4409);
    assert!(reason.len() <= 123 && reason.starts_with("Subscriber for é"), "{reason}");
    let mut peer = Peer::ready(&world).await;
    peer.subscribe(&"x".repeat(129), "{ who }").await;
    assert_eq!(peer.closed().await.0, 4400);
}
