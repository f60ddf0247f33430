//! The manager collects what lies in `outputs/`: what can be had, each version once, whatever lies beside it.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;
#[cfg(test)]
mod manager_support;
#[cfg(test)]
#[path = "opensandbox/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the client use all of it")]
mod support;

use std::time::Duration;

use bytes::Bytes;
use domain::execution::CallContext;
use domain::resource::SandboxTier;
use domain::sandbox::{
    Collected, Exit, LiveSandbox, OutputSink, OutputStream, Program, SandboxRuntime as _, WhyRefused,
};
use domain::testing::{plain_context, plain_live, plain_target};
use http::Method;
use local_support::Host;
use manager_support::{Stage, manager_at};
use sandbox::manager::SandboxManager;
use serde_json::{Value, json};
use support::{Canned, Fake, Step, canned, send};

const LIMIT: Duration = Duration::from_secs(120);

struct Unheard;

#[async_trait::async_trait]
impl OutputSink for Unheard {
    async fn output(&self, _: OutputStream, _: &str) {}
}

#[cfg(test)]
impl Stage {
    async fn run(&self, command: &str) {
        let program = Program::Shell(command.to_owned());
        let end = self.manager.execute(&self.context, &self.live, &program, LIMIT, &Unheard).await.unwrap();
        assert_eq!(end.exit, Exit::Code(0), "{command}");
    }

    async fn collect(&self) -> Collected {
        self.manager.collect(&self.context, &self.live).await.unwrap()
    }
}

fn names(collected: &Collected) -> Vec<&str> {
    collected.files.iter().map(|file| file.name.as_str()).collect()
}

