//! The Lifecycle API of the local runtime: who may ask, and what the answers look like.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use local_support::{Host, KEY, body, order, until};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Rows 1 and 2.
#[tokio::test]
async fn asks_for_the_key() {
    let host = Host::start();
    let bare = |path: &str| host.client.get(format!("{}{path}", host.url));
    let (status, refusal) = body(bare("/v1/sandboxes").send().await.unwrap()).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::UNAUTHORIZED, &json!("MISSING_API_KEY")));
    assert_eq!(refusal.as_object().unwrap().len(), 2);
    for wrong in ["wrong", "", &KEY[1..]] {
        let response = bare("/sandboxes").header("OPEN-SANDBOX-API-KEY", wrong).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    }
    for open in ["/health", "/version", "/v1/health"] {
        assert_eq!(bare(open).send().await.unwrap().status(), StatusCode::OK, "{open}");
    }
}

/// Row 64.
#[tokio::test]
async fn refuses_foreign_hosts_and_origins() {
    let host = Host::start();
    let port = host.address().rsplit_once(':').unwrap().1.to_owned();
    for (header, value, expected) in [
        ("host", "evil.example".to_owned(), StatusCode::FORBIDDEN),
        ("host", format!("evil.example:{port}"), StatusCode::FORBIDDEN),
        ("host", format!("localhost:{port}"), StatusCode::OK),
        ("origin", "http://evil.example".to_owned(), StatusCode::FORBIDDEN),
        ("origin", "null".to_owned(), StatusCode::FORBIDDEN),
        ("origin", host.url.clone(), StatusCode::OK),
    ] {
        let response = host.client.get(format!("{}/health", host.url)).header(header, &value).send().await.unwrap();
        assert_eq!(response.status(), expected, "{header}: {value}");
    }
}

/// Row 3.
#[tokio::test]
async fn answers_with_request_ids() {
    let host = Host::start();
    let made = host.request(Method::GET, "/v1/sandboxes").send().await.unwrap();
    assert_eq!(made.headers()["x-request-id"].len(), 32);
    let echoed = host.request(Method::GET, "/v1/sandboxes").header("X-Request-ID", "mine").send().await.unwrap();
    assert_eq!(echoed.headers()["x-request-id"], "mine");
    for path in ["/v1/sandboxes", "/v1/nothing", "/health"] {
        let answer = host.client.get(format!("{}{path}", host.url)).send().await.unwrap();
        assert!(answer.headers().contains_key("x-request-id"), "{path}");
    }
}

/// Rows 4, 8, 12 and 13.
#[tokio::test]
async fn creates_shows_and_removes() {
    let host = Host::start();
    let request = order(json!({ "metadata": { "a": "b" }, "bogus": 1, "timeout": null }));
    let (status, created) = host.post("/v1/sandboxes", request).await;
    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(created["status"]["state"], "Running");
    assert!(created["createdAt"].is_string() && created["entrypoint"].is_array());
    assert!(created.get("expiresAt").is_none());
    assert!(created.as_object().unwrap().values().all(|member| !member.is_null()));
    assert!(created["extensions"]["vitrine.enforced"].as_str().unwrap().contains("network"));
    let path = format!("/sandboxes/{}", created["id"].as_str().unwrap());
    let (status, shown) = host.get(&path).await;
    assert_eq!((status, &shown["image"]["uri"]), (StatusCode::OK, &json!("vitrine/code")));
    assert_eq!(host.delete(&path).await, (StatusCode::NO_CONTENT, json!("")));
    assert_eq!(host.directories(), 0);
    for (status, refusal) in [host.get(&path).await, host.delete(&path).await] {
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(refusal["code"].as_str().unwrap().ends_with("SANDBOX_NOT_FOUND"));
    }
}

