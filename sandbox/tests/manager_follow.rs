//! The manager follows background commands of a real runtime: to their end, from where the last one was, over what nobody
//! looked at.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;
#[cfg(test)]
mod manager_support;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use domain::ids::{SandboxId, ToolCallId};
use domain::sandbox::{
    BackgroundCommand, Exit, Followed, LiveSandbox, OutputSink, OutputStream, Program, ProgramEnd, SandboxRuntime as _,
    Start,
};
use domain::testing::plain_context;
use local_support::Host;
use manager_support::{Stage, manager_of};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
impl Stage {
    /// As after a restart: nothing is known but what is stored.
    fn again(&self, host: &Host) -> Self {
        Self { manager: manager_of(host), live: self.live.clone(), context: plain_context() }
    }

    async fn start(&self, command: &str, limit: Duration) -> BackgroundCommand {
        self.start_program(Program::Shell(command.to_owned()), limit).await
    }

    async fn start_program(&self, program: Program, limit: Duration) -> BackgroundCommand {
        let started = self.manager.start(&self.context, &self.live, &program, limit).await.unwrap();
        let Start::Started(id) = started else { panic!("{started:?}") };
        BackgroundCommand { id, cursor: 0, limit_ms: u32::try_from(limit.as_millis()).unwrap() }
    }

    async fn follow(&self, command: &BackgroundCommand, output: &Kept) -> Followed {
        let let_go = CancellationToken::new();
        self.manager.follow(&self.context, &self.live, command, &let_go, output).await.unwrap()
    }

    /// Waits until this file is there.
    async fn until_there(&self, path: &str) {
        until(async || self.manager.download(&self.context, &self.live, path, 0, 1).await.unwrap().is_some()).await;
    }
}

/// What came.
#[derive(Default)]
struct Kept(Mutex<String>);

