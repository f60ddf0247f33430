//! What a server must not get out of the client, and what must not be sent twice.

use std::time::{Duration, Instant};

use http::Method;
use sandbox::opensandbox::{
    ByteRange, Client, CommandRequest, Download, FileMode, Move, Replacement, Route, Sandbox, Sharing, Upload,
};
use serde_json::{Value, json};
use time::macros::datetime;
use tokio::net::TcpListener;

use crate::support::{Canned, Fake, KEY, Step, canned, complete, init, new_sandbox, send};

fn with(fake: &Fake, change: impl FnOnce(&mut sandbox::opensandbox::Connection)) -> Client {
    let mut connection = fake.connection();
    change(&mut connection);
    Client::new(connection).unwrap()
}

#[tokio::test]
async fn asks_for_secure_access_on_a_shared_server_and_insists_on_it() {
    let fake = Fake::start().await;
    let client = with(&fake, |connection| connection.sharing = Sharing::Shared);
    let sandbox = client.create(&new_sandbox("a")).await.unwrap();
    let sent = |fake: &Fake| serde_json::from_slice::<Value>(&fake.seen(Method::POST, "/sandboxes")[0].body).unwrap();
    assert_eq!(sent(&fake)["secureAccess"], true);
    assert_eq!(sandbox.ping().await.unwrap_err().code(), "secure_access_missing");
    assert_eq!(client.attach("sb1").unwrap().ping().await.unwrap_err().code(), "secure_access_missing");
    assert_eq!(fake.count(Method::GET, "/ping"), 0);
    fake.world.endpoint.lock().unwrap()["headers"]["OpenSandbox-Secure-Access"] = "secure-t0ken".into();
    sandbox.ping().await.unwrap();
    assert_eq!(fake.seen(Method::GET, "/ping")[0].headers["opensandbox-secure-access"], "secure-t0ken");

    let fake = Fake::start().await;
    fake.client().create(&new_sandbox("a")).await.unwrap();
    assert!(sent(&fake).get("secureAccess").is_none(), "servers that cannot do it refuse it");
    let mut create = new_sandbox("b");
    create.secure_access = true;
    let sandbox = fake.client().create(&create).await.unwrap();
    assert_eq!(sandbox.ping().await.unwrap_err().code(), "secure_access_missing");
}

