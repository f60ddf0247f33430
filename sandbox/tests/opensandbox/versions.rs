//! What is checked before the first use: the server's version, execd's wire, the mode of a network policy.

use std::time::Duration;

use http::Method;
use sandbox::opensandbox::{
    Captured, CommandEnd, CommandRequest, EgressRule, ErrorClass, NetworkPolicy, OutputWire, SUPPORTED, Sandbox,
    ServerKind, Version,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Canned, Fake, KEY, canned, complete, event, init, new_sandbox, stdout};

async fn with_version(answer: Canned) -> Fake {
    let fake = Fake::start().await;
    fake.answer(Method::GET, "/version", answer);
    fake
}

#[tokio::test]
async fn asks_the_version_once_and_before_anything_else() {
    let fake = Fake::start().await;
    let client = fake.client();
    let sandbox = client.create(&new_sandbox("a")).await.unwrap();
    sandbox.ping().await.unwrap();
    client.create(&new_sandbox("b")).await.unwrap();
    assert_eq!(fake.count(Method::GET, "/version"), 1);
    assert_eq!(fake.world.seen.lock().unwrap()[0].path, "/version");
    let expected = ServerKind::OpenSandbox(Version { major: 1, minor: 1, patch: 1 });
    assert_eq!(client.server_kind().await.unwrap(), &expected);
}

