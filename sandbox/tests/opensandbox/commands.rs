use std::sync::Arc;
use std::time::Duration;

use http::Method;
use sandbox::opensandbox::{
    Captured, Client, CommandEnd, CommandOutcome, CommandRequest, Connection, Error, Interrupt, OutputWire, Sandbox,
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::support::{Fake, KEY, SlowSink, Step, TOKEN, canned, complete, event, failed, init, send, stdout};

async fn run(sandbox: &Sandbox) -> (Result<CommandOutcome, Error>, Captured) {
    let mut captured = Captured::default();
    let result = sandbox.run(&CommandRequest::shell("x"), &mut captured, &CancellationToken::new()).await;
    (result, captured)
}

async fn outcome_of(steps: impl IntoIterator<Item = Step>) -> (CommandOutcome, Captured, Fake) {
    let fake = Fake::start().await;
    fake.script(steps);
    let (result, captured) = run(&fake.sandbox()).await;
    (result.unwrap(), captured, fake)
}

/// One that soon asks about a silent command, and need not be told how it sends output.
fn quick(fake: &Fake, change: impl FnOnce(&mut Connection)) -> Sandbox {
    let mut connection = fake.connection();
    connection.timeouts.silence = Duration::from_secs(2);
    connection.output_wire = Some(OutputWire::Kept);
    change(&mut connection);
    Client::new(connection).unwrap().attach("sb1").unwrap()
}

/// Longer than a machine stalls.
const LONG: Duration = Duration::from_secs(60);

fn status(fake: &Fake, times: usize, body: &str) {
    for _ in 0..times {
        fake.answer(Method::GET, "/command/status/c1", canned(200, body));
    }
}

const RUNNING: &str = r#"{"id":"c1","running":true,"started_at":"2026-01-02T03:04:05.123456789+02:00"}"#;
const DONE: &str = r#"{"id":"c1","running":false,"exit_code":0,"finished_at":"2026-01-02T03:04:05Z"}"#;

#[tokio::test]
async fn tells_every_end() {
    let ok = [
        init(),
        stdout("hi"),
        event(json!({"type": "ping", "text": "pong"})),
        event(json!({"type": "future_kind", "text": "?"})),
        event(json!({"type": "stderr", "text": "warn"})),
        complete(),
    ];
    let (outcome, captured, _fake) = outcome_of(ok).await;
    assert_eq!((outcome.end, outcome.unknown_events), (CommandEnd::Exited(0), 1));
    assert_eq!((captured.stdout.as_str(), captured.stderr.as_str()), ("hi", "warn"));
    assert_eq!(outcome.command_id.as_deref(), Some("c1"));

    let data = "data: {\"type\":\"stdout\",\"text\":\"hi\"}\n\ndata: {\"type\":\"execution_complete\",\"execution_time\":5}\n\n";
    let (outcome, captured, _fake) = outcome_of([send(data)]).await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "hi"));

    let (outcome, captured, _fake) = outcome_of([init(), stdout("partial"), failed("7")]).await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(7), "partial"));

    let message = "fork/exec /bin/sh: no such file or directory";
    let (outcome, _, _fake) = outcome_of([init(), failed(message)]).await;
    assert_eq!(outcome.end, CommandEnd::StartFailed(message.into()));

    let (outcome, _, _fake) = outcome_of([failed("-1")]).await;
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Killed, true));
}

#[tokio::test]
async fn reads_a_stream_that_arrives_byte_by_byte() {
    let text = "{\"type\":\"init\",\"text\":\"c1\"}\r\n\r\n: hello\r\ndata: {\"type\":\"stdout\",\r\ndata: \"text\":\"ä🦀\"}\r\n\r\n{\"type\":\"execution_complete\"}";
    let steps = text.bytes().map(|byte| Step::Send(bytes::Bytes::from(vec![byte])));
    let (outcome, captured, _fake) = outcome_of(steps).await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "ä🦀"));
}