/// Rows 5, 6 and 7.
#[tokio::test]
async fn refuses_what_it_cannot_honour() {
    let host = Host::start();
    for (more, status, code) in [
        (json!({ "timeout": 59 }), 422, None),
        (json!({ "timeout": -1 }), 422, None),
        (json!({ "image": null }), 422, None),
        (json!({ "snapshotId": "x" }), 422, None),
        (json!({ "image": null, "snapshotId": "x" }), 404, Some("SNAPSHOT::NOT_FOUND")),
        (json!({ "entrypoint": null }), 422, None),
        (json!({ "resourceLimits": null }), 422, None),
        (json!({ "env": { "A": 1 } }), 422, None),
        (json!({ "image": { "uri": "python:3.12" } }), 400, Some("LOCAL::IMAGE_NOT_AVAILABLE")),
        (json!({ "resourceLimits": { "memory": "lots" } }), 400, Some("SANDBOX::INVALID_PARAMETER")),
        (json!({ "resourceLimits": { "pids": "0" } }), 400, Some("SANDBOX::INVALID_PARAMETER")),
        (json!({ "metadata": { "a": "two words" } }), 400, Some("SANDBOX::INVALID_METADATA_LABEL")),
        (json!({ "metadata": { "opensandbox.io/a": "b" } }), 400, Some("SANDBOX::INVALID_METADATA_LABEL")),
        (json!({ "volumes": [{ "name": "v" }] }), 400, Some("SANDBOX::API_NOT_SUPPORTED")),
        (json!({ "secureAccess": true }), 400, Some("SANDBOX::API_NOT_SUPPORTED")),
        (json!({ "networkPolicy": { "defaultAction": "maybe" } }), 400, Some("SANDBOX::INVALID_PARAMETER")),
        (json!({ "networkPolicy": { "egress": [{ "target": "a b" }] } }), 400, Some("SANDBOX::INVALID_PARAMETER")),
        (json!({ "extensions": { "poolRef": "p" } }), 400, Some("SANDBOX::UNSUPPORTED_POOL_REF")),
        (json!({ "extensions": { "vitrine.require": "network,gpu" } }), 400, Some("SANDBOX::LIMIT_NOT_ENFORCEABLE")),
    ] {
        let (given, refusal) = host.post("/v1/sandboxes", order(more.clone())).await;
        assert_eq!(given.as_u16(), status, "{more} {refusal}");
        match code {
            Some(code) => assert_eq!(refusal["code"], code, "{more}"),
            None => assert!(refusal["detail"].is_array(), "{more}"),
        }
    }
    assert_eq!(host.directories(), 0);
}

/// Rows 9, 10 and 11.
#[tokio::test]
async fn lists_the_newest_first() {
    let host = Host::start();
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        ids.push(host.sandbox(json!({ "metadata": { "name": name, "all": "yes" } })).await.id);
    }
    ids.reverse();
    let found = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let (_, all) = host.get("/v1/sandboxes").await;
    assert_eq!(found(&all), ids);
    assert_eq!(
        all["pagination"],
        json!({ "page": 1, "pageSize": 20, "totalItems": 3, "totalPages": 1, "hasNextPage": false })
    );
    let (_, second) = host.get("/v1/sandboxes?page=2&pageSize=2").await;
    assert_eq!(found(&second), ids[2..]);
    for (query, count) in [
        ("metadata=name%3Dtwo%26all%3Dyes", 1),
        ("metadata=name%3Dtw", 0),
        ("state=RUNNING&state=failed", 3),
        ("state=nonsense", 0),
    ] {
        assert_eq!(found(&host.get(&format!("/v1/sandboxes?{query}")).await.1).len(), count, "{query}");
    }
    for query in ["metadata=broken", "metadata=a%3Db%26c"] {
        let (status, refusal) = host.get(&format!("/v1/sandboxes?{query}")).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_METADATA_FORMAT")));
    }
    for query in ["pageSize=0", "pageSize=201", "page=0", "page=x"] {
        assert_eq!(host.get(&format!("/v1/sandboxes?{query}")).await.0, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
    }
}

/// Row 16.
#[tokio::test]
async fn patches_metadata() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "metadata": { "a": "b", "c": "d" } })).await;
    let path = format!("/v1/sandboxes/{}/metadata", sandbox.id);
    let patch = async |patch: Value| body(host.request(Method::PATCH, &path).json(&patch).send().await.unwrap()).await;
    assert_eq!(patch(json!({})).await.1["metadata"], json!({ "a": "b", "c": "d" }));
    assert_eq!(patch(json!({ "a": null, "e": "f" })).await.1["metadata"], json!({ "c": "d", "e": "f" }));
    let (status, refusal) = patch(json!({ "opensandbox.io/x": "y" })).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_METADATA_LABEL")));
}

