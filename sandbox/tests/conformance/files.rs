//! Rows on files and measurements.

use reqwest::Method;
use reqwest::multipart::Form;
use sandbox::opensandbox::{ByteRange, Download, FileKind, FileMode, Move, Replacement, Upload};
use serde_json::{Value, json};

use crate::raw::{Execd, answer, encoded, part, until};
use crate::target::Target;

pub async fn row_52_uploads_pairs_of_parts(target: &Target) {
    let execd = target.execd().await;
    let send = async |form: Form| answer(execd.request(Method::POST, "/files/upload").multipart(form)).await;
    let metadata = |path: &str| part(json!({ "path": path, "owner": null, "group": null }).to_string().into_bytes());
    let form = Form::new().part("metadata", metadata("/tmp/row-52/new/one")).part("file", part(b"1".to_vec()));
    let form = form.part("metadata", metadata("/tmp/row-52/deep/er/two")).part("file", part(b"2\n".to_vec()));
    assert_eq!(send(form).await.status, 200);
    assert_eq!(execd.content("/tmp/row-52/new/one").await, b"1");
    assert_eq!(execd.content("/tmp/row-52/deep/er/two").await, b"2\n");
    let lone = send(Form::new().part("file", part(b"x".to_vec()))).await;
    assert_eq!((lone.status, lone.code()), (400, "INVALID_FILE_METADATA"));
    let broken = Form::new().part("metadata", part(b"no json".to_vec())).part("file", part(b"x".to_vec()));
    assert_eq!(send(broken).await.status, 400);
    let plain = execd.post("/files/upload", json!({})).await;
    assert_eq!((plain.status, plain.code()), (400, "INVALID_FILE"));
    // Without a length the body goes out in chunks.
    let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    let piece = futures_util::stream::iter(
        content.chunks(7001).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>(),
    );
    let chunked = reqwest::multipart::Part::stream(reqwest::Body::wrap_stream(piece)).file_name("part");
    let form = Form::new().part("metadata", metadata("/tmp/row-52/chunked")).part("file", chunked);
    assert_eq!(send(form).await.status, 200);
    assert!(execd.content("/tmp/row-52/chunked").await == content);
}

pub async fn row_53_modes_are_read_as_they_were_written(target: &Target) {
    let (sandbox, execd) = (target.sandbox().await, target.execd().await);
    for mode in [0o644, 0o600, 0o755, 0o400] {
        let path = format!("/tmp/row-53/{mode:o}");
        let upload = Upload { path: path.clone(), mode: Some(FileMode(mode)), size_bytes: 2 };
        sandbox.upload(&upload, &b"ab"[..]).await.unwrap();
        let info = sandbox.file_info(&[&path]).await.unwrap().remove(&path).unwrap();
        assert_eq!((info.kind, info.size_bytes, info.mode), (FileKind::File, 2, Some(FileMode(mode))));
        let shown = execd.run(&format!("stat -c %a {path}")).await;
        assert_eq!(shown.texts("stdout").concat().trim(), format!("{mode:o}"));
    }
    assert_eq!(execd.upload("/tmp/row-53/bad", b"x", 493).await.status, 500, "9 is no octal digit");
}

pub async fn row_54_information_is_keyed_by_the_request(target: &Target) {
    let (sandbox, execd) = (target.sandbox().await, target.execd().await);
    execd.run("mkdir -p /tmp/row-54/dir; cd /tmp/row-54; echo x >'a b+c%20é'; ln -s 'a b+c%20é' link").await;
    let missing = execd.get("/files/info?path=/tmp/row-54/dir&path=/tmp/row-54/none").await;
    assert_eq!((missing.status, missing.code()), (404, "FILE_NOT_FOUND"));
    let paths = ["/tmp/row-54/a b+c%20é", "/tmp/row-54/link", "/tmp/row-54/dir"];
    let query: Vec<_> = paths.iter().map(|path| format!("path={}", encoded(path))).collect();
    let raw = execd.get(&format!("/files/info?{}", query.join("&"))).await.body;
    let mut keys: Vec<_> = raw.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    assert_eq!(keys, [paths[0], paths[2], paths[1]]);
    for name in ["path", "type", "size", "modified_at", "created_at", "owner", "group", "mode"] {
        assert!(raw[paths[0]].get(name).is_some(), "{name}");
    }
    let info = sandbox.file_info(&paths).await.unwrap();
    let kinds: Vec<_> = paths.iter().map(|path| info[*path].kind).collect();
    assert_eq!(kinds, [FileKind::File, FileKind::Symlink, FileKind::Directory]);
    assert_eq!(sandbox.file_info(&["/tmp/row-54/none"]).await.unwrap_err().code(), "not_found");
}