#[tokio::test]
async fn gives_exact_output_on_both_wires() {
    let fake = Fake::start().await;
    fake.script([init(), stdout("a\n"), stdout("\n"), stdout("\r50%\r"), stdout("b"), complete()]);
    fake.script([init(), stdout("a\n"), complete()]);
    let sandbox = fake.sandbox();
    assert_eq!(run(&sandbox).await.1.stdout, "a\n\n\r50%\rb");
    assert_eq!(run(&sandbox).await.1.stdout, "a\n");
    assert_eq!(fake.count(Method::POST, "/command"), 3, "one probe for two commands");

    let fake = Fake::start().await;
    *fake.world.wire.lock().unwrap() = OutputWire::Stripped;
    fake.script([init(), stdout("a"), stdout("\n"), stdout("b"), complete()]);
    let sandbox = fake.sandbox();
    assert_eq!(run(&sandbox).await.1.stdout, "a\n\nb");
    assert_eq!(sandbox.output_wire().await.unwrap(), OutputWire::Stripped);

    let fake = Fake::start().await;
    fake.script([init(), stdout("a\n"), complete()]);
    run(&quick(&fake, |_| {})).await.0.unwrap();
    assert_eq!(fake.count(Method::POST, "/command"), 1, "no probe where the wire is known");
}

#[tokio::test]
async fn refuses_a_wire_that_it_does_not_know() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    fake.answer(
        Method::POST,
        "/command",
        canned(200, "{\"type\":\"stdout\",\"text\":\"a b\"}\n\n{\"type\":\"execution_complete\"}\n\n"),
    );
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "protocol_unsupported");
    *fake.world.lose_reply_to.lock().unwrap() = Some("/command");
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "disconnected", "the command itself was not sent");
    *fake.world.lose_reply_to.lock().unwrap() = None;
    fake.script([complete()]);
    assert_eq!(run(&sandbox).await.0.unwrap().end, CommandEnd::Exited(0), "a failed probe is not remembered");
}

#[tokio::test]
async fn stops_at_the_terminal_event() {
    // The body never ends, so that whoever waits for its end waits for ever.
    let run = outcome_of([init(), stdout("a"), complete(), Step::Hang]);
    let (outcome, captured, fake) = tokio::time::timeout(LONG, run).await.unwrap();
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "a"));
    assert_eq!(fake.count(Method::GET, "/command/status/c1"), 0, "nor is it asked for what is known");
}

#[tokio::test]
async fn reads_on_for_late_output_when_told_to() {
    let fake = Fake::start().await;
    fake.script([init(), complete(), Step::Wait(Duration::from_millis(50)), stdout("late")]);
    let sandbox = quick(&fake, |connection| connection.timeouts.tail = LONG);
    let (result, captured) = run(&sandbox).await;
    assert_eq!((result.unwrap().end, captured.stdout.as_str()), (CommandEnd::Exited(0), "late"));
}

#[tokio::test]
async fn never_calls_a_cut_stream_a_success() {
    for ending in [vec![Step::Cut], vec![], vec![send("{\"type\":\"execution_comp"), Step::Cut]] {
        let fake = Fake::start().await;
        status(&fake, 1, DONE);
        fake.script([init(), stdout("working")].into_iter().chain(ending));
        let (result, captured) = run(&fake.sandbox()).await;
        let outcome = result.unwrap();
        assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Unknown, "working"));
        assert_eq!(outcome.status.unwrap().exit_code, Some(0));
        assert_eq!(fake.count(Method::GET, "/command/status/c1"), 1);
        assert_eq!(fake.commands().len(), 1);
    }
    let (outcome, _, fake) = outcome_of([stdout("no id"), Step::Cut]).await;
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Unknown, false));
    assert_eq!(fake.count(Method::GET, "/command/status/c1"), 0);
}

