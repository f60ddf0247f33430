//! What errors may say.

use serde_json::json;

use super::world::World;

#[tokio::test]
async fn an_error_without_a_code_says_nothing_internal() {
    let world = World::start().await;
    for query in ["{ uncoded }", "{ converted }"] {
        let reply = world.query(query).await;
        assert_eq!((reply.status, reply.code().as_str()), (200, "INTERNAL"), "{query}");
        assert!(!reply.text.contains("10.0.0.7") && !reply.text.contains("digit"), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error() {
    let world = World::start().await;
    let reply = world.query("{ panics }").await;
    assert_eq!((reply.status, reply.code().as_str()), (200, "INTERNAL"));
    assert_eq!(world.query("{ who }").await.status, 200);
}

#[tokio::test]
async fn a_bad_argument_is_the_callers_fault() {
    let world = World::start().await;
    let reply = world.query("{ small(number: 11) }").await;
    assert_eq!(reply.code(), "BAD_USER_INPUT");
    let message = reply.json()["errors"][0]["message"].to_string();
    assert!(message.contains("must be less than or equal to 10"), "{message}");
}

#[tokio::test]
async fn a_value_of_another_type_is_refused_with_its_place_and_what_would_fit() {
    let world = World::start().await;
    let reply = world.query("{ small(number: 1.5) }").await;
    assert_eq!(reply.code(), "GRAPHQL_VALIDATION_FAILED");
    let message = "Invalid value for argument \"number\", expected type \"Int\": a whole number from -2147483648 to \
                   2147483647";
    assert_eq!(reply.json()["errors"][0]["message"], message);
    let other = world.query("{ hello(name: 5) }").await;
    let message = "Invalid value for argument \"name\", expected type \"String\"";
    assert_eq!(other.json()["errors"][0]["message"], message);
}

#[tokio::test]
async fn a_parse_error_is_short_and_quotes_nothing() {
    let world = World::start().await;
    let secret = "s3cret ".repeat(1500);
    let reply = world.query(&format!("{{ who }} # {secret}\n {{ \"{secret}\" }} }}")).await;
    assert_eq!(reply.code(), "GRAPHQL_PARSE_FAILED");
    assert!(reply.text.len() < 500 && !reply.text.contains("s3cret"), "{}", reply.text);
    assert!(reply.json()["errors"][0]["locations"][0]["line"].is_number(), "{}", reply.text);
}

#[tokio::test]
async fn validation_messages_are_bounded_and_few() {
    let world = World::start().await;
    let long = "x".repeat(5000);
    let reply = world.query(&format!("{{ {long} }}")).await;
    assert_eq!(reply.code(), "GRAPHQL_VALIDATION_FAILED");
    assert!(reply.text.len() < 1000, "{}", reply.text.len());
    let many = (0..30).map(|n| format!("unknown{n} ")).collect::<String>();
    let reply = world.query(&format!("{{ viewer {{ {many} }} }}")).await;
    assert_eq!(reply.json()["errors"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn suggestions_are_for_known_callers() {
    let world = World::start().await;
    let known = world.query("{ viewr { id } }").await;
    assert!(known.text.contains("Did you mean"), "{}", known.text);
    let unknown = world.anonymous("{ viewr { id } }").await;
    assert_eq!(unknown.code(), "GRAPHQL_VALIDATION_FAILED");
    assert!(!unknown.text.contains("Did you mean"), "{}", unknown.text);
}

#[tokio::test]
async fn introspection_is_for_known_callers() {
    let world = World::start().await;
    let standard = include_str!("introspection.graphql");
    let reply = world.query(standard).await;
    assert_eq!(reply.status, 200, "{}", &reply.text[..reply.text.len().min(500)]);
    assert_eq!(reply.json()["data"]["__schema"]["queryType"], json!({"name": "Query"}));
    for query in [
        standard,
        "{ a: __type(name: \"User\") { name } }",
        "query { ...F } fragment F on Query { __schema { __typename } }",
    ] {
        let reply = world.anonymous(query).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "UNAUTHENTICATED"), "{query}");
    }
    assert_eq!(world.anonymous("{ __typename }").await.status, 200);
}