/// Row 15.
#[tokio::test]
async fn renews_and_expires() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "timeout": 60 })).await;
    let path = format!("/v1/sandboxes/{}", sandbox.id);
    let renew = format!("{path}/renew-expiration");
    let (status, refusal) = host.post(&renew, json!({ "expiresAt": "2020-01-01T00:00:00Z" })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(refusal["code"].as_str().unwrap().ends_with("INVALID_EXPIRATION"));
    assert_eq!(host.post(&renew, json!({ "expiresAt": "soon" })).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    host.let_expire(&sandbox).await;
    until("the sandbox expires", async || host.get(&path).await.0 == StatusCode::NOT_FOUND).await;
    until("its directory is gone", async || host.directories() == 0).await;
    let forever = host.sandbox(json!({ "timeout": null })).await;
    let renew = format!("/v1/sandboxes/{}/renew-expiration", forever.id);
    assert_eq!(host.post(&renew, json!({ "expiresAt": "2099-01-01T00:00:00Z" })).await.0, StatusCode::CONFLICT);
}

/// Rows 17, 18 and 19.
#[tokio::test]
async fn gives_endpoints() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let base = format!("/v1/sandboxes/{}/endpoints", sandbox.id);
    for port in [44772, 18080, 8000] {
        let (status, endpoint) = host.get(&format!("{base}/{port}")).await;
        assert_eq!(status, StatusCode::OK);
        assert!(endpoint["endpoint"].as_str().unwrap().starts_with(host.address()));
    }
    assert_eq!(host.get(&format!("{base}/0")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(host.get(&format!("{base}/65536")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(host.get(&format!("{base}/abc")).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(host.get(&format!("{base}/80?expires=1")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(host.get("/v1/sandboxes/none/endpoints/44772").await.0, StatusCode::NOT_FOUND);
    let (_, proxied) = host.get(&format!("{base}/44772?use_server_proxy=true")).await;
    let proxied = format!("http://{}/ping", proxied["endpoint"].as_str().unwrap());
    let key = |request: reqwest::RequestBuilder| request.header("OPEN-SANDBOX-API-KEY", KEY);
    assert_eq!(key(host.client.get(&proxied)).send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(host.client.get(&proxied).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let token = host.client.get(&proxied).header("X-EXECD-ACCESS-TOKEN", &sandbox.token);
    assert_eq!(token.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

/// Whatever listens there: with what opens execd, and without.
#[tokio::test]
async fn no_port_of_a_sandbox_is_reached_from_outside_s4() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let command = json!({ "command": "python3 -m http.server 8000", "background": true });
    sandbox.start(command).await.text().await.unwrap();
    until("it listens", async || sandbox.run("curl -sS http://127.0.0.1:8000/").await.exit == 0).await;
    let execd = host.client.get(format!("{}/proxy/8000/", sandbox.url));
    assert_eq!(execd.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let (_, endpoint) = host.get(&format!("/v1/sandboxes/{}/endpoints/8000", sandbox.id)).await;
    let endpoint = format!("http://{}", endpoint["endpoint"].as_str().unwrap());
    assert_eq!(endpoint, format!("{}/proxy/8000", sandbox.url));
    for port in [8000, 80, 18080] {
        for path in ["", "/", "/index.html"] {
            let url = format!("/proxy/{port}{path}");
            for method in [Method::GET, Method::POST] {
                let execd = sandbox.request(method.clone(), &url).send().await.unwrap();
                assert_eq!(execd.status(), StatusCode::BAD_GATEWAY, "{method} execd {url}");
            }
            if port != 18080 {
                let status = host.get(&format!("/v1/sandboxes/{}{url}", sandbox.id)).await.0;
                assert_eq!(status, StatusCode::BAD_GATEWAY, "the server's {url}");
            }
        }
    }
}

/// Rows 20, 21 and 22.
#[tokio::test]
async fn says_what_it_does_not_offer() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    for path in [format!("/v1/sandboxes/{}/snapshots", sandbox.id), "/v1/pools".to_owned()] {
        let (status, refusal) = host.post(&path, json!({})).await;
        assert_eq!(status, StatusCode::NOT_IMPLEMENTED, "{path}");
        assert!(refusal["code"].is_string());
    }
    assert_eq!(host.post("/v1/metrics/events", json!({})).await.0, StatusCode::NO_CONTENT);
    assert_eq!(host.get("/v1/nothing").await, (StatusCode::NOT_FOUND, json!({ "detail": "Not Found" })));
    let put = host.request(Method::PUT, "/v1/sandboxes").send().await.unwrap();
    assert_eq!(put.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// Rows 30 and 64.
#[tokio::test]
async fn gives_each_sandbox_a_token_of_its_own() {
    let host = Host::start();
    let (one, two) = (host.sandbox(json!({})).await, host.sandbox(json!({})).await);
    assert_ne!(one.token, two.token);
    for (token, expected) in [(&one.token, StatusCode::OK), (&two.token, StatusCode::UNAUTHORIZED)] {
        for path in ["/ping", "/metrics", "/files/info"] {
            let status = host.client.get(format!("{}{path}", one.url)).header("X-EXECD-ACCESS-TOKEN", token);
            assert_eq!(status.send().await.unwrap().status(), expected, "{path}");
        }
    }
    let bare = body(host.client.get(format!("{}/ping", one.url)).send().await.unwrap()).await;
    assert_eq!(bare.0, StatusCode::UNAUTHORIZED);
    assert!(bare.1["error"].as_str().unwrap().contains("X-EXECD-ACCESS-TOKEN"));
    let keyed = host.client.get(format!("{}/ping", one.url)).header("OPEN-SANDBOX-API-KEY", KEY);
    assert_eq!(keyed.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}