#[tokio::test]
async fn asks_about_a_silent_command() {
    let fake = Fake::start().await;
    let sandbox = quick(&fake, |_| {});
    // However late a machine is: there are answers enough, and the command ends when one was asked for.
    status(&fake, 1000, RUNNING);
    fake.script([init(), Step::UntilAsked, complete()]);
    assert_eq!(run(&sandbox).await.0.unwrap().end, CommandEnd::Exited(0), "it is running, so waiting goes on");
    assert!(fake.count(Method::GET, "/command/status/c1") >= 1);

    let fake = Fake::start().await;
    let sandbox = quick(&fake, |_| {});
    status(&fake, 1, RUNNING);
    status(&fake, 1, DONE);
    fake.script([init(), send("{\"type\":"), Step::Hang]);
    let outcome = run(&sandbox).await.0.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Unknown, true));
    assert_eq!(fake.count(Method::GET, "/command/status/c1"), 2);

    let fake = Fake::start().await;
    let sandbox = quick(&fake, |_| {});
    fake.script([init(), Step::Hang]);
    let outcome = run(&sandbox).await.0.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Unknown, false), "the server has forgotten it");
}

#[tokio::test]
async fn takes_a_late_error_object_as_a_failure() {
    let (outcome, _, _fake) =
        outcome_of([init(), send(format!(r#"{{"code":"RUNTIME_ERROR","message":"bad {TOKEN}"}}"#))]).await;
    assert_eq!(outcome.end, CommandEnd::StartFailed("RUNTIME_ERROR: bad [redacted]".into()));
}

#[tokio::test]
async fn ends_at_an_endless_line_and_stops_the_command() {
    let fake = Fake::start().await;
    let line = send("{\"type\":\"stdout\",\"text\":\"");
    fake.script([init(), stdout("kept"), line, Step::Forever(vec![b'x'; 65536].into())]);
    let (outcome, captured) = run(&fake.sandbox()).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped, outcome.is_incomplete), (CommandEnd::LineTooLong, true, true));
    assert_eq!(captured.stdout, "kept", "what came before the line");
    assert_eq!(fake.count(Method::DELETE, "/command"), 1);
    tokio::time::timeout(LONG, fake.world.stream_ended.cancelled()).await.unwrap();
}

/// Whoever gets a command's end must know whether something may still run: so it is with a stream that makes no sense, too.
#[tokio::test]
async fn says_when_what_it_cannot_read_may_still_run() {
    let endless = || vec![init(), send("{\"type\":\"stdout\",\"text\":\""), Step::Forever(vec![b'x'; 65536].into())];
    let senseless = || vec![init(), event(json!({"type": "future_end"}))];
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let refuse = || (0..3).for_each(|_| fake.answer(Method::DELETE, "/command", canned(503, "")));
    refuse();
    fake.script(endless());
    let outcome = run(&sandbox).await.0.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::LineTooLong, false));

    fake.script(senseless());
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "protocol_unsupported", "it was stopped");
    refuse();
    fake.script(senseless());
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "outcome_unknown");
    fake.script([event(json!({"type": "future_end"}))]);
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "outcome_unknown", "without an id nothing can be stopped");
}

#[tokio::test]
async fn reads_a_long_line_of_escapes() {
    let text = "\0".repeat(1024 * 1024);
    let (outcome, captured, _fake) = outcome_of([init(), stdout(&text), complete()]).await;
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    assert!(captured.stdout == text);
}

#[tokio::test]
async fn sends_a_command_once_even_when_its_answer_is_lost() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    sandbox.output_wire().await.unwrap();
    *fake.world.lose_reply_to.lock().unwrap() = Some("/command");
    fake.script([init(), complete()]);
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "outcome_unknown");
    assert_eq!(fake.commands().len(), 1);
    *fake.world.lose_reply_to.lock().unwrap() = None;
    fake.answer(Method::POST, "/command", canned(400, r#"{"code":"INVALID_REQUEST_BODY","message":"no such cwd"}"#));
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "rejected");
    fake.answer(Method::POST, "/command", canned(502, r#"{"code":"BACKEND_RESPONSE_FAILED"}"#));
    assert_eq!(run(&sandbox).await.0.unwrap_err().code(), "outcome_unknown");
    assert_eq!(fake.commands().len(), 3);
}

#[tokio::test]
async fn interrupts_on_cancel_and_reads_to_the_end() {
    let fake = Fake::start().await;
    fake.script([init(), stdout("a"), Step::UntilInterrupted, stdout("b"), failed("-1"), Step::Hang]);
    let cancel = CancellationToken::new();
    let mut sink = CancelAtFirst { cancel: cancel.clone(), text: String::new() };
    let outcome = fake.sandbox().run(&CommandRequest::shell("x"), &mut sink, &cancel).await.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Interrupted, true));
    assert_eq!(sink.text, "ab");
    let interrupts = fake.seen(Method::DELETE, "/command");
    assert_eq!((interrupts.len(), interrupts[0].query.as_str()), (1, "id=c1"));
    assert!(!interrupts[0].headers.contains_key("open-sandbox-api-key"));

    let outcome = fake.sandbox().run(&CommandRequest::shell("x"), &mut sink, &cancel).await.unwrap();
    assert_eq!(outcome.end, CommandEnd::Interrupted);
    assert_eq!(fake.commands().len(), 1, "what was cancelled before is never sent");
}

