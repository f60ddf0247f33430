//! Commands, their streams and their ends, and bash sessions.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use local_support::{Host, body, outcome, until};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Rows 33, 34, 36 and 41.
#[tokio::test]
async fn streams_output_exactly() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let run = sandbox.run("printf 'a\\n\\nb'").await;
    let texts: Vec<_> = run.events.iter().filter(|e| e["type"] == "stdout").map(|e| e["text"].clone()).collect();
    assert_eq!(texts, ["a\n", "\n", "b"]);
    assert_eq!(run.events[0]["type"], "init");
    assert!(run.events.iter().all(|event| event["timestamp"].is_i64() && event["type"].is_string()));
    assert_eq!(run.events.last().unwrap()["type"], "execution_complete");
    assert_eq!(sandbox.run("printf '1%%\\r2%%\\r\\nend'").await.stdout, "1%\r2%\r\nend");
    assert_eq!(sandbox.run("printf 'he\\xff\\x00\\xfelo'").await.stdout, "he\u{fffd}\0\u{fffd}lo");
    let both = sandbox.run("echo out; echo err > /dev/stderr; exit 7").await;
    assert_eq!((both.stdout.as_str(), both.stderr.as_str(), both.exit), ("out\n", "err\n", 7));
    assert_eq!(both.events.last().unwrap()["error"]["ename"], "CommandExecError");
    let lines = sandbox.run("seq 100000").await.stdout;
    assert_eq!(lines, (1..=100_000).map(|n| format!("{n}\n")).collect::<String>());
}

/// Where the text of a stream loses something, the bytes of the command can be asked for once; of the newest ones, and whole
/// or not at all.
#[tokio::test]
async fn bytes_that_are_no_text_are_kept_beside_the_stream() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let raw = async |command: &str, stream: &str| {
        let response = sandbox.request(Method::GET, &format!("/vitrine/raw-output/{command}/{stream}")).send().await;
        let response = response.unwrap();
        (response.status(), response.bytes().await.unwrap().to_vec())
    };
    let ran = async |command: &str| sandbox.run(command).await.events[0]["text"].as_str().unwrap().to_owned();
    let kept = ran("printf 'he\\xff\\x00lo'; printf err >&2").await;
    assert_eq!(raw(&kept, "stdout").await, (StatusCode::OK, b"he\xff\x00lo".to_vec()));
    assert_eq!(raw(&kept, "stderr").await, (StatusCode::OK, b"err".to_vec()));
    let text = ran("printf ordinary").await;
    let long = ran("printf '\\xff'; head -c 8388608 /dev/zero").await;
    for (command, stream) in [(&*text, "stdout"), (&*long, "stdout"), (&*kept, "stdin"), ("unknown", "stdout")] {
        assert_eq!(raw(command, stream).await.0, StatusCode::BAD_REQUEST, "{command} {stream}");
    }
    assert_eq!(raw(&kept, "stdout").await.0, StatusCode::BAD_REQUEST, "it was handed out");
    let large = async || ran("printf '\\xff'; head -c 8000000 /dev/zero").await;
    let commands = [large().await, large().await, large().await, large().await, large().await];
    assert_eq!(raw(&commands[0], "stdout").await.0, StatusCode::BAD_REQUEST, "the oldest one leaves");
    assert_eq!(raw(&commands[4], "stdout").await.1.len(), 8_000_001);
}

/// Rows 31 and 35.
#[tokio::test]
async fn uses_the_stated_wire() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let response = sandbox.start(json!({ "command": "echo hi" })).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    assert!(text.starts_with('{') && text.ends_with("}\n\n"));
    let mut silent = sandbox.start(json!({ "command": "sleep 600" })).await;
    let mut seen = String::new();
    // One begins the stream; the others come while there is nothing else to say.
    while seen.matches("\"ping\"").count() < 2 {
        seen.push_str(std::str::from_utf8(&silent.chunk().await.unwrap().unwrap()).unwrap());
    }
}

/// Row 41.
#[tokio::test]
async fn speaks_the_older_wire_when_asked() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "extensions": { "vitrine.output_wire": "stripped" } })).await;
    let run = sandbox.run("printf 'a\\n\\nb\\r\\n1%%\\r2%%\\rend'").await;
    let texts: Vec<_> = run.events.iter().filter(|e| e["type"] == "stdout").map(|e| e["text"].clone()).collect();
    assert_eq!(texts, ["a", "\n", "b", "1%", "2%", "end"]);
    let many = sandbox.run("seq 20000").await;
    assert_eq!(many.events.iter().filter(|event| event["type"] == "stdout").count(), 20_000);
    let wrong =
        host.post("/v1/sandboxes", local_support::order(json!({ "extensions": { "vitrine.output_wire": "x" } })));
    assert_eq!(wrong.await.0, StatusCode::BAD_REQUEST);
}

