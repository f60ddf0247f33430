use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use sandbox::opensandbox::{Client, CommandEnd, CommandStatus, LogPiece, LogSink, Sandbox};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Canned, Fake, Step, canned};

const STATUS: &str = "/command/status/c1";
const LOGS: &str = "/command/c1/logs";
const RUNNING: &str = r#"{"id":"c1","running":true,"started_at":"2026-01-02T03:04:05.123456789+02:00"}"#;
const EXIT_7: &str = r#"{"id":"c1","running":false,"exit_code":7,"finished_at":"2026-01-02T03:04:05Z"}"#;

#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    text: String,
    cursors: Vec<u64>,
    cancel_at_first: Option<CancellationToken>,
    break_at_first: bool,
}

#[async_trait::async_trait]
impl LogSink for Kept {
    async fn piece(&mut self, piece: LogPiece<'_>) -> ControlFlow<()> {
        if self.break_at_first {
            return ControlFlow::Break(());
        }
        self.bytes.extend_from_slice(piece.bytes);
        self.text.push_str(piece.text);
        self.cursors.push(piece.cursor);
        if let Some(cancel) = &self.cancel_at_first {
            cancel.cancel();
        }
        ControlFlow::Continue(())
    }
}

fn log(steps: impl Into<Vec<Step>>) -> Canned {
    // A real server's cursor may be anything; nobody believes it.
    Canned { status: 200, headers: vec![("execd-commands-tail-cursor", "99999".into())], body: steps.into() }
}

fn bytes(bytes: &'static [u8]) -> Step {
    Step::Send(Bytes::from_static(bytes))
}

fn says(fake: &Fake, looks: &[(&str, &[Step])]) {
    for (status, steps) in looks {
        fake.answer(Method::GET, STATUS, canned(200, *status));
        fake.answer(Method::GET, LOGS, log(*steps));
        if *status != RUNNING {
            // Whoever has seen the end reads on until nothing more comes.
            fake.answer(Method::GET, LOGS, log([]));
        }
    }
}

fn sandbox(fake: &Fake, away: Duration) -> Sandbox {
    let mut connection = fake.connection();
    connection.timeouts.away = away;
    connection.timeouts.interrupt_grace = Duration::from_millis(800);
    Client::new(connection).unwrap().attach("sb1").unwrap()
}

fn asked(fake: &Fake) -> Vec<String> {
    fake.seen(Method::GET, LOGS).into_iter().map(|seen| seen.query).collect()
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn counts_the_cursor_and_joins_split_characters_w13() {
    let fake = Fake::start().await;
    let crab = "🦀".as_bytes();
    says(
        &fake,
        &[
            (RUNNING, &[bytes(b"a\r\n"), bytes(&crab[..1])]),
            (RUNNING, &[]),
            (RUNNING, &[bytes(&crab[1..])]),
            (EXIT_7, &[bytes(b"\n\nb")]),
        ],
    );
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end, outcome.cursor, outcome.is_stopped), (Some(CommandEnd::Exited(7)), 10, true));
    assert_eq!((outcome.is_lossy, outcome.reconnects), (false, 0));
    assert_eq!(kept.text, "a\r\n🦀\n\nb");
    assert_eq!(kept.cursors, [3, 7, 10], "a cursor is never inside a character");
    let expected = ["cursor=0", "cursor=4", "cursor=4", "cursor=7", "cursor=10"];
    assert_eq!(asked(&fake), expected, "what was read is not asked for again");
}

#[tokio::test]
async fn goes_on_from_a_stored_cursor() {
    let fake = Fake::start().await;
    says(&fake, &[(EXIT_7, &[bytes(b"rest")])]);
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 1 << 40, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((kept.text.as_str(), outcome.cursor), ("rest", (1 << 40) + 4));
    assert_eq!(asked(&fake), ["cursor=1099511627776", "cursor=1099511627780"]);
}