#[tokio::test]
async fn takes_a_server_without_versions_and_its_own_runtime() {
    let fake = with_version(canned(404, r#"{"detail":"Not Found"}"#)).await;
    assert_eq!(fake.client().server_kind().await.unwrap(), &ServerKind::Unversioned);
    let fake = with_version(canned(200, r#"{"version":"0.1.0","runtime":"local"}"#)).await;
    assert_eq!(fake.client().server_kind().await.unwrap(), &ServerKind::Local);
    let fake = with_version(canned(200, r#"{"version":"1.1.3rc1","new":{"deep":[1]},"runtime":null}"#)).await;
    let client = fake.client();
    assert!(matches!(client.server_kind().await.unwrap(), ServerKind::OpenSandbox(_)));
    assert_eq!(client.unknown_members(), 1, "ignored and counted");
}

#[tokio::test]
async fn refuses_a_version_outside_the_table_by_name() {
    for (answer, named) in [
        (r#"{"version":"1.2.0"}"#, "1.2.0"),
        (r#"{"version":"0.1.14"}"#, "0.1.14"),
        (r#"{"version":"2.0.0"}"#, "2.0.0"),
        (r#"{"version":"next"}"#, "no version"),
        (r#"{"runtime":"local"}"#, "has no version"),
        ("<html>", "version of the server"),
    ] {
        let fake = with_version(canned(200, answer)).await;
        let error = fake.client().create(&new_sandbox("a")).await.unwrap_err();
        assert_eq!((error.code(), error.class()), ("protocol_unsupported", ErrorClass::Protocol), "{answer}");
        assert!(error.to_string().contains(named), "{error}");
        assert_eq!(fake.count(Method::POST, "/sandboxes"), 0, "nothing else was sent");
        fake.client().kill("sb1").await.unwrap();
    }
    let fake = with_version(canned(401, r#"{"code":"INVALID_API_KEY","message":"no"}"#)).await;
    assert_eq!(fake.client().create(&new_sandbox("a")).await.unwrap_err().code(), "access_denied");
}

async fn run(sandbox: &Sandbox) -> Result<CommandEnd, sandbox::opensandbox::Error> {
    let request = CommandRequest::shell("x");
    Ok(sandbox.run(&request, &mut Captured::default(), &CancellationToken::new()).await?.end)
}

#[tokio::test]
async fn names_a_terminal_event_that_it_does_not_know() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let aborted = || event(json!({"type": "execution_aborted\u{7}", "text": KEY}));
    fake.script([init(), stdout("a"), aborted(), event(json!({"type": "ping"}))]);
    let error = run(&sandbox).await.unwrap_err();
    assert_eq!(error.code(), "protocol_unsupported");
    assert!(error.to_string().contains("execution_aborted is unknown"), "{error}");
    assert_eq!(fake.count(Method::DELETE, "/command"), 1, "it must not run on unseen");

    fake.script([init(), aborted(), stdout("a"), complete()]);
    assert_eq!(run(&sandbox).await.unwrap(), CommandEnd::Exited(0), "one that others follow only informs");
}

#[tokio::test]
async fn names_a_required_member_that_is_missing() {
    let fake = Fake::start().await;
    for (path, body, named) in [
        ("/sandboxes/sb1", r#"{"status":{"state":"Running"}}"#, "sandbox has no id"),
        ("/sandboxes/sb1", r#"{"id":"sb1"}"#, "sandbox has no status"),
        ("/sandboxes/sb1", r#"{"id":"sb1","status":{}}"#, "sandbox has no state"),
        ("/sandboxes/sb1", r#"{"id":["secret"],"status":{"state":"Running"}}"#, "sandbox cannot be read"),
        ("/command/status/c1", r#"{"id":"c1"}"#, "command status has no running"),
        ("/endpoints/44772", "{}", "endpoint has no endpoint"),
    ] {
        fake.answer(Method::GET, path, canned(200, body));
        let error = match path {
            "/sandboxes/sb1" => fake.sandbox().info().await.unwrap_err(),
            _ => fake.sandbox().command_status("c1").await.unwrap_err(),
        };
        assert_eq!(error.to_string(), format!("protocol: {named}"));
    }
}

#[tokio::test]
async fn ignores_and_counts_members_that_it_does_not_know_row_24() {
    let fake = Fake::start().await;
    let client = fake.client();
    let body =
        r#"{"id":"sb1","status":{"state":"Dreaming","why":[]},"platform":{},"image":{"uri":"x"},"new":1,"newer":2}"#;
    fake.answer(Method::GET, "/sandboxes/sb1", canned(200, body));
    let info = client.get("sb1").await.unwrap();
    assert!(!info.state.is_terminal());
    assert_eq!(client.unknown_members(), 2);
}

#[tokio::test]
async fn sends_arguments_without_a_shell_where_execd_takes_them_row_47() {
    let fake = Fake::start().await;
    fake.script([init(), complete()]);
    let request = CommandRequest::argv(["printf", "%s", "$HOME"]);
    fake.sandbox().run(&request, &mut Captured::default(), &CancellationToken::new()).await.unwrap();
    assert_eq!(fake.commands()[0]["argv"], json!(["printf", "%s", "$HOME"]));
    assert!(fake.commands()[0].get("command").is_none(), "never both");
}

fn egress(mode: &str, enforcement: &str) -> Canned {
    let policy = json!({"status": "ok", "mode": mode, "enforcementMode": enforcement, "policy": {"egress": null}});
    canned(200, policy.to_string())
}

#[tokio::test]
async fn checks_that_a_network_policy_holds_before_the_sandbox_is_used() {
    let mut create = new_sandbox("a");
    create.network_policy =
        Some(NetworkPolicy { egress: vec![EgressRule::allow("a.example")], ..NetworkPolicy::deny_all() });
    let within = Duration::from_secs(5);
    let fake = Fake::start().await;
    // The sidecar may start after execd.
    fake.answer(Method::GET, "/policy", canned(502, "Bad Gateway"));
    fake.answer(Method::GET, "/policy", egress("enforcing", "dns+nft"));
    fake.client().create_ready(&create, within).await.unwrap();
    let sent: serde_json::Value = serde_json::from_slice(&fake.seen(Method::POST, "/sandboxes")[0].body).unwrap();
    let expected = json!({"defaultAction": "deny", "egress": [{"action": "allow", "target": "a.example"}]});
    assert_eq!(sent["networkPolicy"], expected);

    for (answer, named) in [
        (egress("allow_all", "dns+nft"), "allow_all"),
        (egress("learning", "dns+nft"), "mode of the network policy is none of"),
        (egress("enforcing", "ebpf"), "enforcementMode of the network policy is none of"),
        (canned(200, "{}"), "network policy has no mode"),
    ] {
        let fake = Fake::start().await;
        fake.answer(Method::GET, "/policy", answer);
        let error = fake.client().create_ready(&create, within).await.unwrap_err();
        assert_eq!(error.code(), "protocol_unsupported");
        assert!(error.to_string().contains(named), "{error}");
        assert!(fake.world.sandboxes.lock().unwrap().is_empty(), "it is killed");
    }
}

/// The pins are what was tested; what is accepted begins with them and ends before the next minor version.
#[test]
fn accepts_the_servers_that_are_pinned() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/spec.lock.toml")).unwrap();
    let server = lock.split("[server]").nth(1).unwrap().split("\n[").next().unwrap();
    let pinned: Vec<Version> = server.split('"').skip(1).step_by(2).map(|text| Version::parse(text).unwrap()).collect();
    assert!(pinned.iter().all(|version| SUPPORTED.server.contains(*version)));
    assert_eq!(pinned.iter().min(), Some(&SUPPORTED.server.from));
    assert_eq!(SUPPORTED.output_wires, [OutputWire::Kept, OutputWire::Stripped].map(OutputWire::as_str));
}
