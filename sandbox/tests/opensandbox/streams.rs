//! Streams of commands that real servers send and that hostile ones could.

use std::time::Duration;

use http::Method;
use sandbox::opensandbox::{
    Captured, Client, CommandEnd, CommandOutcome, CommandRequest, OutputSink, OutputStream, OutputWire, Sandbox,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Fake, Step, canned, complete, event, failed, init, send, stdout};

async fn run(sandbox: &Sandbox) -> (CommandOutcome, Captured) {
    let mut captured = Captured::default();
    let request = CommandRequest::shell("x");
    let outcome = sandbox.run(&request, &mut captured, &CancellationToken::new()).await.unwrap();
    (outcome, captured)
}

#[tokio::test]
async fn partial_output_is_kept_and_marked() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    for (ending, is_incomplete) in [(complete(), false), (failed("7"), false), (Step::Cut, true)] {
        fake.script([init(), stdout("kept"), ending]);
        let (outcome, captured) = run(&sandbox).await;
        assert_eq!((captured.stdout.as_str(), outcome.is_incomplete), ("kept", is_incomplete));
    }
}

/// Real servers send an event a line. What arrived together is one piece, unless the streams take turns.
#[tokio::test]
async fn output_that_arrives_together_is_given_together() {
    #[derive(Default)]
    struct Pieces(Vec<(OutputStream, String)>);
    #[async_trait::async_trait]
    impl OutputSink for Pieces {
        async fn output(&mut self, stream: OutputStream, text: &str) {
            self.0.push((stream, text.to_owned()));
        }
    }
    let line = |kind: &str, text: &str| format!("{}\n\n", json!({"type": kind, "text": text}));
    let lines = (0..100).map(|number| line("stdout", &format!("{number}\n"))).collect::<String>();
    let together = format!("{lines}{}{}", line("stderr", "oh\n"), line("stdout", "end"));
    let fake = Fake::start().await;
    fake.script([init(), send(together), complete()]);
    let mut pieces = Pieces::default();
    let outcome =
        fake.sandbox().run(&CommandRequest::shell("x"), &mut pieces, &CancellationToken::new()).await.unwrap();
    let numbers = (0..100).map(|number| format!("{number}\n")).collect::<String>();
    assert_eq!(outcome.end, CommandEnd::Exited(0));
    let piece = |stream, text: &str| (stream, text.to_owned());
    let wanted = [
        piece(OutputStream::Stdout, &numbers),
        piece(OutputStream::Stderr, "oh\n"),
        piece(OutputStream::Stdout, "end"),
    ];
    assert_eq!(pieces.0, wanted);
}

#[tokio::test]
async fn a_lost_exit_code_is_no_failure_to_start_w38() {
    let fake = Fake::start().await;
    fake.script([init(), stdout("a"), failed("waitid: no child processes")]);
    let (outcome, captured) = run(&fake.sandbox()).await;
    assert_eq!((outcome.end, outcome.is_stopped, captured.stdout.as_str()), (CommandEnd::Unknown, true, "a"));
}

#[tokio::test]
async fn pings_behind_the_terminal_event_change_nothing_row_39() {
    let fake = Fake::start().await;
    let ping = || event(json!({"type": "ping", "text": "pong", "timestamp": 1}));
    fake.script([init(), ping(), stdout("a"), ping(), complete(), ping(), ping(), failed("9"), Step::Hang]);
    let (outcome, captured) = run(&fake.sandbox()).await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "a"));
}

#[tokio::test]
async fn text_of_unknown_events_is_no_output_w7() {
    let fake = Fake::start().await;
    let status = event(json!({"type": "status", "text": "busy"}));
    let result = event(json!({"type": "result", "results": {"text": "no output"}}));
    fake.script([init(), status, result, event(json!({"type": "execution_count", "execution_count": 3})), complete()]);
    let (outcome, captured) = run(&fake.sandbox()).await;
    assert_eq!((outcome.end, outcome.unknown_events, captured), (CommandEnd::Exited(0), 3, Captured::default()));
}