pub async fn row_55_downloads_ranges(target: &Target) {
    let (sandbox, execd) = (target.sandbox().await, target.execd().await);
    execd.upload("/tmp/row-55/ten", b"0123456789", 644).await;
    execd.upload("/tmp/row-55/empty", b"", 644).await;
    assert_eq!(execd.content("/tmp/row-55/empty").await, b"");
    let whole = execd.download("/tmp/row-55/ten").send().await.unwrap();
    assert_eq!((whole.status().as_u16(), whole.content_length()), (200, Some(10)));
    for (range, expected, place) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=0-99", "0123456789", "bytes 0-9/10"),
    ] {
        let response = execd.download("/tmp/row-55/ten").header("Range", range).send().await.unwrap();
        assert_eq!(response.status(), 206, "{range}");
        assert_eq!(response.headers()["content-range"], place);
        assert_eq!(response.content_length(), Some(expected.len() as u64));
        assert_eq!(response.text().await.unwrap(), expected);
    }
    for range in ["bytes=10-", "bytes=x", "lines=1-2"] {
        // Reading the body to its end fails when its length is that of the file.
        let refusal = answer(execd.download("/tmp/row-55/ten").header("Range", range)).await;
        assert_eq!(refusal.status, 416, "{range}");
    }
    assert_eq!(answer(execd.download("/tmp/row-55/none")).await.status, 404);
    let mut bytes = Vec::new();
    let range = Some(ByteRange { start: 3, length: Some(4) });
    let download = Download { path: "/tmp/row-55/ten".into(), range, max_bytes: 100 };
    let read = sandbox.download(&download, &mut bytes).await.unwrap();
    assert_eq!((bytes.as_slice(), read.file_size_bytes), (&b"3456"[..], Some(10)));
}

pub async fn row_56_replaces_and_counts(target: &Target) {
    let execd = target.execd().await;
    execd.upload("/tmp/row-56", b"a.b.a\n", 644).await;
    let counted =
        execd.post("/files/replace?verbose=true", json!({ "/tmp/row-56": { "old": "a", "new": "ccc" } })).await;
    assert_eq!(counted.body, json!({ "/tmp/row-56": { "replacedCount": 2 } }));
    assert_eq!(execd.content("/tmp/row-56").await, b"ccc.b.ccc\n");
    // The text is taken as it is, not as a pattern.
    let silent = execd.post("/files/replace", json!({ "/tmp/row-56": { "old": "c.b", "new": "" } })).await;
    assert_eq!((silent.status, silent.body), (200, json!("")));
    assert_eq!(execd.content("/tmp/row-56").await, b"cc.ccc\n");
    let replacement = Replacement { path: "/tmp/row-56".into(), old: "c".into(), new: "d".into() };
    let counts = target.sandbox().await.replace_in_files(&[replacement]).await.unwrap();
    assert_eq!(counts["/tmp/row-56"], 5);
    assert_eq!(execd.content("/tmp/row-56").await, b"dd.ddd\n");
    let empty = execd.post("/files/replace", json!({ "/tmp/row-56": { "old": "", "new": "x" } })).await;
    assert_eq!(empty.status, 400);
}

