//! Faults: limits that are reached, sandboxes that end, and a server that goes away before, during and after a create.

use std::time::Duration;

use sandbox::opensandbox::{
    ByteRange, Captured, Client, CommandEnd, CommandRequest, Connection, Download, ErrorClass, ListFilter, Sandbox,
    Upload,
};
use secrecy::SecretString;
use serde_json::json;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::pattern;
use crate::raw::{until, until_within};
use crate::relay::Relay;
use crate::target::{Capability, Control, Target};

async fn output_of(sandbox: &Sandbox, command: &str) -> (CommandEnd, String) {
    let mut output = Captured::default();
    let run = sandbox.run(&CommandRequest::shell(command), &mut output, &CancellationToken::new()).await.unwrap();
    (run.end, output.stdout)
}

pub async fn memory_over_the_limit_ends_the_command(target: &Target) {
    let mut create = target.create("conformance-memory");
    create.resource_limits.insert("memory".to_owned(), "128Mi".to_owned());
    let sandbox = target.own_sandbox(&create).await;
    let hog = CommandRequest::argv(["python3", "-c", "x = bytearray(1 << 30); print('had it all')"]);
    let mut output = Captured::default();
    let run = sandbox.run(&hog, &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!((run.end, output.stdout.as_str()), (CommandEnd::Killed, ""));
    assert_eq!(output_of(&sandbox, "echo alive").await, (CommandEnd::Exited(0), "alive\n".to_owned()));
}

pub async fn processes_over_the_limit_are_refused(target: &Target) {
    let mut create = target.create("conformance-processes");
    create.resource_limits.insert("pids".to_owned(), "256".to_owned());
    let sandbox = target.own_sandbox(&create).await;
    let bomb = r"
import os, signal
children = []
try:
    while len(children) < 4000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    print('refused')
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
";
    let mut output = Captured::default();
    let run = CommandRequest::argv(["python3", "-c", bomb]);
    sandbox.run(&run, &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!(output.stdout, "refused\n");
    assert_eq!(output_of(&sandbox, "echo alive").await, (CommandEnd::Exited(0), "alive\n".to_owned()));
}

pub async fn a_sandbox_ends_at_its_time(target: &Target) {
    let mut create = target.create("conformance-ttl");
    create.time_to_live = Some(Duration::from_secs(600));
    let sandbox = target.own_sandbox(&create).await;
    // A server takes no time that is over.
    let soon = OffsetDateTime::now_utc() + time::Duration::seconds(15);
    sandbox.renew(soon).await.unwrap();
    let is_gone = async || sandbox.info().await.is_err_and(|error| error.code() == "not_found");
    until_within(Duration::from_secs(120), "it is gone", is_gone).await;
    assert!(target.client.find_by_label(&create.label).await.unwrap().is_empty());
}

pub async fn a_sandbox_that_nobody_renews_ends(target: &Target) {
    let mut create = target.create("conformance-natural");
    create.time_to_live = Some(Duration::from_secs(60));
    let sandbox = target.own_sandbox(&create).await;
    let is_gone = async || sandbox.info().await.is_err_and(|error| error.code() == "not_found");
    until_within(Duration::from_secs(90), "it is gone", is_gone).await;
    assert!(target.client.find_by_label(&create.label).await.unwrap().is_empty());
}

pub async fn a_stream_is_cut_when_its_sandbox_ends(target: &Target) {
    let sandbox = target.own_sandbox(&target.create("conformance-cut")).await;
    let killer = async {
        until("the command runs", async || sandbox.file_info(&["/tmp/begun"]).await.is_ok()).await;
        sandbox.destroy().await.unwrap();
    };
    let request = CommandRequest::shell("touch /tmp/begun; echo begun; sleep 600");
    let (cancel, mut output) = (CancellationToken::new(), Captured::default());
    let (run, ()) = tokio::join!(sandbox.run(&request, &mut output, &cancel), killer);
    // Whether the server had the time to say that it killed the command or not: it is no success.
    let end = run.map(|run| run.end);
    assert!(!matches!(end, Ok(CommandEnd::Exited(0))), "{end:?}");
    assert_eq!(output.stdout, "begun\n", "what came before the cut is kept");
}

pub async fn a_large_file_makes_the_round_trip(target: &Target) {
    let size_bytes = if target.has(Capability::Minutes) { 1 << 30 } else { 100_000_000 };
    let mut create = target.create("conformance-large");
    create.resource_limits.insert("disk".to_owned(), "1536Mi".to_owned());
    let sandbox = target.own_sandbox(&create).await;
    let upload = Upload { path: "/tmp/large".into(), mode: None, size_bytes };
    sandbox.upload(&upload, pattern::Source::default()).await.unwrap();
    let download = |range| Download { path: "/tmp/large".into(), range, max_bytes: size_bytes };
    let mut whole = pattern::Check::from(0);
    sandbox.download(&download(None), &mut whole).await.unwrap();
    assert_eq!(whole.place, size_bytes);
    let (start, length) = (50_000_001, 1_000_003);
    let mut middle = pattern::Check::from(start);
    sandbox.download(&download(Some(ByteRange { start, length: Some(length) })), &mut middle).await.unwrap();
    assert_eq!(middle.place, start + length);
}

fn control(target: &Target) -> &Control {
    target.control.as_ref().unwrap()
}

/// A client of its own, without an open connection.
fn new_client(target: &Target, patience: Duration) -> Client {
    client_at(target.url.clone(), target, patience)
}

fn client_at(url: Url, target: &Target, patience: Duration) -> Client {
    let mut connection = Connection::new(url, SecretString::from(target.key.clone()));
    connection.timeouts.create = patience;
    Client::new(connection).unwrap()
}

/// A client that does not wait for long, and knows the server already.
async fn hasty(target: &Target, patience: Duration) -> Client {
    let client = new_client(target, patience);
    client.list(&ListFilter::default(), 1).await.unwrap();
    client
}

pub async fn a_create_whose_answer_is_lost_is_found_by_its_label(target: &Target) {
    let create = target.create("conformance-lost");
    let relay = Relay::to(&target.url).await;
    let client = client_at(relay.url.clone(), target, Duration::from_secs(60));
    client.list(&ListFilter::default(), 1).await.unwrap();
    relay.lose_answers();
    let error = client.create(&create).await.unwrap_err();
    assert_eq!((error.code(), error.class()), ("outcome_unknown", ErrorClass::Unknown));
    until("it is found", async || target.client.find_by_label(&create.label).await.unwrap().len() == 1).await;
    destroy_all(target, &create.label).await;
}

pub async fn server_down_before_create(target: &Target) {
    let create = target.create("conformance-down-before");
    control(target).kill_server().await;
    // On an open connection the request might just have been seen.
    let error = new_client(target, Duration::from_secs(60)).create(&create).await.unwrap_err();
    control(target).start_server().await;
    assert_eq!(error.code(), "unreachable", "the server has not seen it, and the client knows");
    assert!(target.client.find_by_label(&create.label).await.unwrap().is_empty());
}

pub async fn server_frozen_during_create(target: &Target) {
    let create = target.create("conformance-frozen");
    let client = hasty(target, Duration::from_secs(3)).await;
    control(target).freeze_server();
    let error = client.create(&create).await.unwrap_err();
    control(target).thaw_server();
    assert_eq!((error.code(), error.class()), ("outcome_unknown", ErrorClass::Unknown));
    // Whether it takes up a request whose sender is gone is the server's business; twice it must not.
    assert!(target.client.find_by_label(&create.label).await.unwrap().len() <= 1);
    destroy_all(target, &create.label).await;
}

pub async fn server_killed_during_create(target: &Target) {
    let create = target.create("conformance-killed-during");
    // Frozen first, so that the kill meets it with the request in its hands.
    control(target).freeze_server();
    let kill = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        control(target).kill_server().await;
    };
    let (created, ()) = tokio::join!(target.client.create(&create), kill);
    control(target).start_server().await;
    assert_eq!(created.unwrap_err().code(), "outcome_unknown");
    assert!(target.client.find_by_label(&create.label).await.unwrap().is_empty(), "it had not begun");
}

pub async fn server_killed_after_create(target: &Target) {
    let create = target.create("conformance-killed-after");
    let sandbox = target.own_sandbox(&create).await;
    assert_eq!(output_of(&sandbox, "echo before").await.1, "before\n");
    control(target).kill_server().await;
    // Execd is another server, at an address that is known already.
    assert_eq!(output_of(&sandbox, "echo meanwhile").await.1, "meanwhile\n");
    assert_eq!(sandbox.info().await.unwrap_err().code(), "unreachable");
    control(target).start_server().await;
    let found = target.client.find_by_label(&create.label).await.unwrap();
    assert_eq!(found.iter().map(|info| info.id.as_str()).collect::<Vec<_>>(), [sandbox.id()]);
    assert_eq!(output_of(&sandbox, "echo after").await.1, "after\n");
    let cut = target.created(json!({})).await;
    assert_ne!(cut["id"], sandbox.id(), "it makes new ones, too");
    destroy_all(target, &create.label).await;
}

async fn destroy_all(target: &Target, label: &sandbox::opensandbox::SandboxLabel) {
    for info in target.client.find_by_label(label).await.unwrap() {
        target.client.destroy(&info.id).await.unwrap();
    }
    assert!(target.client.find_by_label(label).await.unwrap().is_empty());
}
