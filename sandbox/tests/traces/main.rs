//! No key, token or credential reaches a log, a trace or the text of an error, whatever a server answers.
#![cfg(feature = "testing")]

#[cfg(test)]
mod calls;
#[cfg(test)]
mod hostile;
#[cfg(test)]
#[path = "../local_support/mod.rs"]
mod local_support;
#[cfg(test)]
#[path = "../manager_support/mod.rs"]
#[expect(dead_code, reason = "here a manager has no sandbox of its own")]
mod manager_support;
#[cfg(test)]
mod recorder;

use std::sync::Arc;
use std::time::Duration;

use domain::ids::ToolCallId;
use domain::resource::SandboxTier;
use domain::sandbox::{LiveSandbox, RedactingRuntime, Setting};
use domain::testing::{plain_context, plain_live, plain_target};
use sandbox::opensandbox::{Client, Connection, CreateSandbox, Route, SandboxLabel, Sharing, Timeouts};

use calls::Said;
use hostile::{ACCESS, CREDENTIAL, Hostile, KEY, MODES, TOKEN};
use local_support::Host;

#[cfg(test)]
fn client(url: &str, key: &str, change: impl FnOnce(&mut Connection)) -> Client {
    let mut connection = Connection::new(url.parse().unwrap(), key.to_owned().into());
    let short = Duration::from_secs(2);
    connection.timeouts = Timeouts {
        idle: short,
        request: short,
        create: short,
        silence: Duration::from_millis(300),
        interrupt_grace: Duration::from_millis(300),
        destroy: Duration::from_millis(300),
        away: Duration::from_millis(300),
        pause: short,
        ..Timeouts::default()
    };
    change(&mut connection);
    Client::new(connection).unwrap()
}

#[cfg(test)]
fn assert_silent(secrets: &[&str], said: &Said) {
    let traces = recorder::take();
    // What is asserted below would hold of a recorder that records nothing.
    assert!(traces.contains("reqwest") && traces.contains("hyper_util"), "dependencies are not heard: {traces:.2000}");
    for secret in secrets {
        for (place, text) in [("trace", &traces), ("error", &said.0)] {
            if let Some(at) = text.find(secret) {
                let from = text.floor_char_boundary(at.saturating_sub(300));
                panic!("{secret} is in a {place}: {}", &text[from..at + secret.len()]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_is_told() {
    recorder::install();
    a_runtime_that_behaves().await;
    servers_that_tell_all_they_know().await;
    a_credential_that_is_given_back().await;
}

#[cfg(test)]
async fn a_runtime_that_behaves() {
    let host = Host::start();
    let client = client(&host.url, local_support::KEY, |_| {});
    let create = CreateSandbox::new(SandboxLabel::new("traced").unwrap(), "vitrine/code");
    let create = CreateSandbox { network_policy: Some(sandbox::opensandbox::NetworkPolicy::deny_all()), ..create };
    let sandbox = client.create_ready(&create, Duration::from_secs(30)).await.unwrap();
    let mut tokens = Vec::new();
    for port in [44772, 18080] {
        let (_, endpoint) = host.get(&format!("/v1/sandboxes/{}/endpoints/{port}", sandbox.id())).await;
        tokens
            .extend(endpoint["headers"].as_object().unwrap().values().map(|token| token.as_str().unwrap().to_owned()));
    }
    // What this test itself asked for is no matter of the client.
    recorder::take();
    let said = calls::every(&client, sandbox.id()).await;
    let secrets: Vec<&str> = tokens.iter().map(String::as_str).chain([local_support::KEY]).collect();
    assert_eq!(secrets.len(), 3);
    assert_silent(&secrets, &said);
}

#[cfg(test)]
async fn servers_that_tell_all_they_know() {
    let modes = (0..MODES).flat_map(|mode| [(mode, Route::Direct), (mode, Route::ServerProxy)]);
    let all = futures_util::future::join_all(modes.map(|(mode, route)| async move {
        let server = Hostile::start(mode).await;
        let client = client(&server.url, KEY, |connection| {
            connection.route = route;
            connection.sharing = Sharing::Shared;
        });
        let said = calls::every(&client, "sb1").await;
        assert!(said.0.lines().count() > 20, "in mode {mode} nearly nothing failed: {}", said.0);
        said.0
    }));
    assert_silent(&[KEY, TOKEN, ACCESS], &Said(all.await.concat()));
}

/// The server gives the file of a credential back in its error.
#[cfg(test)]
async fn a_credential_that_is_given_back() {
    let server = Hostile::start(hostile::ECHO).await;
    let manager = RedactingRuntime::new(Arc::new(manager_support::manager_at(&server.url, KEY)));
    let call = Some(ToolCallId::from_bits(7));
    let live = LiveSandbox {
        setting: Setting { call, ..Setting::default() },
        ..plain_live(plain_target(SandboxTier::Local, "local:"))
    };
    let context = plain_context();
    let error = manager.put_credential(&context, &live, "TOKEN", CREDENTIAL).await.unwrap_err();
    assert!(server.uploads() > 0, "the credential was not sent: {error}");
    assert_silent(&[KEY, TOKEN, ACCESS, CREDENTIAL], &Said(format!("{error} {error:?}")));
}
