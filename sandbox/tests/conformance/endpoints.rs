//! Rows on addresses: where execd is, how it gets ready, and who may speak to it.

use std::time::Duration;

use reqwest::Method;
use sandbox::opensandbox::{Captured, CommandEnd, CommandRequest, Connection, EXECD_PORT, SandboxState};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::raw::{Execd, answer, until};
use crate::target::Target;

const KEY_HEADER: &str = "open-sandbox-api-key";
const TOKEN_HEADER: &str = "x-execd-access-token";

pub async fn row_17_refuses_ports_that_are_none(target: &Target) {
    let base = format!("/v1/sandboxes/{}/endpoints", target.sandbox().await.id());
    for port in ["0", "65536"] {
        assert_eq!(target.get(&format!("{base}/{port}")).await.status, 400, "{port}");
    }
    let word = target.get(&format!("{base}/abc")).await.status;
    assert!((400..500).contains(&word), "{word}");
    let unknown = target.get("/v1/sandboxes/00000000-0000-4000-8000-000000000000/endpoints/44772").await;
    assert_eq!(unknown.status, 404);
}

pub async fn row_18_names_endpoints(target: &Target) {
    let base = format!("/v1/sandboxes/{}/endpoints", target.sandbox().await.id());
    for port in ["44772", "18080", "8000"] {
        let found = target.get(&format!("{base}/{port}")).await;
        assert_eq!(found.status, 200, "{port}");
        let address = found.body["endpoint"].as_str().unwrap();
        assert!(!address.contains("://"), "{address}");
        let headers = found.body.get("headers");
        assert!(headers.is_none_or(|headers| headers.as_object().is_some_and(|map| !map.is_empty())), "{headers:?}");
    }
}

pub async fn row_19_its_proxy_serves_execd(target: &Target) {
    let sandbox = target.sandbox().await;
    let through = target.client_through_server().attach(sandbox.id()).unwrap();
    through.wait_ready(Duration::from_secs(30)).await.unwrap();
    let mut output = Captured::default();
    let cancel = CancellationToken::new();
    let run = through.run(&CommandRequest::shell("echo through; exit 3"), &mut output, &cancel).await.unwrap();
    assert_eq!((run.end, output.stdout.as_str()), (CommandEnd::Exited(3), "through\n"));
    let path = format!("/v1/sandboxes/{}/endpoints/44772?use_server_proxy=true&expires=1", sandbox.id());
    assert_eq!(target.get(&path).await.status, 400);
}

pub async fn row_25_a_sandbox_that_does_not_get_ready_is_removed(target: &Target) {
    let create = target.create("conformance-stillborn");
    // No time at all is too little for any sandbox.
    let error = target.client.create_ready(&create, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.code(), "deadline_exceeded", "the reason stays, and the removal is confirmed");
    until("it is gone", async || target.client.find_by_label(&create.label).await.unwrap().is_empty()).await;
}

pub async fn row_26_a_refused_key_ends_the_wait(target: &Target) {
    let id = target.sandbox().await.id();
    let connection = Connection::new(target.url.clone(), SecretString::from("wrong"));
    let stranger = sandbox::opensandbox::Client::new(connection).unwrap().attach(id).unwrap();
    // Far longer than a row may take: only an early end passes.
    let error = stranger.wait_ready(Duration::from_secs(3600)).await.unwrap_err();
    assert_eq!(error.code(), "access_denied");
    target.sandbox().await.wait_ready(Duration::from_secs(30)).await.unwrap();
}

