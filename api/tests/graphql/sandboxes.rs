//! What sandbox profiles and connections say over the API.

use serde_json::{Value, json};

use crate::world::{World, faults};

fn named(world: &World, slug: &str, spec: Value) -> Value {
    json!({"projectId": world.project.to_string(), "slug": slug, "name": slug, "publish": true, "spec": spec})
}

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    expected.into_iter().map(|(path, code)| (path.to_owned(), code.to_owned())).collect()
}

#[tokio::test]
async fn a_profile_says_what_its_programs_reach_and_use() {
    let world = World::new().await;
    let things = world.things().await;
    let spec = json!({
        "connectionId": things.connection, "image": "vitrine/code", "memoryBytes": "268435456", "diskBytes": "67108864",
        "idleTtlSeconds": 60, "network": "HOSTS", "networkHosts": ["api.example.com"], "user": "nobody",
        "environment": [{"name": "RUST_LOG", "value": "info"}],
        "credentials": [{"credentialId": things.credential, "name": "TOKEN"}],
    });
    let selection = "version { idleTtlSeconds network networkHosts user environment { name value } \
                     credentials { name variable ttlSeconds credential { id } } }";
    let made = world.mutate("sandboxProfileCreate", &named(&world, "hosts", spec), selection).await;
    let expected = json!({
        "idleTtlSeconds": 60, "network": "HOSTS", "networkHosts": ["api.example.com"], "user": "nobody",
        "environment": [{"name": "RUST_LOG", "value": "info"}],
        "credentials": [
            {"name": "TOKEN", "variable": "TOKEN_FILE", "ttlSeconds": 300, "credential": {"id": things.credential}}
        ],
    });
    assert_eq!(made["version"], expected, "{made}");
}

#[tokio::test]
async fn every_fault_of_a_profile_names_its_field() {
    let world = World::new().await;
    let things = world.things().await;
    let twice = json!({"name": "A", "value": ""});
    let spec = json!({
        "connectionId": things.connection, "image": "vitrine/code", "memoryBytes": "268435456", "diskBytes": "67108864",
        "idleTtlSeconds": -1, "network": "HOSTS", "networkHosts": ["10.0.0.1"], "user": "a b",
        "environment": [twice, twice, {"name": "PATH", "value": "/x"}],
        "credentials": [{"credentialId": "nonsense", "name": "token", "ttlSeconds": 1}],
    });
    let refused = world.mutate("sandboxProfileCreate", &named(&world, "bad", spec), "version { id }").await;
    let expected = pairs([
        ("input.spec.environment.1.name", "DUPLICATE"),
        ("input.spec.credentials.0.credentialId", "MALFORMED_ID"),
        ("input.spec.idleTtlSeconds", "OUT_OF_RANGE"),
        ("input.spec.user", "MALFORMED"),
        ("input.spec.networkHosts.0", "MALFORMED"),
        ("input.spec.environment.PATH", "RESERVED"),
        ("input.spec.credentials.0.name", "MALFORMED"),
        ("input.spec.credentials.0.ttlSeconds", "OUT_OF_RANGE"),
    ]);
    assert_eq!(faults(&refused), expected);
    let missing = json!({
        "connectionId": things.connection, "image": "vitrine/code", "memoryBytes": "268435456", "diskBytes": "67108864",
        "credentials": [{"credentialId": things.model, "name": "TOKEN"}],
    });
    let refused = world.mutate("sandboxProfileCreate", &named(&world, "model", missing), "version { id }").await;
    assert_eq!(faults(&refused), pairs([("input.spec.credentials", "NOT_FOUND")]));
}

#[tokio::test]
async fn a_connection_says_what_its_operator_allowed() {
    let world = World::new().await;
    let create = async |slug: &str, spec: Value| {
        let selection =
            "version { route secureAccess secureRuntime egress endpointPorts endpointPaths warnings { code } }";
        world.mutate("sandboxConnectionCreate", &named(&world, slug, spec), selection).await
    };
    let silent = create("silent", json!({"baseUrl": "https://a.example"})).await;
    assert_eq!(faults(&silent), pairs([("input.spec.egress", "EGRESS_NOT_DECLARED")]));
    let open = json!({"baseUrl": "http://a.example", "allowPlaintext": true, "egress": "CNI", "secureRuntime": "GVISOR",
               "endpointPorts": ["443", "40000-60000"], "endpointPaths": ["/v1/sandboxes"]});
    let expected = json!({
        "route": "DIRECT", "secureAccess": false, "secureRuntime": "GVISOR", "egress": "CNI",
        "endpointPorts": ["443", "40000-60000"], "endpointPaths": ["/v1/sandboxes"],
        "warnings": [{"code": "PLAINTEXT_ALLOWED"}, {"code": "SECURE_ACCESS_OFF"}, {"code": "EGRESS_BY_CLUSTER"}],
    });
    assert_eq!(create("open", open).await["version"], expected);
    let shared = json!({
        "baseUrl": "https://a.example", "egress": "SIDECAR", "route": "GATEWAY", "secureAccess": true,
        "secureRuntime": "KATA",
    });
    assert_eq!(create("shared", shared).await["version"]["warnings"], json!([]));
}

/// Each fault of a connection stands at its field, as the caller wrote it.
#[tokio::test]
async fn every_fault_of_a_connection_names_its_field() {
    let world = World::new().await;
    let things = world.things().await;
    let refused = async |slug: &str, spec: Value| {
        faults(&world.mutate("sandboxConnectionCreate", &named(&world, slug, spec), "version { id }").await)
    };
    let remote = json!({
        "baseUrl": "http://sandboxes.example:8080", "endpointHosts": ["*.a.example", "https://b.example"],
        "endpointPorts": ["443", "9-8"], "endpointPaths": ["box"],
        "egress": "SIDECAR", "secureRuntime": "GVISOR", "secureAccess": true,
    });
    let expected = pairs([
        ("input.spec.baseUrl", "PLAINTEXT_REFUSED"),
        ("input.spec.endpointHosts.1", "MALFORMED"),
        ("input.spec.endpointPorts.1", "MALFORMED"),
        ("input.spec.endpointPaths.0", "MALFORMED"),
        ("input.spec.secureAccess", "SECURE_ACCESS_UNREACHABLE"),
        ("input.spec.egress", "EGRESS_IMPOSSIBLE"),
    ]);
    assert_eq!(refused("remote", remote).await, expected);
    let local = json!({"baseUrl": "local:", "credentialId": things.credential});
    assert_eq!(refused("keyed", local).await, pairs([("input.spec.credentialId", "CONFLICTING")]));
    let port = json!({"baseUrl": "https://sandboxes.example:99999", "egress": "CNI"});
    assert_eq!(refused("port", port).await, pairs([("input.spec.baseUrl", "MALFORMED")]));
}
