//! Rows on commands: their streams, their ends, and what is known of them afterwards.

use std::time::{Duration, Instant};

use reqwest::Method;
use sandbox::opensandbox::{
    Captured, CommandEnd, CommandOutcome, CommandRequest, OutputSink, OutputStream, OutputWire, Sandbox,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::raw::{Execd, answer, until};
use crate::target::Target;

/// Runs a command through the client.
async fn run(target: &Target, request: &CommandRequest) -> (CommandOutcome, Captured) {
    let mut output = Captured::default();
    let outcome = target.sandbox().await.run(request, &mut output, &CancellationToken::new()).await.unwrap();
    (outcome, output)
}

pub async fn row_31_streams_bare_json(target: &Target) {
    let stream = target.execd().await.run("echo '<a & b>'; printf 'half'").await;
    assert_eq!(stream.content_type.split(';').next(), Some("text/event-stream"));
    assert!(stream.text.starts_with('{') && stream.text.ends_with("}\n\n"));
    let is_compact = |frame: &str| frame.lines().count() == 1;
    assert!(stream.text.trim_end().split("\n\n").all(is_compact), "{}", stream.text);
}

pub async fn row_33_events_have_type_and_time(target: &Target) {
    let stream = target.execd().await.run("echo out; echo err >&2; exit 1").await;
    for event in &stream.events {
        assert!(event["type"].is_string() && event["timestamp"].is_i64(), "{event}");
    }
}

pub async fn row_34_the_first_event_has_the_id(target: &Target) {
    let execd = target.execd().await;
    let stream = execd.run("true").await;
    assert_eq!(stream.events[0]["type"], "init");
    assert!(!stream.id().is_empty());
    assert_eq!(execd.get(&format!("/command/status/{}", stream.id())).await.status, 200);
}

pub async fn row_35_pings_while_nothing_happens(target: &Target) {
    let began = Instant::now();
    let stream = target.execd().await.run("sleep 20").await;
    // One is due every three seconds; the rest is for a machine that stalls.
    let bound = Duration::from_secs(10);
    let times = [[began].as_slice(), &stream.arrivals].concat();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] < bound), "{:?} at {times:?} from {began:?}", stream.events);
}

pub async fn row_36_ends_with_the_exit_code(target: &Target) {
    let execd = target.execd().await;
    let good = execd.run("echo good").await;
    assert_eq!(good.last()["type"], "execution_complete");
    let bad = execd.run("echo bad; exit 7").await;
    assert_eq!(bad.last()["error"]["ename"], "CommandExecError");
    assert_eq!(bad.last()["error"]["evalue"], "7");
    assert_eq!(bad.of("execution_complete").count(), 0);
}

pub async fn row_37_the_client_knows_how_it_ended(target: &Target) {
    for (command, end) in [
        ("true", CommandEnd::Exited(0)),
        ("exit 7", CommandEnd::Exited(7)),
        ("exit 255", CommandEnd::Exited(255)),
        ("kill -9 $$", CommandEnd::Killed),
        ("sh -c 'kill -9 $$'; echo $?; exit 5", CommandEnd::Exited(5)),
    ] {
        let (outcome, _) = run(target, &CommandRequest::shell(command)).await;
        assert_eq!((outcome.end, outcome.is_stopped), (end, true), "{command}");
    }
    let mut limited = CommandRequest::shell("sleep 60");
    limited.timeout = Some(Duration::from_secs(1));
    assert_eq!(run(target, &limited).await.0.end, CommandEnd::TimedOut);
}

pub async fn row_41_keeps_or_strips_terminators_throughout(target: &Target) {
    let stream = target.execd().await.run("printf 'a\\n\\nb\\n'; printf 'e\\n\\nf' >&2").await;
    let (out, err) = (stream.texts("stdout"), stream.texts("stderr"));
    match target.sandbox().await.output_wire().await.unwrap() {
        OutputWire::Kept => assert_eq!((out.concat(), err.concat()), ("a\n\nb\n".to_owned(), "e\n\nf".to_owned())),
        OutputWire::Stripped => assert_eq!((out, err), (vec!["a", "\n", "b"], vec!["e", "\n", "f"])),
    }
}