/// Rows 46 and 47.
#[tokio::test]
async fn checks_requests() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    for request in [
        json!({}),
        json!({ "command": "" }),
        json!({ "command": "true", "argv": ["true"] }),
        json!({ "argv": [] }),
        json!({ "argv": ["a\u{0}b"] }),
        json!({ "command": "true", "cwd": "/missing" }),
        json!({ "command": "true", "gid": 1000 }),
        json!({ "command": "true", "uid": 0 }),
        json!({ "command": "true", "uid": -1 }),
        json!({ "command": "true", "timeout": -1 }),
        json!({ "command": "true", "envs": { "A=B": "c" } }),
    ] {
        let (status, refusal) = sandbox.post("/command", request.clone()).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_REQUEST_BODY")), "{request}");
    }
    let missing = sandbox.post("/command", json!({ "argv": ["no-such-program"] })).await;
    assert_eq!(missing.0, StatusCode::INTERNAL_SERVER_ERROR, "{}", missing.1);
}

#[tokio::test]
async fn runs_with_what_it_is_given() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "env": { "FROM_CREATE": "1", "GONE": null } })).await;
    let argv = sandbox.execute(json!({ "argv": ["printf", "%s|", "$HOME", "a b"] })).await;
    assert_eq!(argv.stdout, "$HOME|a b|");
    let request = json!({ "command": "pwd; echo $X $FROM_CREATE", "cwd": "/tmp", "envs": { "X": "y z" }, "uid": 1000 });
    assert_eq!(sandbox.execute(request).await.stdout, "/tmp\ny z 1\n");
    assert_eq!(
        sandbox.run("pwd; ls -A; readlink /proc/self/fd/0").await.stdout,
        "/workspace\n.mcp\ndata\ninputs\noutputs\nskills\n/dev/null\n"
    );
    let names = sandbox.run("env | cut -d= -f1 | sort").await.stdout;
    let names: Vec<_> = names.lines().collect();
    let allowed = [
        "FROM_CREATE",
        "HOME",
        "LANG",
        "LOGNAME",
        "PATH",
        "PWD",
        "SHLVL",
        "TMPDIR",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "_",
    ];
    assert_eq!(names, allowed, "nothing may be inherited from the host");
}

/// Row 45.
#[tokio::test]
async fn a_timeout_leaves_no_process() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let command =
        "sh -c 'sleep 600 & (sleep 601; sleep 602) & setsid sleep 700 & (setsid sh -c \"sleep 800 & wait\" &) ; wait'";
    // By itself it would go on for longer than the client waits.
    let run = sandbox.execute(json!({ "command": command, "timeout": 1000 })).await;
    assert_eq!((run.exit, &run.events.last().unwrap()["error"]["traceback"][0]), (-1, &json!("signal: killed")));
    assert_eq!(sandbox.run("ps -eo args | grep -c '^sleep'").await.stdout, "0\n");
    assert_eq!(sandbox.get(&format!("/command/status/{}", run.id)).await.1["exit_code"], -1);
}

/// Rows 44, 48 and 49.
#[tokio::test]
async fn an_interrupt_ends_the_tree() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    // Who obeys is asked only; who does not is killed.
    let stubborn = "trap '' TERM; setsid sleep 600 & sleep 601; sleep 602";
    for (command, end) in [("exec sleep 600", "signal: terminated"), (stubborn, "signal: killed")] {
        let (_, started) = sandbox.post("/command", json!({ "command": command, "background": true })).await;
        let id = started.as_str().unwrap().split("\n\n").next().unwrap();
        let id = serde_json::from_str::<Value>(id).unwrap()["text"].as_str().unwrap().to_owned();
        let status = format!("/command/status/{id}");
        assert_eq!(sandbox.get(&status).await.1["running"], true);
        until("it sleeps", async || sandbox.run("ps -eo args | grep '^sleep 60'").await.exit == 0).await;
        assert_eq!(sandbox.delete(&format!("/command?id={id}")).await.0, StatusCode::OK);
        let (_, ended) = sandbox.get(&status).await;
        assert_eq!((&ended["running"], &ended["exit_code"], &ended["error"]), (&json!(false), &json!(-1), &json!(end)));
        assert_eq!(sandbox.run("ps -eo args | grep -c '^sleep'").await.stdout, "0\n");
        let (again, refusal) = sandbox.delete(&format!("/command?id={id}")).await;
        assert_eq!((again, &refusal["code"]), (StatusCode::INTERNAL_SERVER_ERROR, &json!("RUNTIME_ERROR")));
    }
    assert_eq!(sandbox.delete("/command").await.1["code"], "MISSING_QUERY");
    assert_eq!(sandbox.delete("/command?id=none").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(sandbox.get("/command/status/none").await.0, StatusCode::NOT_FOUND);
}