/// A server may answer with less than there is, also when the command has ended.
#[tokio::test]
async fn reads_a_log_that_comes_in_parts_to_its_end() {
    let fake = Fake::start().await;
    fake.answer(Method::GET, STATUS, canned(200, EXIT_7));
    for part in [b"one ", b"two ", b"six."] {
        fake.answer(Method::GET, LOGS, log([bytes(part)]));
    }
    fake.answer(Method::GET, LOGS, log([]));
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((kept.text.as_str(), outcome.end), ("one two six.", Some(CommandEnd::Exited(7))));
}

#[tokio::test]
async fn loses_and_repeats_nothing_while_the_server_comes_and_goes() {
    let fake = Fake::start().await;
    for (status, answer) in [
        (RUNNING, log([bytes(b"one "), Step::Cut])),
        (RUNNING, canned(503, "")),
        (RUNNING, canned(502, "Bad Gateway")),
        (RUNNING, log([bytes(b"two \xf0\x9f"), Step::Cut])),
        (RUNNING, log([bytes(b"\xa6\x80"), Step::Cut])),
        (EXIT_7, log([Step::Cut])),
        (EXIT_7, log([bytes(b" three")])),
    ] {
        fake.answer(Method::GET, STATUS, canned(200, status));
        fake.answer(Method::GET, LOGS, answer);
    }
    fake.answer(Method::GET, LOGS, log([]));
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((kept.text.as_str(), outcome.cursor), ("one two 🦀 three", 18));
    assert_eq!(outcome.end, Some(CommandEnd::Exited(7)));
    assert!(outcome.reconnects >= 1);
    assert!(fake.count(Method::GET, "/endpoints/44772") > 1, "the address is looked up again");
    assert_eq!(fake.count(Method::POST, "/command"), 0, "a command is never sent again");
}

#[tokio::test]
async fn gives_up_on_a_server_that_stays_away_and_leaves_the_command() {
    let fake = Fake::start().await;
    says(&fake, &[(RUNNING, &[bytes(b"kept")])]);
    for _ in 0..200 {
        fake.answer(Method::GET, STATUS, canned(503, ""));
    }
    let mut kept = Kept::default();
    let error = sandbox(&fake, Duration::from_millis(300))
        .follow("c1", 0, &mut kept, &CancellationToken::new())
        .await
        .unwrap_err();
    assert_eq!((error.code(), kept.text.as_str(), kept.cursors), ("server_failed", "kept", vec![4]));
    assert_eq!(fake.count(Method::DELETE, "/command"), 0);
}

#[tokio::test]
async fn waits_for_as_long_as_the_sandbox_stands_still_w40() {
    let fake = Fake::start().await;
    fake.world.sandboxes.lock().unwrap().insert("sb1".into(), json!({"id": "sb1", "status": {"state": "Paused"}}));
    says(&fake, &[(RUNNING, &[bytes(b"a")])]);
    for _ in 0..10 {
        fake.answer(Method::GET, STATUS, canned(500, ""));
    }
    says(&fake, &[(EXIT_7, &[bytes(b"b")])]);
    let mut kept = Kept::default();
    let sandbox = sandbox(&fake, Duration::from_millis(100));
    let outcome = sandbox.follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((kept.text.as_str(), outcome.end), ("ab", Some(CommandEnd::Exited(7))));
    assert_eq!(fake.count(Method::GET, STATUS), 12);
}

#[tokio::test]
async fn waits_for_a_command_that_was_just_started_w12() {
    let fake = Fake::start().await;
    for _ in 0..3 {
        fake.answer(Method::GET, STATUS, canned(404, r#"{"code":"INVALID_REQUEST_BODY","message":"no such command"}"#));
    }
    says(&fake, &[(EXIT_7, &[bytes(b"x")])]);
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end, kept.text.as_str()), (Some(CommandEnd::Exited(7)), "x"));
}

