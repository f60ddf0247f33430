use std::time::{Duration, Instant};

use http::Method;
use sandbox::opensandbox::{Client, Connection, ErrorClass, ListFilter, Route, SandboxLabel, SandboxState};
use serde_json::json;
use time::macros::datetime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::support::{Canned, Fake, KEY, Step, TOKEN, canned, new_sandbox, send};

/// Longer than a machine stalls.
const LONG: Duration = Duration::from_secs(60);

fn redirect(to: String) -> Canned {
    Canned { status: 307, headers: vec![("location", to)], body: vec![send("")] }
}

#[tokio::test]
async fn leads_a_sandbox_through_its_life() {
    let fake = Fake::start().await;
    let client = fake.client();
    let sandbox = client.create_ready(&new_sandbox("own-1"), Duration::from_secs(5)).await.unwrap();
    client.create(&new_sandbox("own-2")).await.unwrap();
    let info = sandbox.info().await.unwrap();
    assert_eq!(info.state, SandboxState::Running);
    let label = SandboxLabel::new("own-1").unwrap();
    assert!(info.has_label(&label));
    assert_eq!(client.list_all(&ListFilter::default()).await.unwrap().len(), 2);
    assert_eq!(client.find_by_label(&label).await.unwrap(), [info]);
    let until = datetime!(2027-01-01 00:00 +2);
    assert_eq!(sandbox.renew(until).await.unwrap(), until);
    sandbox.destroy().await.unwrap();
    sandbox.kill().await.unwrap();
    let error = sandbox.info().await.unwrap_err();
    assert_eq!((error.code(), error.class()), ("not_found", ErrorClass::Missing));
    assert!(error.reply().unwrap().has_code("SANDBOX_NOT_FOUND"));
}

#[tokio::test]
async fn keeps_the_key_from_direct_endpoints_and_gives_it_to_the_proxy() {
    let fake = Fake::start().await;
    fake.sandbox().ping().await.unwrap();
    let mut connection = fake.connection();
    connection.route = Route::ServerProxy;
    Client::new(connection).unwrap().attach("sb1").unwrap().ping().await.unwrap();
    let pings = fake.seen(Method::GET, "/ping");
    let keys: Vec<bool> = pings.iter().map(|seen| seen.headers.contains_key("open-sandbox-api-key")).collect();
    assert_eq!(keys, [false, true]);
    let lookups = fake.seen(Method::GET, "/endpoints/44772");
    let queries: Vec<&str> = lookups.iter().map(|seen| seen.query.as_str()).collect();
    assert_eq!(queries, ["use_server_proxy=false", "use_server_proxy=true"]);
}