/// A command of the shell, and what it writes.
const EXACT: [(&str, &str); 7] = [
    ("printf 'a\\n\\nb'", "a\n\nb"),
    ("printf '\\n\\na\\n\\n\\nb'", "\n\na\n\n\nb"),
    ("printf 'no end'", "no end"),
    ("printf 'é中\\xf0\\x9f\\x98\\x80 \\xe2\\x80\\xa8 \"q\" \\\\ \\t<&>'", "é中\u{1f600} \u{2028} \"q\" \\ \t<&>"),
    ("printf 'end\\n'", "end\n"),
    ("printf '1%%\\r2%%\\r\\nend\\n'", "1%\r2%\r\nend\n"),
    ("printf '\\r\\r\\n\\r'", "\r\r\n\r"),
];
/// Arguments that a shell would change.
const ARGV: [&str; 14] =
    ["printf", "%s|", "$HOME", "a b", "*", "'", "\"", "\\", "`id`", "", "-n", "x\ny\n", "é中🦀", "it's \"$(id)\"\n'"];

async fn is_exact(sandbox: &Sandbox) {
    let run = async |request: CommandRequest| {
        let mut output = Captured::default();
        let outcome = sandbox.run(&request, &mut output, &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.end, CommandEnd::Exited(0));
        output.stdout
    };
    for (command, expected) in EXACT {
        assert_eq!(run(CommandRequest::shell(command)).await, expected, "{command}");
    }
    let line = run(CommandRequest::shell("head -c 700000 /dev/zero | tr '\\0' z; echo; echo next")).await;
    assert!(line == format!("{}\nnext\n", "z".repeat(700_000)), "{} bytes of a long line", line.len());
    let expected: String = ARGV[2..].iter().map(|one| format!("{one}|")).collect();
    assert_eq!(run(CommandRequest::argv(ARGV)).await, expected);
}

pub async fn row_42_output_is_exact(target: &Target) {
    is_exact(target.sandbox().await).await;
}

pub async fn row_42_output_is_exact_on_the_older_wire(target: &Target) {
    let mut create = target.create("conformance-older-wire");
    create.env.insert("VITRINE_EXECD_WIRE".to_owned(), "1.0".to_owned());
    let sandbox = target.own_sandbox(&create).await;
    assert_eq!(sandbox.output_wire().await.unwrap(), OutputWire::Stripped);
    assert!(!sandbox.takes_argv().await.unwrap());
    is_exact(&sandbox).await;
    let failed = CommandRequest::shell("echo out; echo err >&2; exit 7");
    let mut output = Captured::default();
    let outcome = sandbox.run(&failed, &mut output, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Exited(7), true));
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    let left = sandbox.list_directory("/tmp", 1).await.unwrap();
    let is_ours = |path: &str| path.starts_with("/tmp/.output-");
    assert!(!left.iter().any(|one| is_ours(&one.path)), "{left:?}");
}

pub async fn row_43_each_stream_is_in_order(target: &Target) {
    let command = "for i in $(seq 2000); do echo $i; echo $((i + 10000)) >&2; done; echo end; echo end >&2";
    let (_, output) = run(target, &CommandRequest::shell(command)).await;
    let expected =
        |from: u32| -> Vec<String> { (from + 1..=from + 2000).map(|n| n.to_string()).chain(["end".into()]).collect() };
    assert_eq!(output.stdout.lines().collect::<Vec<_>>(), expected(0));
    assert_eq!(output.stderr.lines().collect::<Vec<_>>(), expected(10_000));
}

pub async fn row_44_a_background_command_runs_on(target: &Target) {
    let execd = target.execd().await;
    let command = "while [ ! -e /tmp/row-44 ]; do sleep 0.05; done; exit 4";
    let stream = execd.stream("/command", json!({ "command": command, "background": true })).await;
    assert_eq!(stream.last()["type"], "execution_complete");
    let status = format!("/command/status/{}", stream.id());
    assert_eq!(execd.get(&status).await.body["running"], true);
    execd.run("touch /tmp/row-44").await;
    until("it has ended", async || execd.get(&status).await.body["running"] == false).await;
    assert_eq!(execd.get(&status).await.body["exit_code"], 4);
}

