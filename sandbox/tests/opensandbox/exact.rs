//! Output on the older wire, which by itself carries neither carriage returns nor the last line's terminator.

use std::time::Duration;

use http::Method;
use proptest::prelude::*;
use sandbox::opensandbox::{
    Captured, CommandEnd, CommandOutcome, CommandRequest, OutputSink, OutputStream, OutputWire, shell_quote,
};
use tokio_util::sync::CancellationToken;

use crate::support::{Fake, canned, event, failed, init};

async fn older() -> Fake {
    let fake = Fake::start().await;
    *fake.world.wire.lock().unwrap() = OutputWire::Stripped;
    fake.world.runs_commands.store(true, std::sync::atomic::Ordering::SeqCst);
    fake
}

async fn run(fake: &Fake, request: &CommandRequest) -> (CommandOutcome, Captured) {
    let mut captured = Captured::default();
    let outcome = fake.sandbox().run(request, &mut captured, &CancellationToken::new()).await.unwrap();
    (outcome, captured)
}

async fn shell(text: &str) -> (CommandOutcome, Captured) {
    run(&older().await, &CommandRequest::shell(text)).await
}

#[tokio::test]
async fn gives_every_byte_of_both_streams_w3() {
    for text in ["a\n\nb", "a\r\nb\rc\n", "\n", "\n\n", "\r", "50%\r100%\r", "x", "", " \r\n \n", "ä🦀\u{2028}\n"] {
        let (outcome, captured) = shell(&format!("printf %s {0}; printf %s {0} >&2", shell_quote(text))).await;
        assert_eq!((captured.stdout.as_str(), captured.stderr.as_str()), (text, text));
        assert_eq!((outcome.end, outcome.is_incomplete, outcome.is_lossy), (CommandEnd::Exited(0), false, false));
    }
}

#[tokio::test]
async fn keeps_the_exit_code_and_what_was_written_before() {
    let (outcome, captured) = shell("echo a; echo b >&2; exit 7").await;
    assert_eq!(
        (outcome.end, captured.stdout.as_str(), captured.stderr.as_str()),
        (CommandEnd::Exited(7), "a\n", "b\n")
    );
    let (outcome, captured) = shell("echo a; kill -9 $$").await;
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Killed, "a\n"));
    let (outcome, captured) = shell("echo 'open").await;
    assert!(matches!(outcome.end, CommandEnd::Exited(code) if code != 0));
    assert!(!captured.stderr.is_empty(), "what the shell says is output, too");
}

#[tokio::test]
async fn gives_output_while_the_command_runs() {
    struct LetGo(std::path::PathBuf, String);
    #[async_trait::async_trait]
    impl OutputSink for LetGo {
        async fn output(&mut self, _: OutputStream, text: &str) {
            self.1.push_str(text);
            std::fs::write(&self.0, "").unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    let text = format!("echo a; while [ ! -e {} ]; do sleep 0.02; done; echo b", shell_quote(gate.to_str().unwrap()));
    let fake = older().await;
    let mut sink = LetGo(gate, String::new());
    let outcome = fake.sandbox().run(&CommandRequest::shell(text), &mut sink, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end, sink.1.as_str()), (CommandEnd::Exited(0), "a\nb\n"));
}

#[tokio::test]
async fn removes_its_files_afterwards() {
    let fake = older().await;
    run(&fake, &CommandRequest::shell("echo a")).await;
    let removed = fake.seen(Method::DELETE, "/directories");
    assert_eq!(removed.len(), 1);
    let path = url::form_urlencoded::parse(removed[0].query.as_bytes()).next().unwrap().1.into_owned();
    assert!(path.starts_with("/tmp/.output-") && !std::path::Path::new(&path).exists());
}

#[tokio::test]
async fn carries_more_than_one_answer_holds() {
    let (outcome, captured) = shell("head -c 3000000 /dev/zero | tr '\\0' '\\r'").await;
    assert_eq!((outcome.is_incomplete, captured.stdout.len()), (false, 3_000_000));
    assert!(captured.stdout.bytes().all(|byte| byte == b'\r'));
}

#[tokio::test]
async fn marks_what_is_no_text_w41() {
    let (outcome, captured) = shell(r"printf 'he\377lo'").await;
    assert_eq!((outcome.is_lossy, captured.stdout.as_str()), (true, "he\u{fffd}lo"));
}

#[tokio::test]
async fn gives_a_shell_quoted_arguments_where_argv_is_unknown_w35() {
    let fake = older().await;
    let arguments = ["printf", "%s|", "a b", "it's", "$HOME", "", "`id`", "\\", "\"", "a\n\nb\n", "é中🦀"];
    let (outcome, captured) = run(&fake, &CommandRequest::argv(arguments)).await;
    let expected = "a b|it's|$HOME||`id`|\\|\"|a\n\nb\n|é中🦀|";
    assert_eq!((outcome.end, captured.stdout.as_str()), (CommandEnd::Exited(0), expected));
    assert!(!fake.sandbox().takes_argv().await.unwrap());
    assert!(fake.commands().iter().all(|body| body.get("argv").is_none() || body["argv"][0] == "sh"));
}

#[tokio::test]
async fn says_that_output_may_be_missing_when_the_files_could_not_be_made() {
    let fake = Fake::start().await;
    *fake.world.wire.lock().unwrap() = OutputWire::Stripped;
    for _ in 0..4 {
        fake.answer(Method::GET, "/files/info", canned(404, r#"{"code":"FILE_NOT_FOUND","message":"no such file"}"#));
    }
    let complaint = serde_json::json!({"type": "stderr", "text": "mkdir: cannot create directory", "timestamp": 1});
    fake.script([init(), event(complaint), failed("125")]);
    let (outcome, captured) = run(&fake, &CommandRequest::shell("x")).await;
    assert_eq!((outcome.end, outcome.is_incomplete), (CommandEnd::Exited(125), true));
    assert_eq!(captured.stderr, "mkdir: cannot create directory");
}

#[tokio::test]
async fn reads_on_when_a_look_at_the_files_fails() {
    let fake = older().await;
    for _ in 0..3 {
        fake.answer(Method::GET, "/files/info", canned(503, ""));
    }
    let (outcome, captured) = run(&fake, &CommandRequest::shell("echo a; sleep 0.4; echo b")).await;
    assert_eq!((captured.stdout.as_str(), outcome.is_incomplete), ("a\nb\n", false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn carries_any_text_row_42(out in "[ab \r\n\tä🦀]{0,60}", err in "[ab \r\n]{0,60}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let text = format!("printf %s {}; printf %s {} >&2", shell_quote(&out), shell_quote(&err));
        let ran = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), shell(&text)).await }).unwrap();
        prop_assert_eq!(ran.1, Captured { stdout: out, stderr: err });
    }
}
