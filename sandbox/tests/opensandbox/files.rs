use std::io::Cursor;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use sandbox::opensandbox::{ByteRange, Client, Download, FileKind, FileMode, Move, Replacement, Sandbox, Upload};
use serde_json::{Value, json};

use crate::support::{Canned, Fake, Step, TOKEN, canned, send};

fn upload(path: &str, size_bytes: u64) -> Upload {
    Upload { path: path.into(), mode: Some(FileMode(0o640)), size_bytes }
}

/// For what never comes, and long enough for what comes on a machine that stalls.
const SHORT: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_secs(60);

/// The sandbox of a client that waits so long for a byte.
fn waiting_for(fake: &Fake, idle: Duration) -> Sandbox {
    let mut connection = fake.connection();
    connection.timeouts.idle = idle;
    Client::new(connection).unwrap().attach("sb1").unwrap()
}

fn download(path: &str) -> Download {
    Download { path: path.into(), range: None, max_bytes: 1 << 30 }
}

#[tokio::test]
async fn carries_every_name_and_byte_both_ways() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let names = [
        "报告 %20 (1).txt",
        "a+b.txt",
        "a b.txt",
        "a%20b.txt",
        "x\u{202f}y.txt",
        "q\"uo;te.txt",
        "\u{e9}.txt",
        "e\u{301}.txt",
        ".hidden",
        "-rf",
        "a&path=b",
        "#?=\\",
    ];
    let paths: Vec<String> = names.iter().map(|name| format!("/workspace/{name}")).collect();
    for (number, path) in paths.iter().enumerate() {
        let content: Vec<u8> = (0..=255).cycle().skip(number).take(number * 100_000).collect();
        sandbox.upload(&upload(path, content.len() as u64), Cursor::new(content.clone())).await.unwrap();
        let mut back = Vec::new();
        let downloaded = sandbox.download(&download(path), &mut back).await.unwrap();
        assert_eq!(back, content, "{path}");
        assert_eq!((downloaded.bytes, downloaded.is_truncated), (content.len() as u64, false));
    }
    let mut listed: Vec<String> =
        sandbox.list_directory("/workspace", 1).await.unwrap().into_iter().map(|file| file.path).collect();
    let mut expected = paths.clone();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    let info = sandbox.file_info(&[&paths[0]]).await.unwrap().remove(&paths[0]).unwrap();
    assert_eq!((info.kind, info.mode, info.size_bytes), (FileKind::File, Some(FileMode(0o640)), 0));
    let uploads = fake.seen(Method::POST, "/files/upload");
    assert!(uploads.iter().all(|seen| seen.headers.contains_key("content-length")), "some proxies need the length");
    assert!(uploads.iter().all(|seen| seen.headers["x-execd-access-token"] == TOKEN));
}

#[tokio::test]
async fn uploads_exactly_what_was_announced_or_nothing() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let error = sandbox.upload(&upload("/a", 1_000_000), Cursor::new(vec![1; 999_999])).await.unwrap_err();
    assert_eq!(error.code(), "local_io");
    assert!(!fake.world.files.lock().unwrap().contains_key("/a"));
    sandbox.upload(&upload("/a", 3), Cursor::new(b"abcdef")).await.unwrap();
    assert_eq!(fake.world.files.lock().unwrap()["/a"], "abc");
    assert_eq!(sandbox.upload(&upload("a", 0), Cursor::new(b"")).await.unwrap_err().code(), "request_invalid");
}