#[tokio::test]
async fn follows_no_redirect() {
    let fake = Fake::start().await;
    let other = Fake::start().await;
    let to = format!("http://{}/stolen", other.world.address);
    fake.answer(Method::GET, "/sandboxes/sb1", redirect(to.clone()));
    fake.answer(Method::POST, "/sandboxes", redirect(to.clone()));
    fake.answer(Method::GET, "/ping", redirect(to));
    assert_eq!(fake.sandbox().info().await.unwrap_err().code(), "endpoint_refused");
    assert_eq!(fake.client().create(&new_sandbox("a")).await.unwrap_err().code(), "endpoint_refused");
    assert_eq!(fake.sandbox().ping().await.unwrap_err().class(), ErrorClass::Security);
    assert!(other.world.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn calls_no_endpoint_that_is_not_allowed() {
    let fake = Fake::start().await;
    let own = fake.world.address;
    for answer in [
        json!({"endpoint": format!("user:pw@{own}")}),
        json!({"endpoint": format!("http://{own}")}),
        json!({"endpoint": "evil.example:80"}),
        json!({"endpoint": "169.254.169.254"}),
        json!({"endpoint": format!("{own}/?x")}),
        json!({"endpoint": format!("{own}"), "headers": {"Host": "evil.example"}}),
        json!({"endpoint": format!("{own}"), "headers": {"X-EXECD-ACCESS-TOKEN": "a\r\nX: y"}}),
    ] {
        *fake.world.endpoint.lock().unwrap() = answer.clone();
        assert_eq!(fake.sandbox().ping().await.unwrap_err().code(), "endpoint_refused", "{answer}");
    }
    assert_eq!(fake.count(Method::GET, "/ping"), 0);
    *fake.world.endpoint.lock().unwrap() = json!({"endpoint": format!("{own}/execd/proxy/44772"), "headers": null});
    assert_eq!(fake.sandbox().ping().await.unwrap_err().code(), "access_denied", "no headers is no refusal");
}

#[tokio::test]
async fn refuses_unsafe_connections() {
    let code = |url: &str, key: &str| {
        Client::new(Connection::new(url.parse().unwrap(), key.to_owned().into())).unwrap_err().code()
    };
    assert_eq!(code("http://sandbox.example", KEY), "plaintext_refused");
    assert_eq!(code("http://10.0.0.1", KEY), "plaintext_refused");
    assert_eq!(code("https://user:pw@sandbox.example", KEY), "connection_invalid");
    assert_eq!(code("ftp://127.0.0.1", KEY), "connection_invalid");
    assert_eq!(code("http://127.0.0.1", "a\nb"), "connection_invalid");
    let fake = Fake::start().await;
    assert!(!format!("{:?} {:?}", fake.connection(), fake.client()).contains(KEY));
}

#[tokio::test]
async fn finds_a_sandbox_whose_create_was_not_answered() {
    let fake = Fake::start().await;
    *fake.world.lose_reply_to.lock().unwrap() = Some("/sandboxes");
    let client = fake.client();
    let error = client.create(&new_sandbox("own-7")).await.unwrap_err();
    assert_eq!((error.code(), error.class()), ("outcome_unknown", ErrorClass::Unknown));
    assert_eq!(fake.count(Method::POST, "/sandboxes"), 1);
    *fake.world.lose_reply_to.lock().unwrap() = None;
    let found = client.find_by_label(&SandboxLabel::new("own-7").unwrap()).await.unwrap();
    assert_eq!(found.len(), 1);
    client.destroy(&found[0].id).await.unwrap();
    assert!(client.find_by_label(&SandboxLabel::new("own-7").unwrap()).await.unwrap().is_empty());
}

#[tokio::test]
async fn calls_a_create_unknown_when_its_answer_makes_no_sense() {
    let fake = Fake::start().await;
    for (status, body, code) in [
        (202, "{}", "outcome_unknown"),
        (202, r#"{"id":"../..","status":{"state":"Running"}}"#, "outcome_unknown"),
        (504, r#"{"code":"BACKEND_TIMEOUT"}"#, "outcome_unknown"),
        (500, r#"{"code":"DOCKER::SANDBOX_IMAGE_PULL_FAILED","message":"no"}"#, "server_failed"),
        (429, "busy", "server_failed"),
        (422, r#"{"detail":[{"loc":["body","timeout"],"msg":"too small","input":"hunter2"}]}"#, "rejected"),
    ] {
        let before = fake.count(Method::POST, "/sandboxes");
        fake.answer(Method::POST, "/sandboxes", canned(status, body));
        let error = fake.client().create(&new_sandbox("a")).await.unwrap_err();
        assert_eq!(error.code(), code, "{status} {body}");
        assert!(!format!("{error:?}").contains("hunter2"));
        assert_eq!(fake.count(Method::POST, "/sandboxes"), before + 1, "never sent again");
    }
}

#[tokio::test]
async fn repeats_reads_and_gives_up() {
    let fake = Fake::start().await;
    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Running"}}));
    for status in [503, 502] {
        fake.answer(Method::GET, "/sandboxes/sb1", canned(status, ""));
    }
    fake.sandbox().info().await.unwrap();
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 3);
    for _ in 0..3 {
        fake.answer(Method::GET, "/sandboxes/sb1", canned(503, ""));
    }
    assert_eq!(fake.sandbox().info().await.unwrap_err().code(), "server_failed");
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 6);
    fake.answer(Method::GET, "/sandboxes/sb1", canned(500, ""));
    fake.sandbox().info().await.unwrap_err();
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 7, "a plain failure is an answer");
}

#[tokio::test]
async fn leaks_no_secret_through_a_huge_error() {
    let fake = Fake::start().await;
    let chatter = format!("key {KEY} token {TOKEN} ").repeat(100_000);
    let request_id = format!("id-{KEY}");
    for (method, path, body) in [
        (Method::GET, "/sandboxes/sb1", chatter.clone()),
        (Method::GET, "/sandboxes/sb1", json!({"code": KEY, "message": chatter}).to_string()),
        (Method::GET, "/ping", format!("{TOKEN}{KEY}").repeat(20)),
    ] {
        let answer =
            Canned { status: 500, headers: vec![("x-request-id", request_id.clone())], body: vec![send(body)] };
        fake.answer(method, path, answer);
        let error = match path {
            "/ping" => fake.sandbox().ping().await.unwrap_err(),
            _ => fake.sandbox().info().await.unwrap_err(),
        };
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(KEY) && (path != "/ping" || !shown.contains(TOKEN)), "{shown}");
        assert!(error.reply().unwrap().message.len() <= 2048);
        assert_eq!(error.reply().unwrap().request_id.as_deref(), Some("id-[redacted]"));
    }
}

#[tokio::test]
async fn destroys_only_on_evidence() {
    let fake = Fake::start().await;
    let client = fake.client();
    let state = |state: &str| canned(200, json!({"id": "sb1", "status": {"state": state}}).to_string());

    fake.answer(Method::DELETE, "/sandboxes/sb1", canned(204, ""));
    fake.answer(Method::GET, "/sandboxes/sb1", state("Stopping"));
    fake.answer(Method::GET, "/sandboxes/sb1", state("Unknown"));
    client.destroy("sb1").await.unwrap();
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 3, "until it is gone");

    fake.answer(Method::DELETE, "/sandboxes/sb1", canned(204, ""));
    fake.answer(Method::GET, "/sandboxes/sb1", state("Terminated"));
    client.destroy("sb1").await.unwrap();

    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Running"}}));
    fake.answer(Method::DELETE, "/sandboxes/sb1", canned(500, r#"{"code":"DOCKER::SANDBOX_DELETE_FAILED"}"#));
    let mut connection = fake.connection();
    connection.timeouts.destroy = Duration::from_secs(5);
    let error = Client::new(connection).unwrap().destroy("sb1").await.unwrap_err();
    assert_eq!(error.code(), "destroy_unconfirmed");
    assert!(error.reply().unwrap().has_code("SANDBOX_DELETE_FAILED"));
}

/// The calls of a destroy have longer limits of their own than it has.
#[tokio::test]
async fn a_destroy_has_one_limit_for_all_its_calls() {
    let fake = Fake::start().await;
    let mut connection = fake.connection();
    connection.timeouts.destroy = Duration::from_millis(200);
    connection.timeouts.idle = LONG;
    connection.timeouts.request = LONG;
    let client = Client::new(connection).unwrap();
    let silent = || Canned { status: 200, headers: Vec::new(), body: vec![Step::Hang] };
    for _ in 0..2 {
        fake.answer(Method::DELETE, "/sandboxes/sb1", silent());
        fake.answer(Method::GET, "/sandboxes/sb1", silent());
    }
    let started = Instant::now();
    assert_eq!(client.destroy("sb1").await.unwrap_err().code(), "destroy_unconfirmed");
    assert!(started.elapsed() < LONG / 2, "{:?}", started.elapsed());
}

#[tokio::test]
async fn waits_until_ready_and_kills_what_does_not_get_there() {
    let fake = Fake::start().await;
    fake.answer(Method::GET, "/endpoints/44772", canned(404, r#"{"code":"KUBERNETES::POD_IP_NOT_AVAILABLE"}"#));
    fake.answer(Method::GET, "/ping", canned(500, ""));
    fake.client().create_ready(&new_sandbox("a"), Duration::from_secs(5)).await.unwrap();
    assert_eq!(fake.count(Method::GET, "/ping"), 2);

    fake.answer(Method::GET, "/ping", canned(401, r#"{"error":"Unauthorized"}"#));
    let error = fake.client().create_ready(&new_sandbox("b"), Duration::from_secs(60)).await.unwrap_err();
    assert_eq!(error.code(), "access_denied");
    assert_eq!(fake.world.sandboxes.lock().unwrap().len(), 1);
    assert_eq!(fake.count(Method::GET, "/ping"), 3, "waiting does not help");
}

#[tokio::test]
async fn does_not_wait_for_a_sandbox_that_has_failed() {
    let fake = Fake::start().await;
    let failed = json!({"id": "sb1", "status": {"state": "Failed", "reason": "CONTAINER_EXITED_ERROR"}});
    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), failed);
    fake.answer(Method::GET, "/ping", canned(502, ""));
    let error = fake.sandbox().wait_ready(Duration::from_secs(60)).await.unwrap_err();
    assert!(error.reply().unwrap().has_code("CONTAINER_EXITED_ERROR"), "{error}");
    assert_eq!(fake.count(Method::GET, "/ping"), 1);
}

#[tokio::test]
async fn has_a_deadline_for_each_way_of_waiting() {
    let fake = Fake::start().await;
    let mut connection = fake.connection();
    let mut sandbox = |idle, request| {
        (connection.timeouts.idle, connection.timeouts.request) = (idle, request);
        Client::new(connection.clone()).unwrap().attach("sb1").unwrap()
    };
    let short = Duration::from_millis(200);
    let stalled = Canned { status: 200, headers: Vec::new(), body: vec![send("{"), Step::Hang] };
    for _ in 0..3 {
        fake.answer(Method::GET, "/sandboxes/sb1", stalled.clone());
    }
    let error = sandbox(short, LONG).info().await.unwrap_err();
    assert_eq!(error.to_string(), "Idle deadline passed");
    let trickle = || (0..10_000).flat_map(|_| [send(" "), Step::Wait(Duration::from_millis(20))]).collect();
    fake.answer(Method::GET, "/sandboxes/sb1", Canned { status: 200, headers: Vec::new(), body: trickle() });
    let error = sandbox(LONG, short).info().await.unwrap_err();
    assert_eq!(error.to_string(), "Total deadline passed");
}

#[tokio::test]
async fn does_not_wait_for_a_head_that_trickles() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    TaskTracker::new().spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let mut tick = tokio::time::interval(Duration::from_millis(20));
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
            while stream.write_all(b"x-a: b\r\n").await.is_ok() {
                tick.tick().await;
            }
        }
    });
    let mut connection = Connection::new(url, KEY.to_owned().into());
    connection.timeouts.idle = Duration::from_millis(150);
    connection.timeouts.request = Duration::from_millis(200);
    // The head goes on for ever.
    let client = Client::new(connection).unwrap();
    let error = tokio::time::timeout(LONG, client.get("sb1")).await.unwrap().unwrap_err();
    assert_eq!(error.code(), "deadline_exceeded");
}

#[tokio::test]
async fn says_that_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let client = Client::new(Connection::new(url, KEY.to_owned().into())).unwrap();
    assert_eq!(client.create(&new_sandbox("a")).await.unwrap_err().code(), "unreachable", "it was never sent");
    assert_eq!(client.get("sb1").await.unwrap_err().code(), "unreachable");
    assert_eq!(client.get("../x").await.unwrap_err().code(), "request_invalid");
}

#[tokio::test]
async fn speaks_to_localhost_by_name() {
    let fake = Fake::start().await;
    let url = format!("http://localhost:{}/v1/", fake.world.address.port()).parse().unwrap();
    let client = Client::new(Connection::new(url, KEY.to_owned().into())).unwrap();
    client.create_ready(&new_sandbox("a"), Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn sends_nothing_to_a_server_without_the_encryption_that_was_asked_for() {
    let fake = Fake::start().await;
    let url = format!("https://{}", fake.world.address).parse().unwrap();
    let client = Client::new(Connection::new(url, KEY.to_owned().into())).unwrap();
    assert_eq!(client.create(&new_sandbox("a")).await.unwrap_err().code(), "unreachable");
    assert!(fake.world.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn names_the_sandbox_that_it_could_neither_use_nor_kill() {
    let fake = Fake::start().await;
    fake.answer(Method::GET, "/ping", canned(403, ""));
    fake.answer(Method::DELETE, "/sandboxes/sb1", canned(500, ""));
    let error = fake.client().create_ready(&new_sandbox("a"), Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("sb1")), ("destroy_unconfirmed", true));
}