#[tokio::test]
async fn a_sandbox_without_its_token_is_killed_and_not_waited_for() {
    let fake = Fake::start().await;
    let client = with(&fake, |connection| connection.sharing = Sharing::Shared);
    let error = client.create_ready(&new_sandbox("a"), Duration::from_secs(60)).await.unwrap_err();
    assert_eq!(error.code(), "secure_access_missing");
    assert!(fake.world.sandboxes.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_key_goes_through_the_proxy_under_its_own_name_and_nowhere_else_s5() {
    let fake = Fake::start().await;
    let client = with(&fake, |connection| connection.route = Route::ServerProxy);
    client.attach("sb1").unwrap().ping().await.unwrap();
    let headers = &fake.seen(Method::GET, "/ping")[0].headers;
    let names: Vec<&str> = headers.iter().filter(|(_, value)| *value == KEY).map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["open-sandbox-api-key"]);

    fake.world.endpoint.lock().unwrap()["headers"] = json!({"X-EXECD-ACCESS-TOKEN": KEY});
    for route in [Route::Direct, Route::ServerProxy] {
        let client = with(&fake, |connection| connection.route = route);
        assert_eq!(client.attach("sb1").unwrap().ping().await.unwrap_err().code(), "endpoint_refused");
    }
    assert_eq!(fake.count(Method::GET, "/ping"), 1);
}

#[tokio::test]
async fn reaches_a_sandbox_through_a_gateway_that_names_it() {
    let fake = Fake::start().await;
    let client = with(&fake, |connection| connection.route = Route::Gateway);
    let sandbox = client.attach("sb1").unwrap();
    assert_eq!(sandbox.ping().await.unwrap_err().code(), "endpoint_refused", "it names nobody");
    fake.world.endpoint.lock().unwrap()["headers"]["OpenSandbox-Ingress-To"] = "sb1-44772".into();
    sandbox.ping().await.unwrap();
    let seen = &fake.seen(Method::GET, "/ping")[0];
    assert_eq!(seen.headers["opensandbox-ingress-to"], "sb1-44772");
    assert!(!seen.headers.contains_key("open-sandbox-api-key"));
    assert!(seen.path.ends_with("/proxy/44772/ping"), "paths are joined, never replaced (W23)");
}

#[tokio::test]
async fn tells_nobody_its_own_address_s18() {
    let fake = Fake::start().await;
    let sandbox = fake.client().create(&new_sandbox("a")).await.unwrap();
    sandbox.ping().await.unwrap();
    fake.script([init(), complete()]);
    sandbox.start(&CommandRequest::shell("x")).await.unwrap();
    let seen = fake.world.seen.lock().unwrap().clone();
    for header in ["open-sandbox-client-ip", "x-forwarded-for", "forwarded", "referer", "cookie", "authorization"] {
        assert!(seen.iter().all(|seen| !seen.headers.contains_key(header)), "{header}");
    }
}

#[tokio::test]
async fn shows_nothing_of_what_a_create_was_given_s10_s22() {
    let fake = Fake::start().await;
    let mut create = new_sandbox("a");
    create.registry_login = Some(sandbox::opensandbox::RegistryLogin {
        username: "registry-user".to_owned().into(),
        password: "hunter2-registry".to_owned().into(),
    });
    create.env.insert("TOKEN".into(), "hunter2-variable".into());
    let echo = "login registry-user hunter2-registry, TOKEN=hunter2-variable";
    for body in [
        json!({"detail": [{"loc": ["body", "image"], "msg": echo, "input": {"password": "hunter2-registry"}}]})
            .to_string(),
        json!({"detail": [{"loc": ["body", "hunter2-variable"], "msg": echo}]}).to_string(),
        json!({"detail": echo}).to_string(),
        json!({"code": "hunter2-registry", "message": echo}).to_string(),
        echo.to_owned(),
    ] {
        fake.answer(Method::POST, "/sandboxes", canned(422, body.clone()));
        let error = fake.client().create(&create).await.unwrap_err();
        let shown = format!("{error} {error:?} {create:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("registry-user"), "{shown}");
    }
}

/// Every call that changes something, each of which loses its answer.
async fn change(
    sandbox: &Sandbox,
    client: &Client,
    number: usize,
) -> (Method, &'static str, Result<(), sandbox::opensandbox::Error>) {
    let moves = [Move { from: "/a".into(), to: "/b".into() }];
    let replacements = [Replacement { path: "/a".into(), old: "x".into(), new: "y".into() }];
    let upload = Upload { path: "/a".into(), mode: None, size_bytes: 1 };
    match number {
        0 => (Method::POST, "/sandboxes", client.create(&new_sandbox("a")).await.map(drop)),
        1 => (Method::POST, "/renew-expiration", client.renew("sb1", datetime!(2027-01-01 0:00 UTC)).await.map(drop)),
        2 => (Method::POST, "/command", sandbox.start(&CommandRequest::shell("x")).await.map(drop)),
        3 => (Method::POST, "/files/upload", sandbox.upload(&upload, std::io::Cursor::new(b"x")).await),
        4 => (Method::POST, "/files/mv", sandbox.move_files(&moves).await),
        5 => (Method::POST, "/files/replace", sandbox.replace_in_files(&replacements).await.map(drop)),
        6 => (Method::POST, "/directories", sandbox.make_directory("/a", FileMode(0o755)).await),
        7 => (Method::DELETE, "/files", sandbox.delete_files(&["/a"]).await),
        8 => (Method::DELETE, "/directories", sandbox.delete_directory("/a").await),
        _ => (Method::POST, "/snapshots", client.create_snapshot("sb1", None).await.map(drop)),
    }
}

#[tokio::test]
async fn sends_no_change_twice_when_its_answer_is_lost() {
    let paths = [
        "/sandboxes",
        "/renew-expiration",
        "/command",
        "/files/upload",
        "/files/mv",
        "/files/replace",
        "/directories",
        "/files",
        "/directories",
        "/snapshots",
    ];
    for (number, path) in paths.into_iter().enumerate() {
        let fake = Fake::start().await;
        *fake.world.lose_reply_to.lock().unwrap() = Some(path);
        let client = fake.client();
        let (method, path, result) = change(&client.attach("sb1").unwrap(), &client, number).await;
        assert_eq!(result.unwrap_err().code(), "outcome_unknown", "{path}");
        assert_eq!(fake.count(method, path), 1, "{path}");
    }
}

#[tokio::test]
async fn comes_back_when_the_server_said_and_not_before() {
    let fake = Fake::start().await;
    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Running"}}));
    let busy =
        |after: &str| Canned { status: 429, headers: vec![("retry-after", after.into())], body: vec![send("busy")] };
    fake.answer(Method::GET, "/sandboxes/sb1", busy("1"));
    let started = Instant::now();
    fake.sandbox().info().await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 2);

    // Longer than the whole call may take: then there is no use in waiting.
    fake.answer(Method::GET, "/sandboxes/sb1", busy("3600"));
    let error = fake.sandbox().info().await.unwrap_err();
    assert_eq!(error.reply().unwrap().retry_after, Some(Duration::from_secs(60)));
    assert_eq!(fake.count(Method::GET, "/sandboxes/sb1"), 3);
    fake.answer(Method::POST, "/sandboxes", busy("1"));
    assert_eq!(fake.client().create(&new_sandbox("a")).await.unwrap_err().code(), "server_failed");
    assert_eq!(fake.count(Method::POST, "/sandboxes"), 1, "a create is not repeated, whatever the server says");
}

#[tokio::test]
async fn does_not_wait_for_a_connection_that_is_not_made() {
    // It takes the connection and never answers the greeting of the encryption.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap()).parse().unwrap();
    let mut connection = sandbox::opensandbox::Connection::new(url, KEY.to_owned().into());
    connection.timeouts.connect = Duration::from_millis(100);
    connection.timeouts.request = Duration::from_secs(20);
    let error = Client::new(connection).unwrap().get("sb1").await.unwrap_err();
    assert_eq!(error.to_string(), "Connect deadline passed");
}

#[tokio::test]
async fn refuses_a_command_that_is_too_long_before_it_is_sent() {
    let fake = Fake::start().await;
    let request = CommandRequest::shell("x".repeat(200_000));
    let mut captured = sandbox::opensandbox::Captured::default();
    let error =
        fake.sandbox().run(&request, &mut captured, &tokio_util::sync::CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), "command_too_long");
    assert_eq!(fake.sandbox().start(&request).await.unwrap_err().code(), "command_too_long");
    assert!(fake.world.seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn takes_no_whole_file_for_a_part_w20() {
    let fake = Fake::start().await;
    fake.world.files.lock().unwrap().insert("/a".into(), "0123456789".into());
    let download = Download { path: "/a".into(), range: Some(ByteRange { start: 20, length: None }), max_bytes: 100 };
    let mut back = Vec::new();
    let error = fake.sandbox().download(&download, &mut back).await.unwrap_err();
    assert_eq!((error.code(), back.len()), ("protocol_unsupported", 0));
    // A length that the body does not have, as on a refused range.
    let cut = Canned {
        status: 416,
        headers: vec![("content-length", "1000".into())],
        body: vec![send(r#"{"code":"#), Step::Wait(Duration::from_millis(50)), send(r#""UNKNOWN"}"#)],
    };
    fake.answer(Method::GET, "/files/download", cut);
    assert_eq!(fake.sandbox().download(&download, &mut back).await.unwrap_err().code(), "rejected");
}