#[tokio::test]
async fn sends_an_upload_once() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    *fake.world.lose_reply_to.lock().unwrap() = Some("/files/upload");
    let error = sandbox.upload(&upload("/a", 3), Cursor::new(b"abc")).await.unwrap_err();
    assert_eq!(error.code(), "outcome_unknown");
    assert_eq!(fake.count(Method::POST, "/files/upload"), 1);
    *fake.world.lose_reply_to.lock().unwrap() = None;
    assert_eq!(sandbox.file_info(&["/a"]).await.unwrap()["/a"].size_bytes, 3);
    fake.answer(Method::POST, "/files/upload", canned(400, r#"{"code":"INVALID_FILE_METADATA"}"#));
    let error = sandbox.upload(&upload("/a", 3), Cursor::new(b"abc")).await.unwrap_err();
    assert_eq!(error.code(), "rejected");
}

#[tokio::test]
async fn gives_up_an_upload_that_does_not_move() {
    let fake = Fake::start().await;
    let sandbox = waiting_for(&fake, SHORT);
    let (source, _kept_open) = tokio::io::duplex(64);
    let error = sandbox.upload(&upload("/a", 3), source).await.unwrap_err();
    assert_eq!(error.code(), "outcome_unknown");
}

fn partial(status: u16, range: &str, body: &str) -> Canned {
    Canned { status, headers: vec![("content-range", range.into())], body: vec![send(body)] }
}

#[tokio::test]
async fn downloads_a_part_and_no_other() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let ranged = Download { range: Some(ByteRange { start: 2, length: Some(3) }), ..download("/a") };
    let mut back = Vec::new();
    fake.answer(Method::GET, "/files/download", partial(206, "bytes 2-4/10", "cde"));
    let downloaded = sandbox.download(&ranged, &mut back).await.unwrap();
    assert_eq!((back.as_slice(), downloaded.file_size_bytes), (&b"cde"[..], Some(10)));
    assert_eq!(fake.seen(Method::GET, "/files/download")[0].headers["range"], "bytes=2-4");

    for (answer, code) in [
        (partial(206, "bytes 0-9/10", "abcdefghij"), "protocol_unsupported"),
        (canned(200, "abcdefghij"), "protocol_unsupported"),
        (canned(416, r#"{"code":"UNKNOWN"}"#), "rejected"),
        (canned(404, r#"{"code":"FILE_NOT_FOUND"}"#), "not_found"),
    ] {
        fake.answer(Method::GET, "/files/download", answer);
        let mut back = Vec::new();
        assert_eq!(sandbox.download(&ranged, &mut back).await.unwrap_err().code(), code);
        assert!(back.is_empty());
    }
}

#[tokio::test]
async fn bounds_a_download() {
    let fake = Fake::start().await;
    let sandbox = waiting_for(&fake, LONG);
    let endless = Canned { status: 200, headers: vec![], body: vec![Step::Forever(Bytes::from_static(&[7; 4096]))] };
    fake.answer(Method::GET, "/files/download", endless);
    let mut back = Vec::new();
    let downloaded = sandbox.download(&Download { max_bytes: 10_000, ..download("/a") }, &mut back).await.unwrap();
    assert_eq!((back.len(), downloaded.is_truncated), (10_000, true));

    let hasty = waiting_for(&fake, SHORT);
    for (sandbox, ending, code) in [(hasty, Step::Hang, "deadline_exceeded"), (sandbox, Step::Cut, "disconnected")] {
        let body = vec![send("abc"), ending];
        fake.answer(Method::GET, "/files/download", Canned { status: 200, headers: vec![], body });
        let mut back = Vec::new();
        assert_eq!(sandbox.download(&download("/a"), &mut back).await.unwrap_err().code(), code);
    }
}

/// The sandbox is there and the file is not what it was: no reason to give the sandbox up.
#[tokio::test]
async fn says_that_a_file_was_cut_short_while_it_was_read() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let cut = |range: Option<&str>, body: Vec<Step>| {
        let range = range.map(|range| ("content-range", range.to_owned()));
        let headers = [("content-length", "10".to_owned())].into_iter().chain(range.clone()).collect();
        Canned { status: if range.is_some() { 206 } else { 200 }, headers, body }
    };
    fake.world.files.lock().unwrap().insert("/a".to_owned(), Bytes::from_static(b"abc"));
    let part = Some(ByteRange { start: 2, length: Some(10) });
    let breaks = || vec![send("abc"), Step::Wait(Duration::ZERO), Step::Cut];
    let ends = || vec![send("abc"), Step::Wait(Duration::ZERO)];
    let of_sandbox = canned(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND"}"#);
    let of_file = canned(404, r#"{"code":"FILE_NOT_FOUND"}"#);
    for (range, answer, look, code) in [
        (None, cut(None, breaks()), None, "file_changed"),
        (None, cut(None, ends()), None, "file_changed"),
        (part, cut(Some("bytes 2-11/20"), breaks()), None, "file_changed"),
        (None, cut(None, breaks()), Some(of_file), "file_changed"),
        (None, cut(None, breaks()), Some(of_sandbox), "disconnected"),
    ] {
        fake.answer(Method::GET, "/files/download", answer);
        if let Some(look) = look {
            fake.answer(Method::GET, "/files/info", look);
        }
        let mut back = Vec::new();
        let error = sandbox.download(&Download { range, ..download("/a") }, &mut back).await.unwrap_err();
        assert_eq!((error.code(), back.as_slice()), (code, &b"abc"[..]));
    }
}

#[tokio::test]
async fn moves_and_removes() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let answer = |method, path| fake.answer(method, path, canned(200, ""));
    answer(Method::POST, "/directories");
    sandbox.make_directory("/workspace/a b", FileMode(0o750)).await.unwrap();
    answer(Method::POST, "/files/mv");
    sandbox.move_files(&[Move { from: "/a".into(), to: "/b".into() }]).await.unwrap();
    answer(Method::DELETE, "/files");
    sandbox.delete_files(&["/a+b", "/c"]).await.unwrap();
    answer(Method::DELETE, "/directories");
    sandbox.delete_directory("/d").await.unwrap();
    fake.answer(Method::GET, "/files/search", canned(200, "null"));
    assert!(sandbox.search_files("/workspace", "*.rs").await.unwrap().is_empty());

    let body = |method, path: &str| serde_json::from_slice::<Value>(&fake.seen(method, path)[0].body).unwrap();
    assert_eq!(body(Method::POST, "/directories"), json!({"/workspace/a b": {"mode": 750}}));
    assert_eq!(body(Method::POST, "/files/mv"), json!([{"src": "/a", "dest": "/b"}]));
    assert_eq!(fake.seen(Method::DELETE, "/files")[0].query, "path=%2Fa%2Bb&path=%2Fc");
    assert_eq!(sandbox.delete_files(&[]).await.unwrap_err().code(), "request_invalid");
}

#[tokio::test]
async fn replaces_and_counts_row_56() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let one = |path: &str, old: &str| Replacement { path: path.into(), old: old.into(), new: "n\"ew".into() };
    let counts = r#"{"/a":{"replacedCount":2,"new":1},"/b":{"replacedCount":0}}"#;
    fake.answer(Method::POST, "/files/replace", canned(200, counts));
    let replaced = sandbox.replace_in_files(&[one("/a", "o\nld"), one("/b", "$x")]).await.unwrap();
    assert_eq!(replaced, [("/a".to_owned(), 2), ("/b".to_owned(), 0)].into());
    let seen = &fake.seen(Method::POST, "/files/replace")[0];
    assert_eq!(seen.query, "verbose=true");
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    assert_eq!(body, json!({"/a": {"old": "o\nld", "new": "n\"ew"}, "/b": {"old": "$x", "new": "n\"ew"}}));
    fake.answer(Method::POST, "/files/replace", canned(200, ""));
    assert!(sandbox.replace_in_files(&[one("/a", "x")]).await.unwrap().is_empty(), "a server that does not count");
    for bad in [vec![one("/a", "")], vec![one("/a", "x"), one("/a", "y")], vec![one("a", "x")], vec![]] {
        assert_eq!(sandbox.replace_in_files(&bad).await.unwrap_err().code(), "request_invalid");
    }
    assert_eq!(fake.count(Method::POST, "/files/replace"), 2);
}

#[tokio::test]
async fn reads_what_is_there_and_what_is_not_w19() {
    let fake = Fake::start().await;
    let sandbox = fake.sandbox();
    let found = r#"[{"path":"/w/a.rs","type":"file","size":3,"mode":755},{"path":"/w/l","type":"symlink"},{"path":"/w/p","type":"fifo","mode":493}]"#;
    fake.answer(Method::GET, "/files/search", canned(200, found));
    let kinds: Vec<FileKind> =
        sandbox.search_files("/w", "*").await.unwrap().into_iter().map(|file| file.kind).collect();
    assert_eq!(kinds, [FileKind::File, FileKind::Symlink, FileKind::Other]);
    fake.answer(Method::GET, "/directories/list", canned(200, "null"));
    assert!(sandbox.list_directory("/w", 0).await.unwrap().is_empty());
    let missing = canned(404, r#"{"code":"FILE_NOT_FOUND","message":"no such file"}"#);
    fake.answer(Method::GET, "/files/info", missing.clone());
    assert_eq!(sandbox.file_info(&["/a", "/b"]).await.unwrap_err().code(), "not_found");
    fake.answer(Method::GET, "/directories/list", canned(400, r#"{"code":"INVALID_FILE","message":"a file"}"#));
    assert_eq!(sandbox.list_directory("/a", 1).await.unwrap_err().code(), "rejected");
    fake.answer(Method::POST, "/files/mv", canned(500, r#"{"code":"RUNTIME_ERROR","message":"target exists"}"#));
    let moves = [Move { from: "/a".into(), to: "/b".into() }];
    assert_eq!(sandbox.move_files(&moves).await.unwrap_err().code(), "server_failed");
    assert_eq!(fake.count(Method::POST, "/files/mv"), 1);
}

const SAMPLE: &str = r#"{"cpu_count":2,"cpu_used_pct":1.5,"mem_total_mib":9,"mem_used_mib":4.5,"timestamp":1}"#;

#[tokio::test]
async fn watches_metrics_whatever_ends_a_line_w1() {
    for ending in ["\n", "\n\n", "\r\n"] {
        let fake = Fake::start().await;
        let text = format!("{SAMPLE}{ending}{SAMPLE}{ending}");
        let (first, rest) = text.split_at(20);
        fake.answer(
            Method::GET,
            "/metrics/watch",
            Canned { status: 200, headers: vec![], body: vec![send(first), send(rest)] },
        );
        let mut watch = fake.sandbox().watch_metrics().await.unwrap();
        for _ in 0..2 {
            assert!((watch.next().await.unwrap().unwrap().mem_used_mib - 4.5).abs() < f64::EPSILON);
        }
        assert_eq!(watch.next().await.unwrap(), None);
    }
    // One newline is enough to be told at once.
    let fake = Fake::start().await;
    let body = vec![send(format!("{SAMPLE}\n")), send(format!("{{\"error\":\"no /proc {TOKEN}\"}}\n")), Step::Hang];
    fake.answer(Method::GET, "/metrics/watch", Canned { status: 200, headers: vec![], body });
    let mut watch = fake.sandbox().watch_metrics().await.unwrap();
    assert!(watch.next().await.unwrap().is_some());
    let error = watch.next().await.unwrap_err();
    assert_eq!(error.reply().unwrap().message, "no /proc [redacted]");
}

#[tokio::test]
async fn ends_a_watch_that_is_silent_or_endless() {
    let fake = Fake::start().await;
    for (idle, body, code) in [
        (SHORT, vec![send("{"), Step::Hang], "deadline_exceeded"),
        (LONG, vec![send("{"), Step::Cut], "disconnected"),
        (LONG, vec![Step::Forever(Bytes::from_static(&[b'x'; 4096]))], "protocol_unsupported"),
        (LONG, vec![send("{}\n")], "protocol_unsupported"),
    ] {
        fake.answer(Method::GET, "/metrics/watch", Canned { status: 200, headers: vec![], body });
        let mut watch = waiting_for(&fake, idle).watch_metrics().await.unwrap();
        assert_eq!(watch.next().await.unwrap_err().code(), code);
    }
}