pub async fn row_57_deletes(target: &Target) {
    let (sandbox, execd) = (target.sandbox().await, target.execd().await);
    execd.run("mkdir -p /tmp/row-57/dir/deep; touch /tmp/row-57/one /tmp/row-57/dir/deep/two").await;
    assert_eq!(execd.delete("/files?path=/tmp/row-57/one&path=/tmp/row-57/none").await.status, 200);
    assert_eq!(execd.delete("/files?path=/tmp/row-57/dir").await.status, 500);
    assert_eq!(sandbox.list_directory("/tmp/row-57", 9).await.unwrap().len(), 3, "the directory is whole");
    assert_eq!(execd.delete("/directories?path=/tmp/row-57/dir&path=/tmp/row-57/none").await.status, 200);
    assert!(sandbox.list_directory("/tmp/row-57", 9).await.unwrap().is_empty());
}

fn paths(found: &[sandbox::opensandbox::FileInfo]) -> Vec<&str> {
    found.iter().map(|one| one.path.as_str()).collect()
}

pub async fn row_58_a_move_overwrites_nothing(target: &Target) {
    let (sandbox, execd) = (target.sandbox().await, target.execd().await);
    sandbox.make_directory("/tmp/row-58/sub", FileMode(0o755)).await.unwrap();
    execd.run("cd /tmp/row-58; echo one >one.txt; echo two >sub/two.txt").await;
    let there = json!([{ "src": "/tmp/row-58/one.txt", "dest": "/tmp/row-58/sub/two.txt" }]);
    assert_eq!(execd.post("/files/mv", there).await.status, 500);
    assert_eq!(execd.content("/tmp/row-58/one.txt").await, b"one\n");
    assert_eq!(execd.content("/tmp/row-58/sub/two.txt").await, b"two\n");
    let missing = json!([{ "src": "/tmp/row-58/none", "dest": "/tmp/row-58/x" }]);
    assert_eq!(execd.post("/files/mv", missing).await.status, 404);
    let moved = Move { from: "/tmp/row-58/one.txt".into(), to: "/tmp/row-58/new/er/one.txt".into() };
    sandbox.move_files(&[moved]).await.unwrap();
    let listed = sandbox.list_directory("/tmp/row-58", 3).await.unwrap();
    let expected = ["/new", "/new/er", "/new/er/one.txt", "/sub", "/sub/two.txt"];
    assert_eq!(paths(&listed), expected.map(|path| format!("/tmp/row-58{path}")));
    let found = sandbox.search_files("/tmp/row-58", "*o.txt").await.unwrap();
    assert_eq!(paths(&found), ["/tmp/row-58/sub/two.txt"]);
}

pub async fn row_59_measures(target: &Target) {
    let execd = target.execd().await;
    let metrics = execd.get("/metrics").await.body;
    for name in ["cpu_count", "cpu_used_pct", "mem_total_mib", "mem_used_mib", "timestamp"] {
        assert!(metrics[name].is_number(), "{name}: {metrics}");
    }
    assert!(target.sandbox().await.metrics().await.unwrap().mem_total_mib > 0.0);
    assert_eq!(frames(&execd, 2).await.len(), 2);
    let mut watch = target.sandbox().await.watch_metrics().await.unwrap();
    let (first, second) = (watch.next().await.unwrap().unwrap(), watch.next().await.unwrap().unwrap());
    assert!(second.measured_at_ms > first.measured_at_ms);
}

/// The first frames of a watch; each is one line of JSON, with a blank line or not.
async fn frames(execd: &Execd, count: usize) -> Vec<Value> {
    let mut watch = execd.request(Method::GET, "/metrics/watch").send().await.unwrap();
    let mut text = String::new();
    until("there are frames", async || {
        if let Some(chunk) = watch.chunk().await.unwrap() {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        text.matches("}\n").count() >= count
    })
    .await;
    text.lines().filter(|line| !line.is_empty()).take(count).map(|line| serde_json::from_str(line).unwrap()).collect()
}