pub async fn row_27_commands_run_after_a_resume(target: &Target) {
    let sandbox = target.own_sandbox(&target.create("conformance-resumed")).await;
    let execd = Execd::of(target, &sandbox).await;
    let counter =
        "n=0; while [ ! -e /tmp/stop ]; do n=$((n+1)); echo $n >/tmp/n.new; mv /tmp/n.new /tmp/n; sleep 0.05; done";
    execd.stream("/command", json!({ "command": counter, "background": true })).await;
    until("the counter counts", async || execd.get("/files/info?path=/tmp/n").await.status == 200).await;
    target.client.pause(sandbox.id()).await.unwrap();
    assert_eq!(sandbox.info().await.unwrap().state, SandboxState::Paused);
    target.client.resume(sandbox.id()).await.unwrap();
    sandbox.wait_ready(Duration::from_secs(30)).await.unwrap();
    let mut output = Captured::default();
    let command = "before=$(cat /tmp/n); while [ \"$(cat /tmp/n)\" = \"$before\" ]; do sleep 0.05; done; touch /tmp/stop; echo on";
    sandbox.run(&CommandRequest::shell(command), &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!(output.stdout, "on\n", "what ran before goes on");
}

pub async fn row_28_the_key_stays_with_its_server(target: &Target) {
    let id = target.sandbox().await.id();
    let direct = target.client.endpoint(id, EXECD_PORT).await.unwrap();
    assert!(!direct.headers().contains_key(KEY_HEADER));
    assert!(direct.headers().values().all(|value| value.as_bytes() != target.key.as_bytes()));
    let proxied = target.client_through_server().endpoint(id, EXECD_PORT).await.unwrap();
    assert_eq!(proxied.url().origin(), target.url.origin());
    assert_eq!(proxied.headers()[KEY_HEADER], target.key.as_str());
}

pub async fn row_30_answers_a_ping(target: &Target) {
    let ping = target.execd().await.get("/ping").await;
    assert_eq!((ping.status, ping.body), (200, json!("")));
}

pub async fn row_30_asks_for_the_token(target: &Target) {
    let execd = target.execd().await;
    for path in ["/ping", "/metrics", "/files/info?path=/tmp", "/command/status/x", "/directories/list?path=/tmp"] {
        let missing = answer(execd.bare(Method::GET, path)).await;
        assert_eq!(missing.status, 401, "{path}");
        assert!(missing.body["error"].as_str().unwrap().contains("X-EXECD-ACCESS-TOKEN"));
        assert_eq!(answer(execd.bare(Method::GET, path).header(TOKEN_HEADER, "wrong")).await.status, 401, "{path}");
    }
    let run = execd.bare(Method::POST, "/command").json(&json!({ "command": "true" }));
    assert_eq!(answer(run).await.status, 401);
}

pub async fn row_64_listens_on_loopback(target: &Target) {
    let host = target.url.host_str().unwrap();
    assert_eq!(host, "127.0.0.1");
    let found = target.get(&format!("/v1/sandboxes/{}/endpoints/44772", target.sandbox().await.id())).await;
    assert!(found.body["endpoint"].as_str().unwrap().starts_with("127.0.0.1:"));
}

pub async fn row_64_refuses_foreign_hosts_and_origins(target: &Target) {
    let port = target.url.port().unwrap();
    for (header, value, expected) in [
        ("host", "evil.example".to_owned(), 403),
        ("host", format!("evil.example:{port}"), 403),
        ("host", format!("localhost:{port}"), 200),
        ("origin", "http://evil.example".to_owned(), 403),
        ("origin", "null".to_owned(), 403),
    ] {
        let status = answer(target.request(Method::GET, "/v1/sandboxes").header(header, &value)).await.status;
        assert_eq!(status, expected, "{header}: {value}");
    }
}

pub async fn row_64_each_sandbox_has_its_own_token(target: &Target) {
    let other = target.created(json!({})).await;
    let path = format!("/v1/sandboxes/{}/endpoints/44772", other["id"].as_str().unwrap());
    let token = |endpoint: &Value| endpoint["headers"]["X-EXECD-ACCESS-TOKEN"].as_str().unwrap().to_owned();
    let theirs = token(&target.get(&path).await.body);
    let execd = target.execd().await;
    assert_eq!(answer(execd.bare(Method::GET, "/ping").header(TOKEN_HEADER, &theirs)).await.status, 401);
    let keyed = execd.bare(Method::GET, "/ping").header("OPEN-SANDBOX-API-KEY", &target.key);
    assert_eq!(answer(keyed).await.status, 401, "the server's key opens no sandbox");
}

pub async fn row_64_the_proxy_asks_for_the_key(target: &Target) {
    let path = format!("/v1/sandboxes/{}/proxy/44772/ping", target.sandbox().await.id());
    assert_eq!(answer(target.bare(Method::GET, &path)).await.status, 401);
    assert_eq!(target.get(&path).await.status, 200);
}
