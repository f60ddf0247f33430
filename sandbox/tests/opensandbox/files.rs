use std::io::Cursor;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use sandbox::opensandbox::{ByteRange, Client, Download, FileKind, FileMode, Move, Upload};
use serde_json::{Value, json};

use crate::support::{Canned, Fake, Step, TOKEN, canned, send};

fn upload(path: &str, size_bytes: u64) -> Upload {
    Upload { path: path.into(), mode: Some(FileMode(0o640)), size_bytes }
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
    let mut connection = fake.connection();
    connection.timeouts.idle = Duration::from_millis(200);
    let sandbox = Client::new(connection).unwrap().attach("sb1").unwrap();
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
    let mut connection = fake.connection();
    connection.timeouts.idle = Duration::from_millis(200);
    let sandbox = Client::new(connection).unwrap().attach("sb1").unwrap();
    let endless = Canned { status: 200, headers: vec![], body: vec![Step::Forever(Bytes::from_static(&[7; 4096]))] };
    fake.answer(Method::GET, "/files/download", endless);
    let mut back = Vec::new();
    let downloaded = sandbox.download(&Download { max_bytes: 10_000, ..download("/a") }, &mut back).await.unwrap();
    assert_eq!((back.len(), downloaded.is_truncated), (10_000, true));

    for (ending, code) in [(Step::Hang, "deadline_exceeded"), (Step::Cut, "disconnected")] {
        let body = vec![send("abc"), ending];
        fake.answer(Method::GET, "/files/download", Canned { status: 200, headers: vec![], body });
        let mut back = Vec::new();
        assert_eq!(sandbox.download(&download("/a"), &mut back).await.unwrap_err().code(), code);
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