#[tokio::test]
async fn says_that_a_command_or_its_sandbox_is_gone() {
    let fake = Fake::start().await;
    let gone = canned(404, r#"{"code":"INVALID_REQUEST_BODY","message":"no such command"}"#);
    says(&fake, &[(RUNNING, &[bytes(b"x")])]);
    fake.answer(Method::GET, STATUS, gone);
    let mut kept = Kept::default();
    let sandbox = sandbox(&fake, LONG);
    let error = sandbox.follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap_err();
    assert_eq!((error.code(), kept.text.as_str()), ("not_found", "x"), "a server that was restarted has forgotten it");

    fake.answer(
        Method::GET,
        "/endpoints/44772",
        canned(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}"#),
    );
    let error = sandbox.follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap_err();
    assert!(error.reply().unwrap().has_code("SANDBOX_NOT_FOUND"));
    assert_eq!(fake.count(Method::GET, STATUS), 2, "waiting does not help");
}

#[tokio::test]
async fn interrupts_on_cancel_and_reads_what_was_written_row_51() {
    let fake = Fake::start().await;
    says(&fake, &[(RUNNING, &[bytes(b"a")]), (r#"{"id":"c1","running":false,"exit_code":-1}"#, &[bytes(b"b")])]);
    let cancel = CancellationToken::new();
    let mut kept = Kept { cancel_at_first: Some(cancel.clone()), ..Kept::default() };
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &cancel).await.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (Some(CommandEnd::Interrupted), true));
    assert_eq!((kept.text.as_str(), fake.count(Method::DELETE, "/command")), ("ab", 1));
}

#[tokio::test]
async fn says_when_an_interrupt_is_not_confirmed() {
    let fake = Fake::start().await;
    for _ in 0..40 {
        says(&fake, &[(RUNNING, &[bytes(b".")])]);
    }
    for _ in 0..3 {
        fake.answer(Method::DELETE, "/command", canned(503, ""));
    }
    let cancel = CancellationToken::new();
    let mut kept = Kept { cancel_at_first: Some(cancel.clone()), ..Kept::default() };
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &cancel).await.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (Some(CommandEnd::Interrupted), false));
}

#[tokio::test]
async fn leaves_the_command_running_when_the_sink_breaks_off() {
    let fake = Fake::start().await;
    says(&fake, &[(RUNNING, &[bytes(b"abc")])]);
    let mut kept = Kept { break_at_first: true, ..Kept::default() };
    let outcome = sandbox(&fake, LONG).follow("c1", 5, &mut kept, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end, outcome.cursor, outcome.is_stopped), (None, 5, false));
    assert_eq!(fake.count(Method::DELETE, "/command"), 0);
}

#[tokio::test]
async fn gives_bytes_that_are_no_text_as_they_are_and_marks_the_text_w41() {
    let fake = Fake::start().await;
    says(&fake, &[(EXIT_7, &[bytes(b"he\xff\xfelo\xf0\x9f")])]);
    let mut kept = Kept::default();
    let outcome = sandbox(&fake, LONG).follow("c1", 0, &mut kept, &CancellationToken::new()).await.unwrap();
    assert!(outcome.is_lossy);
    assert_eq!((kept.bytes.as_slice(), outcome.cursor), (&b"he\xff\xfelo\xf0\x9f"[..], 8));
    assert_eq!(kept.text, "he\u{fffd}\u{fffd}lo\u{fffd}");
}

#[test]
fn reads_an_end_from_a_status_only_when_it_says_one() {
    let status = |is_running, exit_code, error: Option<&str>| {
        let error = error.map(str::to_owned);
        CommandStatus { is_running, exit_code, error, started_at: None, finished_at: None, dropped_bytes: 0 }.end()
    };
    assert_eq!(status(false, Some(0), None), CommandEnd::Exited(0));
    assert_eq!(status(false, Some(-1), None), CommandEnd::Killed);
    assert_eq!(status(false, None, Some("no such user")), CommandEnd::StartFailed("no such user".into()));
    assert_eq!(status(false, None, None), CommandEnd::Unknown);
    assert_eq!(status(true, Some(0), None), CommandEnd::Unknown);
}