struct CancelAtFirst {
    cancel: CancellationToken,
    text: String,
}

#[async_trait::async_trait]
impl sandbox::opensandbox::OutputSink for CancelAtFirst {
    async fn output(&mut self, _: sandbox::opensandbox::OutputStream, text: &str) {
        self.text.push_str(text);
        self.cancel.cancel();
    }
}

#[tokio::test]
async fn gives_up_after_the_grace() {
    for (interrupt, is_stopped) in [(200, true), (503, false)] {
        let fake = Fake::start().await;
        for _ in 0..3 {
            fake.answer(Method::DELETE, "/command", canned(interrupt, ""));
        }
        fake.script([init(), stdout("a"), Step::Hang]);
        // In the grace the interrupt must be answered, three times where it is refused.
        let sandbox = quick(&fake, |connection| {
            connection.timeouts.interrupt_grace = Duration::from_secs(5);
            connection.timeouts.silence = LONG;
        });
        let cancel = CancellationToken::new();
        let mut sink = CancelAtFirst { cancel: cancel.clone(), text: String::new() };
        let request = CommandRequest::shell("x");
        let run = tokio::time::timeout(LONG, sandbox.run(&request, &mut sink, &cancel));
        let outcome = run.await.unwrap().unwrap();
        assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Interrupted, is_stopped));
    }
}

#[tokio::test]
async fn interrupts_though_the_sink_is_stuck() {
    let fake = Fake::start().await;
    fake.script([init(), stdout("a"), Step::UntilInterrupted, failed("-1")]);
    let sandbox = quick(&fake, |connection| {
        connection.timeouts.interrupt_grace = Duration::from_secs(5);
        connection.timeouts.silence = LONG;
    });
    let cancel = CancellationToken::new();
    let mut sink = SlowSink { permits: Arc::new(Semaphore::new(0)), taken: 0 };
    let request = CommandRequest::shell("x");
    let run = sandbox.run(&request, &mut sink, &cancel);
    let cancel_when_started = async {
        while fake.commands().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run, cancel_when_started);
    assert_eq!(outcome.unwrap().end, CommandEnd::Interrupted);
    assert_eq!(fake.count(Method::DELETE, "/command"), 1);
    assert_eq!(sink.taken, 0);
}

#[tokio::test]
async fn tells_a_timeout_from_a_kill_by_the_clock() {
    let fake = Fake::start().await;
    let sandbox = |grace| {
        quick(&fake, |connection| {
            connection.timeouts.interrupt_grace = grace;
            connection.timeouts.silence = LONG;
        })
    };
    let limited = async |sandbox: Sandbox, limit| {
        let request = CommandRequest { timeout: Some(limit), ..CommandRequest::shell("x") };
        sandbox.run(&request, &mut Captured::default(), &CancellationToken::new()).await.unwrap().end
    };
    let limit = Duration::from_millis(100);
    fake.script([init(), Step::Wait(2 * limit), failed("-1")]);
    assert_eq!(limited(sandbox(LONG), limit).await, CommandEnd::TimedOut);
    fake.script([init(), failed("-1")]);
    assert_eq!(limited(sandbox(LONG), LONG).await, CommandEnd::Killed, "long before its limit");
    assert_eq!(fake.count(Method::DELETE, "/command"), 0);
    fake.script([init(), Step::UntilInterrupted, failed("-1")]);
    assert_eq!(limited(sandbox(Duration::from_secs(5)), limit).await, CommandEnd::TimedOut);
    assert_eq!(fake.count(Method::DELETE, "/command"), 1, "ours is for a server that does not keep its own");
    assert_eq!(fake.commands()[0]["timeout"], 100);
}