/// Row 50.
#[tokio::test]
async fn background_output_is_read_by_cursor() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let command = "echo one; echo err >&2; while [ ! -e go ]; do sleep 0.05; done; printf '\\xff end'";
    let run = sandbox.execute(json!({ "command": command, "background": true })).await;
    let logs = format!("/command/{}/logs", run.id);
    let read = async |cursor: u64| {
        let response = sandbox.request(Method::GET, &format!("{logs}?cursor={cursor}")).send().await.unwrap();
        let next: u64 = response.headers()["EXECD-COMMANDS-TAIL-CURSOR"].to_str().unwrap().parse().unwrap();
        (response.bytes().await.unwrap().to_vec(), next)
    };
    until("the first lines are there", async || read(0).await.1 == 8).await;
    let (first, cursor) = read(0).await;
    assert_eq!(String::from_utf8(first).unwrap().len(), 8);
    assert_eq!(read(1000).await, (Vec::new(), 8), "a cursor beyond the end stays where output will be");
    sandbox.run("touch go").await;
    until("the command has ended", async || {
        sandbox.get(&format!("/command/status/{}", run.id)).await.1["running"] == false
    })
    .await;
    until("the rest is there", async || read(cursor).await.0 == b"\xff end").await;
    assert_eq!(
        body(sandbox.request(Method::GET, &format!("{logs}?cursor=-1")).send().await.unwrap()).await.0,
        StatusCode::BAD_REQUEST
    );
    let foreground = sandbox.run("true").await.id;
    assert_eq!(sandbox.get(&format!("/command/{foreground}/logs")).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_log_keeps_the_order_of_both_streams() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let command = "for i in $(seq 1 2000); do echo out $i; echo err $i >&2; done";
    let run = sandbox.execute(json!({ "command": command, "background": true })).await;
    until("the command has ended", async || {
        sandbox.get(&format!("/command/status/{}", run.id)).await.1["running"] == false
    })
    .await;
    let log = sandbox.request(Method::GET, &format!("/command/{}/logs", run.id)).send().await.unwrap();
    let expected: String = (1..=2000).map(|i| format!("out {i}\nerr {i}\n")).collect();
    assert!(log.text().await.unwrap() == expected, "the streams are not in order");
}

#[tokio::test]
async fn a_disconnect_does_not_stop_a_command() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let response = sandbox.start(json!({ "command": "seq 1000000; echo done > finished" })).await;
    drop(response);
    until("the command finishes", async || sandbox.run("cat finished").await.stdout == "done\n").await;
}

#[tokio::test]
async fn who_kills_everything_kills_only_commands() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    assert_eq!(sandbox.run("sleep 0.3; sleep 600 & kill -9 -1").await.exit, -1);
    let run = sandbox.run("sleep 0.3; kill -9 $PPID; sleep 600").await;
    assert_eq!(run.exit, -1);
    assert_eq!(sandbox.run("kill -9 1; ps -eo args | grep -c '^sleep'").await.stdout, "0\n");
    assert_eq!(host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await.1["status"]["state"], "Running");
}

#[tokio::test]
async fn a_stream_is_cut_when_its_sandbox_ends() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let mut response = sandbox.start(json!({ "command": "echo hi; sleep 600" })).await;
    let mut seen = String::new();
    while !seen.contains("hi\\n") {
        seen.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert_eq!(host.delete(&format!("/v1/sandboxes/{}", sandbox.id)).await.0, StatusCode::NO_CONTENT);
    let rest = response.text().await;
    assert!(rest.is_err(), "a cut stream must not look like a complete one: {rest:?}");
}

/// Row 60.
#[tokio::test]
async fn sessions_keep_directory_and_exports() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let created = sandbox.request(Method::POST, "/session").send().await.unwrap();
    let id = body(created).await.1["session_id"].as_str().unwrap().to_owned();
    let run = async |command: &str| {
        let path = format!("/session/{id}/run");
        outcome(sandbox.request(Method::POST, &path).json(&json!({ "command": command })).send().await.unwrap()).await
    };
    let first = run("export A='x y'; B=lost; mkdir -p d; cd d; echo err >&2; exit 3").await;
    assert_eq!((first.exit, first.stdout.as_str(), &first.id), (3, "err\n", &id));
    assert_eq!(run("pwd; echo \"$A|$B\"").await.stdout, "/workspace/d\nx y|\n");
    assert_eq!(sandbox.delete(&format!("/session/{id}")).await.0, StatusCode::OK);
    assert_eq!(sandbox.delete(&format!("/session/{id}")).await.0, StatusCode::NOT_FOUND);
}