/// The ids of two processes of a command that wrote them to this file.
async fn pids(execd: &Execd, file: &str) -> String {
    until("the command is at work", async || {
        execd.run(&format!("wc -l <{file}")).await.texts("stdout").concat().trim() == "2"
    })
    .await;
    String::from_utf8(execd.content(file).await).unwrap().replace('\n', " ")
}

/// Waits until none of these processes runs; one that nobody has waited for yet is dead.
async fn are_gone(execd: &Execd, pids: &str) {
    let command = format!(
        "for p in {pids}; do [ -e /proc/$p/stat ] && ! grep -q '^State:.Z' /proc/$p/status 2>/dev/null && exit 1; done; exit 0"
    );
    until("its processes are gone", async || execd.run(&command).await.last()["type"] == "execution_complete").await;
}

pub async fn row_45_a_timeout_kills_the_group(target: &Target) {
    let execd = target.execd().await;
    let command = "echo $$ >/tmp/row-45; sleep 600 & echo $! >>/tmp/row-45; wait; sleep 601";
    let stream = execd.stream("/command", json!({ "command": command, "timeout": 10_000 })).await;
    assert_eq!(stream.last()["error"]["evalue"], "-1");
    are_gone(&execd, &pids(&execd, "/tmp/row-45").await).await;
    let status = execd.get(&format!("/command/status/{}", stream.id())).await;
    assert_eq!((&status.body["running"], &status.body["exit_code"]), (&json!(false), &json!(-1)));
}

pub async fn row_46_bad_requests_are_refused(target: &Target) {
    let execd = target.execd().await;
    for request in [
        json!({ "command": "true", "cwd": "/missing" }),
        json!({ "command": "true", "gid": 1000 }),
        json!({ "command": "" }),
        json!({ "command": "true", "timeout": -1 }),
        json!({ "command": "true", "uid": -1 }),
    ] {
        let refusal = execd.post("/command", request.clone()).await;
        assert_eq!((refusal.status, refusal.code()), (400, "INVALID_REQUEST_BODY"), "{request}");
    }
    let broken = execd.request(Method::POST, "/command").body("{\"command\":");
    assert_eq!(answer(broken).await.status, 400);
}

pub async fn row_47_takes_a_command_or_arguments(target: &Target) {
    let execd = target.execd().await;
    for request in [json!({}), json!({ "command": "true", "argv": ["true"] }), json!({ "argv": [""] })] {
        assert_eq!(execd.post("/command", request.clone()).await.status, 400, "{request}");
    }
    let mut placed = CommandRequest::shell("pwd; echo \"$GREETING\"; id -u");
    placed.cwd = Some("/tmp".to_owned());
    placed.env.insert("GREETING".to_owned(), "two words".to_owned());
    placed.user = Some(sandbox::opensandbox::User { uid: 1000, gid: None });
    assert_eq!(run(target, &placed).await.1.stdout, "/tmp\ntwo words\n1000\n");
}

pub async fn row_48_interrupts(target: &Target) {
    let execd = target.execd().await;
    for (file, command) in [
        ("/tmp/row-48-a", "echo $$ >$F; sleep 600 & echo $! >>$F; wait"),
        ("/tmp/row-48-b", "trap '' TERM; echo $$ >$F; sleep 600 & echo $! >>$F; wait; sleep 601"),
    ] {
        let request = json!({ "command": command, "background": true, "envs": { "F": file } });
        let id = execd.stream("/command", request).await.id();
        let pids = pids(&execd, file).await;
        let asked = Instant::now();
        assert_eq!(execd.delete(&format!("/command?id={id}")).await.status, 200, "{command}");
        are_gone(&execd, &pids).await;
        // It has three seconds and a half; the rest is for a machine that stalls, and for the looks.
        assert!(asked.elapsed() < Duration::from_secs(20), "{command}: {:?}", asked.elapsed());
        let status = execd.get(&format!("/command/status/{id}")).await.body;
        assert_eq!((&status["running"], &status["exit_code"]), (&json!(false), &json!(-1)), "{command}");
        let again = execd.delete(&format!("/command?id={id}")).await;
        assert_eq!((again.status, again.code()), (500, "RUNTIME_ERROR"), "it has ended");
    }
    let missing = execd.delete("/command").await;
    assert_eq!((missing.status, missing.code()), (400, "MISSING_QUERY"));
    let unknown = execd.delete("/command?id=none").await;
    assert_eq!((unknown.status, unknown.code()), (500, "RUNTIME_ERROR"));
}