#[cfg(test)]
impl Kept {
    fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

#[cfg(test)]
#[async_trait]
impl OutputSink for Kept {
    async fn output(&self, stream: OutputStream, text: &str) {
        assert_eq!(stream, OutputStream::Stdout);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }
}

#[cfg(test)]
const LONG: Duration = Duration::from_secs(120);

#[cfg(test)]
async fn until(mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !condition().await {
        assert!(Instant::now() < end, "not within {LONG:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
fn ended(exit: Exit) -> Followed {
    Followed::Ended(ProgramEnd::of(exit))
}

#[tokio::test(flavor = "multi_thread")]
async fn both_streams_come_as_one_text_with_the_exit_code() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let command = stage.start("echo out; echo err >&2; printf 'no end'; exit 7", LONG).await;
    let output = Kept::default();
    assert_eq!(stage.follow(&command, &output).await, ended(Exit::Code(7)));
    assert_eq!(output.text().len(), "out\nerr\nno end".len());
    assert!(output.text().contains("err\n") && output.text().contains("out\n"), "{}", output.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_are_replaced() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let command = stage.start(r"printf 'he\377\000lo'", LONG).await;
    let output = Kept::default();
    assert_eq!(stage.follow(&command, &output).await, ended(Exit::Code(0)));
    assert_eq!(output.text(), "he\u{fffd}\0lo");
}

/// A log may be longer than one answer of the server.
#[tokio::test(flavor = "multi_thread")]
async fn all_of_a_long_output_comes() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let command = stage.start("seq 1 3000000; echo done > there", LONG).await;
    stage.until_there("there").await;
    let output = Kept::default();
    assert_eq!(stage.follow(&command, &output).await, ended(Exit::Code(0)));
    let text = output.text();
    assert!(text.len() > 20_000_000);
    assert!(text.lines().enumerate().all(|(index, line)| line == (index + 1).to_string()), "a line is missing");
    assert_eq!(text.lines().count(), 3_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_let_go_runs_on_and_is_followed_by_another_process() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let command =
        stage.start("echo run >> runs; echo one; while [ ! -e go ]; do sleep 0.05; done; echo two", LONG).await;
    let (let_go, output) = (CancellationToken::new(), Kept::default());
    let followed = stage.manager.follow(&stage.context, &stage.live, &command, &let_go, &output);
    let leave = async {
        until(async || output.text() == "one\n").await;
        let_go.cancel();
    };
    let (followed, ()) = tokio::join!(followed, leave);
    assert_eq!(followed.unwrap(), Followed::LetGo);
    let next = stage.again(&host);
    assert!(next.manager.is_usable(&next.context, &next.live).await.unwrap());
    next.manager.upload(&next.context, &next.live, "go", "".into()).await.unwrap();
    let output = Kept::default();
    assert_eq!(next.follow(&BackgroundCommand { cursor: 4, ..command }, &output).await, ended(Exit::Code(0)));
    assert_eq!(output.text(), "one\ntwo\n");
    let runs = next.manager.download(&next.context, &next.live, "runs", 0, 100).await.unwrap().unwrap();
    assert_eq!(runs, "run\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_is_the_servers_and_is_told_when_nobody_looked() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    // Long enough for its first words on a machine that stalls.
    let limit = Duration::from_secs(10);
    let command = stage.start("sleep 600 & echo began; wait; echo late > late", limit).await;
    let (_, endpoint) = host.get(&format!("/v1/sandboxes/{}/endpoints/44772", stage.live.remote_id)).await;
    let url = format!("http://{}/command/status/{}", endpoint["endpoint"].as_str().unwrap(), command.id);
    let token = endpoint["headers"]["X-EXECD-ACCESS-TOKEN"].as_str().unwrap();
    until(async || {
        let asked = host.client.get(&url).header("X-EXECD-ACCESS-TOKEN", token).send().await.unwrap();
        asked.text().await.unwrap().contains("\"running\":false")
    })
    .await;
    let output = Kept::default();
    assert_eq!(stage.again(&host).follow(&command, &output).await, ended(Exit::TimedOut));
    assert_eq!(output.text(), "began\n");
    assert_eq!(stage.manager.download(&stage.context, &stage.live, "late", 0, 1).await.unwrap(), None);
    let killed = stage.start("kill -9 $$", LONG).await;
    assert_eq!(stage.follow(&killed, &Kept::default()).await, ended(Exit::Killed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_stops_the_command_and_all_that_it_started() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    // What it starts has 10 s to be stopped, however much the machine stalls.
    let command = stage.start("(sleep 10; echo x > late) & echo began; wait", LONG).await;
    let output = Kept::default();
    let following = stage.follow(&command, &output);
    let stop = async {
        until(async || !output.text().is_empty()).await;
        stage.context.cancel.cancel();
    };
    let (followed, ()) = tokio::join!(following, stop);
    // A shell may have a last word about what was stopped.
    assert!(output.text().starts_with("began\n"), "{}", output.text());
    assert_eq!(followed, ended(Exit::Interrupted));
    // One that sleeps longer and began later has come to its end: so would the other have.
    let next = stage.again(&host);
    next.start("sleep 11; echo x > later", LONG).await;
    next.until_there("later").await;
    assert_eq!(next.manager.download(&next.context, &next.live, "late", 0, 1).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_the_server_has_not_kept_is_counted() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let kept_bytes = 64 << 20;
    let command = stage.start(&format!("head -c {} /dev/zero | tr '\\0' x", kept_bytes + 10), LONG).await;
    let output = Kept::default();
    let followed = stage.follow(&command, &output).await;
    assert_eq!(output.text().len(), kept_bytes);
    assert_eq!(followed, Followed::Ended(ProgramEnd { dropped_bytes: 10, ..ProgramEnd::of(Exit::Code(0)) }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_the_server_does_not_know_gives_its_sandbox_up() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let command = BackgroundCommand { id: "0123abcd".to_owned(), cursor: 3, limit_ms: 1000 };
    let lost = Followed::Ended(ProgramEnd { sandbox_lost: true, ..ProgramEnd::of(Exit::Unknown) });
    assert_eq!(stage.follow(&command, &Kept::default()).await, lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_usable_while_it_is_there_and_ours() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let is_usable = async |live: &LiveSandbox| {
        let again = stage.again(&host);
        again.manager.is_usable(&again.context, live).await.unwrap()
    };
    assert!(is_usable(&stage.live).await);
    let foreign = LiveSandbox { id: SandboxId::from_bits(8), ..stage.live.clone() };
    assert!(!is_usable(&foreign).await, "it has another label");
    stage.manager.terminate(&stage.live.target, stage.live.id, Some(&stage.live.remote_id)).await.unwrap();
    assert!(!is_usable(&stage.live).await);
}

/// What the run kept beside its output goes with its end; what another run has there stays.
#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_followed_run_are_removed_at_its_end() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let mut call = stage.again(&host);
    call.live.setting.call = Some(ToolCallId::from_bits(5));
    let python = |source: &str| Program::Python(source.to_owned());
    let command = call.start_program(python("print('out')"), LONG).await;
    let waits =
        "import os, time\nwhile not os.path.exists('stop'): time.sleep(0.02)\nprint(*os.listdir('/tmp/vitrine'))";
    let other = stage.start_program(python(waits), LONG).await;
    assert_eq!(call.follow(&command, &Kept::default()).await, ended(Exit::Code(0)));
    stage.manager.upload(&stage.context, &stage.live, "stop", bytes::Bytes::new()).await.unwrap();
    let listed = Kept::default();
    assert_eq!(stage.follow(&other, &listed).await, ended(Exit::Code(0)));
    assert_eq!(listed.text().split_whitespace().count(), 1, "{}", listed.text());
    assert!(!listed.text().contains(&ToolCallId::from_bits(5).to_string()), "{}", listed.text());
}

/// A program cuts a file short and writes it again while it is read: that is an error of the read, and of nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_read_costs_no_sandbox() {
    let host = Host::start();
    let stage = Stage::new(&host, |_| {}).await;
    let program = ": > f; : > began; until [ -e stop ]; do head -c 6000000 /dev/zero > f; : > f; done";
    let command = stage.start(program, LONG).await;
    stage.until_there("began").await;
    let mut changed = 0;
    // When a read meets a change is up to the scheduler.
    until(async || {
        let parts = [
            stage.manager.download(&stage.context, &stage.live, "f", 0, 5_000_000).await,
            stage.manager.download(&stage.context, &stage.live, "f", 3_000_000, 1000).await,
            stage.manager.read_file(&stage.context, &stage.live, "f", 1 << 24).await,
        ];
        for part in parts {
            if let Err(error) = part {
                assert_eq!((error.code, error.sandbox_lost), ("FILE_CHANGED", false), "{error}");
                changed += 1;
            }
        }
        changed > 0
    })
    .await;
    stage.manager.upload(&stage.context, &stage.live, "stop", bytes::Bytes::new()).await.unwrap();
    assert_eq!(stage.follow(&command, &Kept::default()).await, ended(Exit::Code(0)));
}
