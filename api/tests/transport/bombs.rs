//! Documents that are small to send and dear to run. None may reach a resolver.

use serde_json::{Value, json};

use super::world::World;

/// Sends a document and requires that it is refused with this code, before any resolver ran.
async fn refused(world: &World, name: &str, query: &str, code: &str) -> String {
    let reply = world.query(query).await;
    assert_eq!((reply.status, reply.code().as_str()), (400, code), "{name}: {}", reply.text);
    assert_eq!(reply.json().get("data"), None, "{name}");
    assert!(reply.text.len() < 1000, "{name}");
    assert_eq!(world.resolved(), 0, "{name} reached a resolver");
    reply.json()["errors"][0]["message"].as_str().unwrap().to_owned()
}

fn doubling(levels: usize, times: usize) -> String {
    let mut text = "fragment F0 on Query{viewer{id}}".to_owned();
    for level in 1..=levels {
        let spreads = format!("...F{} ", level - 1).repeat(times);
        text.push_str(&format!(" fragment F{level} on Query{{{spreads}}}"));
    }
    format!("{text} query{{...F{levels}}}")
}

fn nested(levels: usize) -> String {
    format!("query{{viewer{}{{id}}{}}}", "{org{owner".repeat(levels), "}}".repeat(levels))
}

#[tokio::test]
async fn fragments_that_double() {
    let world = World::start().await;
    for (levels, times) in [(20, 2), (31, 2), (60, 2), (90, 10)] {
        let message = refused(&world, "nest", &doubling(levels, times), "COST_LIMIT_EXCEEDED").await;
        assert!(message.contains("5000"), "{message}");
    }
}

#[tokio::test]
async fn fragments_that_double_in_an_operation_that_is_not_chosen() {
    let world = World::start().await;
    let bomb = doubling(25, 2).replace("query{", "query Other{");
    let body = json!({"query": format!("query Chosen{{who}} {bomb}"), "operationName": "Chosen"}).to_string();
    let reply = world.send(world.post().bearer_auth("valid").body(body)).await;
    assert_eq!((reply.status, reply.code().as_str()), (400, "COST_LIMIT_EXCEEDED"));
    let large = "fragment F on User{".to_owned() + &"id ".repeat(100) + "}";
    let all = (0..9).map(|n| format!("query Q{n}{{viewer{{{}}}}}", "...F ".repeat(6))).collect::<String>();
    let body = json!({"query": format!("query Chosen{{who}} {all} {large}"), "operationName": "Chosen"}).to_string();
    let reply = world.send(world.post().bearer_auth("valid").body(body)).await;
    assert_eq!((reply.status, reply.code().as_str()), (400, "COST_LIMIT_EXCEEDED"), "validation walks them all");
    let unused = doubling(25, 2).replace("query{...F25}", "query{who}");
    refused(&world, "unused", &unused, "COST_LIMIT_EXCEEDED").await;
}

#[tokio::test]
async fn fragments_that_spread_themselves() {
    let world = World::start().await;
    for query in [
        "query{...A} fragment A on Query{...B} fragment B on Query{...A}",
        "query{...A} fragment A on Query{...A}",
        "query{who} fragment A on User{org{owner{...A}}}",
    ] {
        let message = refused(&world, "cycle", query, "GRAPHQL_VALIDATION_FAILED").await;
        assert!(message.contains("spreads itself"), "{message}");
    }
    let unknown = refused(&world, "unknown", "{ ...Nothing }", "GRAPHQL_VALIDATION_FAILED").await;
    assert_eq!(unknown, "The fragment \"Nothing\" is not defined.");
}

#[tokio::test]
async fn aliases_and_root_fields_without_number() {
    let world = World::start().await;
    let aliases = (0..1000).map(|n| format!("a{n}:viewer{{id}} ")).collect::<String>();
    refused(&world, "aliases", &format!("query{{...F}} fragment F on Query{{{aliases}}}"), "COST_LIMIT_EXCEEDED").await;
    let few = (0..40).map(|n| format!("a{n}:who ")).collect::<String>();
    let message = refused(&world, "root fields", &format!("{{{few}}}"), "COST_LIMIT_EXCEEDED").await;
    assert!(message.contains("root fields"), "{message}");
    let below = (0..50).map(|n| format!("a{n}:id ")).collect::<String>();
    let spread_out = (0..5).map(|n| format!("b{n}:viewer{{{below}}} ")).collect::<String>();
    let message = refused(&world, "aliases in all", &format!("{{{spread_out}}}"), "COST_LIMIT_EXCEEDED").await;
    assert!(message.contains("200"), "{message}");
}