pub async fn row_49_knows_the_status(target: &Target) {
    let execd = target.execd().await;
    let id = execd.run("exit 9").await.id();
    let status = execd.get(&format!("/command/status/{id}")).await.body;
    assert_eq!((&status["running"], &status["exit_code"]), (&json!(false), &json!(9)));
    let known = target.sandbox().await.command_status(&id).await.unwrap();
    assert_eq!((known.is_running, known.exit_code), (false, Some(9)));
    assert!(known.started_at.is_some() && known.finished_at >= known.started_at);
    assert_eq!(execd.get("/command/status/none").await.status, 404);
}

pub async fn row_50_logs_are_read_by_cursor(target: &Target) {
    let execd = target.execd().await;
    let command = "echo one; echo err >&2; while [ ! -e /tmp/row-50 ]; do sleep 0.05; done; printf '\\xff end'";
    let id = execd.stream("/command", json!({ "command": command, "background": true })).await.id();
    let read = async |cursor: u64| {
        let response = execd.request(Method::GET, &format!("/command/{id}/logs?cursor={cursor}")).send().await.unwrap();
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
        let next: u64 = response.headers()["EXECD-COMMANDS-TAIL-CURSOR"].to_str().unwrap().parse().unwrap();
        (response.bytes().await.unwrap().to_vec(), next)
    };
    until("the first lines are there", async || read(0).await.1 == 8).await;
    // No order is promised between the two streams.
    let (rest, end) = read(4).await;
    assert_eq!((rest.len(), end), (4, 8));
    assert_eq!(read(8).await, (Vec::new(), 8));
    execd.run("touch /tmp/row-50").await;
    until("the rest is there", async || read(8).await == (b"\xff end".to_vec(), 13)).await;
    let chunk = target.sandbox().await.logs(&id, 8).await.unwrap();
    assert_eq!((&chunk.bytes[..], chunk.cursor), (&b"\xff end"[..], 13));
    assert_eq!(execd.get(&format!("/command/{id}/logs?cursor=-1")).await.status, 400);
    let foreground = execd.run("true").await.id();
    assert_eq!(execd.get(&format!("/command/{foreground}/logs")).await.status, 400);
    assert!((400..500).contains(&execd.get("/command/none/logs").await.status));
}

/// Cancels as soon as there is output.
struct CancelAtOutput(CancellationToken);

#[async_trait::async_trait]
impl OutputSink for CancelAtOutput {
    async fn output(&mut self, _: OutputStream, _: &str) {
        self.0.cancel();
    }
}

pub async fn row_51_a_cancelled_command_is_gone(target: &Target) {
    let execd = target.execd().await;
    let command = "echo $$ >/tmp/row-51; sleep 600 & echo $! >>/tmp/row-51; echo begun; wait";
    let cancel = CancellationToken::new();
    let mut sink = CancelAtOutput(cancel.clone());
    let outcome = target.sandbox().await.run(&CommandRequest::shell(command), &mut sink, &cancel).await.unwrap();
    assert_eq!((outcome.end, outcome.is_stopped), (CommandEnd::Interrupted, true));
    are_gone(&execd, &pids(&execd, "/tmp/row-51").await).await;
    let status = target.sandbox().await.command_status(&outcome.command_id.unwrap()).await.unwrap();
    assert!(!status.is_running);
}