#[tokio::test]
async fn an_exit_code_in_the_wrong_place_is_none_w5_w6() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    for (last, end) in [
        (json!({"type": "execution_complete", "exit_code": 7}), CommandEnd::Exited(0)),
        (json!({"type": "execution_complete", "execution_time": null}), CommandEnd::Exited(0)),
        (json!({"type": "error", "error": {"evalue": "137"}}), CommandEnd::Exited(137)),
        (json!({"type": "error", "error": {"evalue": "-1", "traceback": null}}), CommandEnd::Killed),
        (json!({"type": "error", "error": {"evalue": "1e3"}}), CommandEnd::StartFailed("1e3".into())),
    ] {
        fake.script([init(), event(last)]);
        assert_eq!(run(&sandbox).await.0.end, end);
    }
}

#[tokio::test]
async fn reads_every_framing_that_servers_use_row_32() {
    let events = [
        r#"{"type":"init","text":"c1","timestamp":1}"#,
        r#"{"type":"stdout","text":"ä\u2028b","timestamp":2}"#,
        r#"{"type":"execution_complete","timestamp":3}"#,
    ];
    for (before, after) in [
        ("", "\n\n"),
        ("", "\n"),
        ("data: ", "\n\n"),
        ("data:", "\r\n\r\n"),
        ("event: x\nid: 1\ndata: ", "\n\n"),
        (": hello\n", "\r\r"),
    ] {
        let text: String = events.iter().map(|event| format!("{before}{event}{after}")).collect();
        for trimmed in [text.as_str(), text.trim_end()] {
            let fake = Fake::start().await;
            let middle = trimmed.find('ä').unwrap() + 1;
            let (first, rest) = trimmed.as_bytes().split_at(middle);
            fake.script([
                Step::Send(first.to_vec().into()),
                Step::Wait(Duration::from_millis(5)),
                Step::Send(rest.to_vec().into()),
            ]);
            let (outcome, captured) = run(&fake.sandbox()).await;
            assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "ä\u{2028}b"), "{trimmed:?}");
        }
    }
}

#[tokio::test]
async fn waits_for_a_sandbox_that_stands_still_w40() {
    let fake = Fake::start().await;
    let mut connection = fake.connection();
    connection.timeouts.silence = Duration::from_secs(1);
    connection.output_wire = Some(OutputWire::Kept);
    let sandbox = Client::new(connection).unwrap().attach("sb1").unwrap();
    for _ in 0..100 {
        fake.answer(Method::GET, "/command/status/c1", canned(500, ""));
    }
    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Paused"}}));
    fake.script([init(), Step::UntilAsked, Step::UntilAsked, Step::UntilAsked, stdout("a"), complete()]);
    let (outcome, captured) = run(&sandbox).await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), "a"));
    assert!(fake.count(Method::GET, "/command/status/c1") >= 3, "silence was noticed");
}

#[tokio::test]
async fn finds_a_background_command_whose_start_broke_off_w12() {
    let fake = Fake::start().await;
    // Its own server may not know it at once.
    for _ in 0..3 {
        let unknown = canned(404, r#"{"code":"INVALID_REQUEST_BODY","message":"no such command"}"#);
        fake.answer(Method::GET, "/command/status/c1", unknown);
    }
    fake.answer(Method::GET, "/command/status/c1", canned(200, r#"{"id":"c1","running":true}"#));
    fake.script([init(), Step::Cut]);
    assert_eq!(fake.sandbox().start(&CommandRequest::shell("x")).await.unwrap(), "c1");
    assert_eq!(fake.commands().len(), 1);
    fake.script([send(""), Step::Cut]);
    assert_eq!(fake.sandbox().start(&CommandRequest::shell("x")).await.unwrap_err().code(), "outcome_unknown");
    let gone = canned(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}"#);
    fake.answer(Method::GET, "/command/status/c1", gone);
    fake.script([init(), Step::Cut]);
    let asked = fake.count(Method::GET, "/command/status/c1");
    assert_eq!(fake.sandbox().start(&CommandRequest::shell("x")).await.unwrap_err().code(), "outcome_unknown");
    assert_eq!(fake.count(Method::GET, "/command/status/c1"), asked + 1, "waiting does not help");
}