fn refused(collected: &Collected) -> Vec<(&str, WhyRefused)> {
    let mut refused: Vec<_> = collected.refused.iter().map(|entry| (entry.name.as_str(), entry.why)).collect();
    refused.sort_by_key(|(name, _)| *name);
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_keeps_nothing_else_from_being_taken() {
    let host = Host::start();
    // Enough for ten thousand empty files.
    let stage = Stage::new(&host, |profile| profile.disk_bytes = 1 << 29).await;
    let deep = "1/2/3/4/5/6/7/8/9/10";
    stage
        .run(&format!(
            "cd outputs; echo good > a.txt; echo no > b; chmod 000 b; echo good > c.txt; \
             mkdir -p {deep} shut many; echo deep > {deep}/d.txt; echo x > shut/x; chmod 000 shut; \
             cd many; seq 10001 | xargs touch"
        ))
        .await;
    let deep = format!("{deep}/d.txt");
    let first = stage.collect().await;
    let mut found = names(&first);
    found.sort_unstable();
    assert_eq!(found, [deep.as_str(), "a.txt", "c.txt"]);
    let unreadable = |name| (name, WhyRefused::Unreadable);
    assert_eq!(refused(&first), [unreadable("b"), unreadable("many"), unreadable("shut")]);
    assert_eq!((first.left_out, first.is_cut), (0, false));

    // Nothing is told or taken twice; what can be read from some moment on is taken then.
    stage.run("cd outputs; rm -r many; echo more > e.txt").await;
    let second = stage.collect().await;
    assert_eq!((names(&second), refused(&second)), (vec!["e.txt"], vec![]));
    stage.run("cd outputs; chmod 644 b; chmod 755 shut").await;
    let third = stage.collect().await;
    assert_eq!((names(&third), refused(&third)), (vec!["shut/x", "b"], vec![]));

    // What a claim could not record is taken by the next one.
    let next = CallContext { attempt: stage.context.attempt + 1, ..plain_context() };
    assert_eq!(stage.manager.collect(&next, &stage.live).await.unwrap().files.len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_directory_is_told_and_never_followed() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    assert_eq!(refused(&stage.collect().await), []);
    for (put, why) in [
        ("ln -s /etc outputs", WhyRefused::Link),
        ("echo file > outputs", WhyRefused::Unreadable),
        ("mkdir outputs; echo x > outputs/x; ln -s x outputs/y; chmod 000 outputs", WhyRefused::Unreadable),
    ] {
        stage.run(&format!("rm -rf outputs; {put}")).await;
        let collected = stage.collect().await;
        assert_eq!(names(&collected), Vec::<&str>::new(), "{put}");
        // The last two are one reason, and it is told once.
        let is_news = !put.starts_with("mkdir");
        assert_eq!(refused(&collected), if is_news { vec![(".", why)] } else { vec![] }, "{put}");
    }
    stage.run("chmod 755 outputs").await;
    let collected = stage.collect().await;
    assert_eq!((names(&collected), refused(&collected)), (vec!["x"], vec![("y", WhyRefused::Link)]));
}

/// A sandbox on a server that does what a test says.
struct Remote {
    fake: Fake,
    manager: SandboxManager,
    live: LiveSandbox,
}

#[cfg(test)]
impl Remote {
    async fn with(files: &[(&str, &'static str)]) -> Self {
        let fake = Fake::start().await;
        let sandbox = json!({
            "id": "sb1", "status": {"state": "Running"}, "metadata": {}, "entrypoint": ["tail"],
            "createdAt": "2026-01-01T00:00:00.000001+00:00",
        });
        fake.world.sandboxes.lock().unwrap().insert("sb1".to_owned(), sandbox);
        for (name, content) in files {
            let path = format!("/workspace/outputs/{name}");
            fake.world.files.lock().unwrap().insert(path, Bytes::from_static(content.as_bytes()));
        }
        let manager = manager_at(&format!("http://{}", fake.world.address), support::KEY);
        let live = plain_live(plain_target(SandboxTier::Local, "local:"));
        Self { fake, manager, live }
    }

    /// What the server says next of a file.
    fn says(&self, name: &str, kind: &str, size: usize) {
        let path = format!("/workspace/outputs/{name}");
        let info: Value = json!({ &path: { "path": path, "type": kind, "size": size, "mode": 640, "owner": "root",
            "modified_at": "2026-01-02T03:04:05.123456789+02:00" } });
        self.fake.answer(Method::GET, "/files/info", canned(200, info.to_string()));
    }
}

/// Its content breaks off, and the server says nothing more: a file that is refused has another look.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_no_refused_file_and_leaves_all_to_the_next_collection() {
    let remote = Remote::with(&[("a.txt", "first"), ("b.txt", "second")]).await;
    let cut = || Canned { status: 200, headers: Vec::new(), body: vec![send("x"), Step::Cut] };
    remote.fake.answer(Method::GET, "/files/download", canned(200, "first"));
    remote.says("a.txt", "file", 5);
    remote.fake.answer(Method::GET, "/files/download", cut());
    for _ in 0..3 {
        remote.fake.answer(Method::GET, "/files/info", cut());
    }
    let error = remote.manager.collect(&plain_context(), &remote.live).await.unwrap_err();
    assert!(error.sandbox_lost, "{error}");
    remote.fake.world.overrides.lock().unwrap().clear();
    let collected = remote.manager.collect(&plain_context(), &remote.live).await.unwrap();
    assert_eq!((names(&collected), refused(&collected)), (vec!["a.txt", "b.txt"], vec![]));
    assert_eq!(remote.manager.collect(&plain_context(), &remote.live).await.unwrap().files, []);
}

/// A server that runs as root reads whatever a link leads to.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_became_a_link_while_it_was_read_is_not_taken() {
    let remote = Remote::with(&[("a.txt", "first"), ("b.txt", "second"), ("c.txt", "third")]).await;
    remote.says("a.txt", "symlink", 5);
    // It has another size each time.
    remote.says("b.txt", "file", 7);
    remote.says("b.txt", "file", 8);
    let collected = remote.manager.collect(&plain_context(), &remote.live).await.unwrap();
    assert_eq!(names(&collected), ["c.txt"]);
    assert_eq!(refused(&collected), [("a.txt", WhyRefused::Link), ("b.txt", WhyRefused::Changing)]);
    let collected = remote.manager.collect(&plain_context(), &remote.live).await.unwrap();
    assert_eq!((names(&collected), refused(&collected)), (vec!["a.txt", "b.txt"], vec![]));
}
