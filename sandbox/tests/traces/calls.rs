//! Every call of the subset, one after the other, and what is said of those that fail.

use std::error::Error as _;
use std::fmt::{Debug, Write as _};
use std::ops::ControlFlow;

use async_trait::async_trait;
use sandbox::opensandbox::{
    ByteRange, Captured, Client, CommandRequest, CreateSandbox, Download, EgressRule, Error, FileMode, ListFilter,
    LogPiece, LogSink, Move, NetworkPolicy, PolicyRoute, Replacement, SandboxLabel, Upload,
};
use time::macros::datetime;
use tokio_util::sync::CancellationToken;

/// The texts of errors, and of what else is shown.
#[derive(Default)]
pub struct Said(pub String);

impl Said {
    fn of<T>(&mut self, call: &str, outcome: Result<T, Error>) {
        let Err(error) = outcome else { return };
        let _ = writeln!(self.0, "{call}: {error} {error:?}");
        let mut source = error.source();
        while let Some(cause) = source {
            let _ = writeln!(self.0, "{cause} {cause:?}");
            source = cause.source();
        }
    }

    fn shown(&mut self, value: impl Debug) {
        let _ = writeln!(self.0, "{value:?}");
    }
}

struct Nowhere;

#[async_trait]
impl LogSink for Nowhere {
    async fn piece(&mut self, _: LogPiece<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

pub async fn every(client: &Client, id: &str) -> Said {
    let mut said = Said::default();
    said.shown(client);
    // What the server has not yet given out as a token, nobody can tell from a word.
    let endpoint = client.endpoint(id, 44772).await;
    endpoint.iter().for_each(|endpoint| said.shown(endpoint));
    said.of("endpoint", endpoint);
    lifecycle(&mut said, client, id).await;
    execd(&mut said, client, id).await;
    said.of("kill", client.kill(id).await);
    said.of("destroy", client.destroy(id).await);
    said
}

async fn lifecycle(said: &mut Said, client: &Client, id: &str) {
    let label = SandboxLabel::new("traced").unwrap();
    let create = CreateSandbox::new(label.clone(), "no/such-image");
    said.shown(&create);
    said.of("create", client.create(&create).await);
    said.of("get", client.get(id).await);
    said.of("get a stranger", client.get("none").await);
    said.of("list", client.list_all(&ListFilter::default()).await);
    said.of("find", client.find_by_label(&label).await);
    said.of("renew", client.renew(id, datetime!(2099-01-01 0:00 UTC)).await);
    said.of("pause", client.pause(id).await);
    said.of("resume", client.resume(id).await);
    said.of("create snapshot", client.create_snapshot(id, None).await);
    said.of("snapshot", client.snapshot("none").await);
    said.of("snapshots", client.list_snapshots(Some(id)).await);
    said.of("delete snapshot", client.delete_snapshot("none").await);
}

async fn execd(said: &mut Said, client: &Client, id: &str) {
    let sandbox = client.attach(id).unwrap();
    said.shown(&sandbox);
    said.of("ping", sandbox.ping().await);
    let (mut output, never) = (Captured::default(), CancellationToken::new());
    let run = sandbox.run(&CommandRequest::shell("echo out; echo err >&2; exit 7"), &mut output, &never).await;
    said.of("run", run);
    let started = sandbox.start(&CommandRequest::shell("sleep 0.1")).await;
    let command = started.as_ref().map_or("none".to_owned(), Clone::clone);
    said.of("start", started);
    said.of("status", sandbox.command_status(&command).await);
    said.of("logs", sandbox.logs(&command, 0).await);
    said.of("follow", sandbox.follow(&command, 0, &mut Nowhere, &never).await);
    said.of("interrupt", sandbox.interrupt(&command).await);
    let upload = Upload { path: "/workspace/a".into(), mode: Some(FileMode(0o600)), size_bytes: 3 };
    said.of("upload", sandbox.upload(&upload, std::io::Cursor::new(b"abc")).await);
    let range = Some(ByteRange { start: 1, length: Some(1) });
    let download = Download { path: "/workspace/a".into(), range, max_bytes: 10 };
    said.of("download", sandbox.download(&download, &mut Vec::new()).await);
    said.of("info", sandbox.file_info(&["/workspace/a"]).await);
    said.of("no info", sandbox.file_info(&["/workspace/none"]).await);
    said.of("list", sandbox.list_directory("/workspace", 1).await);
    said.of("search", sandbox.search_files("/workspace", "*").await);
    said.of("directory", sandbox.make_directory("/workspace/d", FileMode(0o755)).await);
    let moves = [Move { from: "/workspace/a".into(), to: "/workspace/d/a".into() }];
    said.of("move", sandbox.move_files(&moves).await);
    let replacements = [Replacement { path: "/workspace/d/a".into(), old: "b".into(), new: "c".into() }];
    said.of("replace", sandbox.replace_in_files(&replacements).await);
    said.of("delete", sandbox.delete_files(&["/workspace/d/a"]).await);
    said.of("delete directory", sandbox.delete_directory("/workspace/d").await);
    said.of("metrics", sandbox.metrics().await);
    let watch = sandbox.watch_metrics().await;
    match watch {
        Ok(mut watch) => said.of("next metrics", watch.next().await),
        Err(error) => said.of::<()>("watch", Err(error)),
    }
    for route in [PolicyRoute::Sidecar, PolicyRoute::Lifecycle] {
        said.of("policy", sandbox.network_policy(route).await);
        said.of("replace policy", sandbox.replace_network_policy(route, &NetworkPolicy::deny_all()).await);
        said.of("add rules", sandbox.add_egress_rules(route, &[EgressRule::allow("a.example")]).await);
        said.of("remove rules", sandbox.remove_egress_rules(route, &["a.example"]).await);
    }
    said.of("attempts", sandbox.egress_attempts(0).await);
}