#[tokio::test]
async fn a_slow_sink_holds_the_server_back() {
    let fake = Fake::start().await;
    let line = format!("{}\n\n", json!({"type": "stdout", "text": "x".repeat(64 * 1024)}));
    let steps = (0..500).map(|_| send(line.clone()));
    fake.script([init()].into_iter().chain(steps).chain([complete()]));
    let permits = Arc::new(Semaphore::new(3));
    let mut sink = SlowSink { permits: permits.clone(), taken: 0 };
    let sandbox = fake.sandbox();
    let cancel = CancellationToken::new();
    let request = CommandRequest::shell("x");
    let release = async {
        // 32 MiB fit into no socket buffer: the stream is still open when the reader has stood still for a while.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!fake.world.stream_ended.is_cancelled());
        permits.add_permits(500);
    };
    let (outcome, ()) = tokio::join!(sandbox.run(&request, &mut sink, &cancel), release);
    assert_eq!(outcome.unwrap().end, CommandEnd::Exited(0));
    assert_eq!(sink.taken, 500 * 64 * 1024);
}

#[tokio::test]
async fn marks_replaced_bytes() {
    let (outcome, captured, _fake) = outcome_of([init(), stdout("he\u{fffd}\u{0}\u{fffd}lo"), complete()]).await;
    assert!(outcome.is_lossy);
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "he\u{fffd}\0\u{fffd}lo"));
}

#[tokio::test]
async fn follows_a_background_command_by_cursor() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    fake.script([init(), complete(), Step::Hang]);
    let id = sandbox.start(&CommandRequest::shell("x")).await.unwrap();
    assert_eq!(fake.commands()[0]["background"], true);
    let first = sandbox.logs(&id, 0).await.unwrap();
    assert_eq!((&first.bytes[..], first.cursor), (&b"one\xfftwo"[..], 7));
    let again = sandbox.logs(&id, first.cursor).await.unwrap();
    assert_eq!((again.bytes.len(), again.cursor), (0, 7));
    assert_eq!(sandbox.interrupt(&id).await.unwrap(), Interrupt::Stopped);
    fake.answer(Method::DELETE, "/command", canned(500, r#"{"code":"RUNTIME_ERROR","message":"no such session"}"#));
    assert_eq!(sandbox.interrupt(&id).await.unwrap(), Interrupt::NotRunning);

    fake.script([init(), send(r#"{"code":"RUNTIME_ERROR","message":"no such user"}"#)]);
    assert_eq!(sandbox.start(&CommandRequest::shell("x")).await.unwrap_err().code(), "rejected");
    fake.script([init(), Step::Cut]);
    assert_eq!(sandbox.start(&CommandRequest::shell("x")).await.unwrap_err().code(), "outcome_unknown");
    fake.answer(
        Method::GET,
        "/metrics",
        canned(
            200,
            r#"{"cpu_count":2,"cpu_used_pct":1.5,"mem_total_mib":9,"mem_used_mib":4.5,"timestamp":1,"new":[]}"#,
        ),
    );
    assert!((sandbox.metrics().await.unwrap().mem_used_mib - 4.5).abs() < f64::EPSILON);
    assert!(!fake.seen(Method::POST, "/command").iter().any(|seen| seen.headers.values().any(|value| value == KEY)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancels_in_the_middle_of_a_flood() {
    let fake = Fake::start().await;
    let line = format!("{}\n\n", json!({"type": "stdout", "text": "x"})).repeat(1000);
    fake.script([init(), Step::Forever(line.into())]);
    let sandbox = quick(&fake, |_| ());
    let cancel = CancellationToken::new();
    let mut sink = CancelAtFirst { cancel: cancel.clone(), text: String::new() };
    let request = CommandRequest::shell("yes");
    let run = sandbox.run(&request, &mut sink, &cancel);
    let outcome = tokio::time::timeout(LONG, run).await.unwrap().unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Interrupted, true));
}