#[tokio::test]
async fn depth_in_fields_brackets_and_fragments() {
    let world = World::start().await;
    refused(&world, "depth", &nested(100), "COST_LIMIT_EXCEEDED").await;
    refused(&world, "just too deep", &nested(6), "COST_LIMIT_EXCEEDED").await;
    let brackets = "[".repeat(30_000);
    for query in [
        format!("{{hello(name:{brackets}"),
        format!("query($x:{brackets}"),
        "{a".repeat(15_000),
        format!("{{hello(name:[\"\"\"x\" {brackets}"),
        format!("{{hello(name:{}", "{a:".repeat(10_000)),
    ] {
        let reply = world.query(&query).await;
        assert_eq!(reply.status, 400, "{}", reply.text);
    }
    let chain = (0..99).map(|n| format!("fragment C{n} on User{{org{{owner{{...C{}}}}}}} ", n + 1)).collect::<String>();
    let query = format!("{{viewer{{...C0}}}} {chain} fragment C99 on User{{id}}");
    refused(&world, "chain", &query, "COST_LIMIT_EXCEEDED").await;
    assert_eq!(world.query(&nested(5)).await.json()["errors"], Value::Null);
}

#[tokio::test]
async fn directives_operations_fragments_variables_and_length() {
    let world = World::start().await;
    let cases = [
        ("directives", format!("{{who {}}}", "@include(if:true)".repeat(5))),
        ("directives in all", format!("{{{}}}", "who @include(if:true) ".repeat(51))),
        ("operations", (0..11).map(|n| format!("query Q{n}{{who}} ")).collect()),
        (
            "fragments",
            format!("{{who}} {}", (0..101).map(|n| format!("fragment F{n} on Query{{who}} ")).collect::<String>()),
        ),
        ("variables", format!("query({}){{who}}", (0..101).map(|n| format!("$v{n}:Int ")).collect::<String>())),
        ("tokens", format!("{{{}}}", "who ".repeat(4000))),
        ("bytes", format!("{{who}} #{}", "x".repeat(32 * 1024))),
    ];
    for (name, query) in cases {
        refused(&world, name, &query, "COST_LIMIT_EXCEEDED").await;
    }
    let sent = (0..101).map(|n| (format!("v{n}"), json!(n))).collect::<serde_json::Map<_, _>>();
    let body = json!({"query": "{ who }", "variables": sent}).to_string();
    assert_eq!(world.send(world.post().bearer_auth("valid").body(body)).await.code(), "COST_LIMIT_EXCEEDED");
}

#[tokio::test]
async fn pages_are_bounded_and_multiply() {
    let world = World::start().await;
    for query in ["{page(first:101){nodes}}", "{page(first:-1){nodes}}", "{page(last:4294967296){nodes}}"] {
        refused(&world, "page", query, "BAD_USER_INPUT").await;
    }
    let body = json!({"query": "query($n:Int){page(first:$n){nodes}}", "variables": {"n": 1_000_000}}).to_string();
    assert_eq!(world.send(world.post().bearer_auth("valid").body(body)).await.code(), "BAD_USER_INPUT");
    refused(&world, "default", "query($n:Int=500){page(first:$n){nodes}}", "BAD_USER_INPUT").await;

    // A page of nothing is no way to hide what stands below it.
    let hidden = "{a(first:0){b(first:100){c(first:100){d(first:100){id}}}}}";
    refused(&world, "hidden", hidden, "COST_LIMIT_EXCEEDED").await;
    let default = "{a{nodes{b{nodes{c{edges{node{id}}}}}}}}";
    refused(&world, "default page", default, "COST_LIMIT_EXCEEDED").await;
    let ids = (0..101).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
    refused(&world, "ids", &format!("{{nodes(ids:[{ids}]){{id}}}}"), "BAD_USER_INPUT").await;
    let product = "{a(first:100){nodes{b(first:100){nodes{c(first:100){nodes{id}}}}}}}";
    let message = refused(&world, "product", product, "COST_LIMIT_EXCEEDED").await;
    assert!(message.contains("estimated objects"), "{message}");
    assert_eq!(world.query("{page(first:100){nodes}}").await.json()["errors"], Value::Null);
}

#[tokio::test]
async fn introspection_has_its_own_limits() {
    let world = World::start().await;
    let deep = "{__schema{types{fields{type{fields{type{fields{name}}}}}}}}";
    let message = refused(&world, "lists", deep, "COST_LIMIT_EXCEEDED").await;
    assert!(message.contains("introspection"), "{message}");
    let many = "{a:__schema{types{name}} b:__schema{types{name}} c:__type(name:\"User\"){name}}";
    refused(&world, "several", many, "COST_LIMIT_EXCEEDED").await;
    let of_types = format!("{{__type(name:\"User\"){}{{name}}{}}}", "{ofType".repeat(25), "}".repeat(25));
    refused(&world, "ofType", &of_types, "COST_LIMIT_EXCEEDED").await;
}
