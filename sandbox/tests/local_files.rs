//! Files through the API: exact bytes, odd names, ranges, and what is refused.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use local_support::{Host, body};
use reqwest::{Method, StatusCode};
use serde_json::json;

#[cfg(test)]
fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[tokio::test]
async fn odd_names_and_bytes_make_the_round_trip() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let names = [
        "报告 %20 (1).txt",
        "a+b.txt",
        "a b.txt",
        "a%20b.txt",
        "x\u{202F}y.txt",
        "q\"uo;te.txt",
        "é.txt",
        "e\u{301}.txt",
        ".hidden",
        "-rf",
        "new\nline",
        "cost$.txt",
    ];
    for (index, name) in names.iter().enumerate() {
        let content = [name.as_bytes(), &[0, 255, b'\r', b'\n', u8::try_from(index).unwrap()]].concat();
        let path = format!("/workspace/data/{name}");
        assert_eq!(sandbox.upload(&path, &content, 644).await.0, StatusCode::OK, "{name}");
        assert_eq!(sandbox.content(&path).await, content, "{name}");
        let response = sandbox.download(&path).send().await.unwrap();
        let disposition = response.headers()["content-disposition"].to_str().unwrap();
        assert!(disposition.starts_with("attachment; filename=\"") && disposition.contains("filename*=UTF-8''"));
        let (_, info) = sandbox.get(&format!("/files/info?path={}", encoded(&path))).await;
        assert_eq!(info[&path]["mode"], 644);
        assert_eq!(info[&path]["size"], content.len());
    }
    let (_, listed) = sandbox.get("/directories/list?path=/workspace/data").await;
    let mut listed: Vec<_> =
        listed.as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect();
    let mut expected: Vec<_> = names.iter().map(|name| format!("/workspace/data/{name}")).collect();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}

/// Row 55.
#[tokio::test]
async fn serves_ranges() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    sandbox.upload("/workspace/ten", b"0123456789", 600).await;
    sandbox.upload("/workspace/empty", b"", 600).await;
    assert_eq!(sandbox.content("/workspace/empty").await, b"");
    for (range, expected, place) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=0-99", "0123456789", "bytes 0-9/10"),
    ] {
        let response = sandbox.download("/workspace/ten").header("Range", range).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::PARTIAL_CONTENT);
        assert_eq!(response.headers()["content-range"], place);
        assert_eq!(response.text().await.unwrap(), expected);
    }
    for range in ["bytes=10-", "bytes=x", "lines=1-2"] {
        let response = sandbox.download("/workspace/ten").header("Range", range).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
        assert!(body(response).await.1["code"].is_string(), "the body is whole");
    }
    assert_eq!(sandbox.download("/workspace/none").send().await.unwrap().status(), StatusCode::NOT_FOUND);
    for special in ["/workspace", "/dev/zero"] {
        assert_eq!(sandbox.download(special).send().await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
    sandbox.run("mkfifo fifo").await;
    assert_eq!(sandbox.download("/workspace/fifo").send().await.unwrap().status(), StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn serves_lines() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    sandbox.upload("/workspace/lines", b"one\r\ntwo\n\nfour\nfive", 600).await;
    let get = async |query: &str| {
        let path = format!("/files/download?path=/workspace/lines&{query}");
        let response = sandbox.request(Method::GET, &path).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
        response.text().await.unwrap()
    };
    assert_eq!(get("offset=2&limit=2").await, "two\n");
    assert_eq!(get("limit=2").await, "one\ntwo");
    assert_eq!(get("offset=4").await, "four\nfive");
    assert_eq!(get("offset=9").await, "");
    for (query, range) in [("offset=0", None), ("limit=0", None), ("offset=x", None), ("offset=1", Some("bytes=0-1"))] {
        let request = sandbox.request(Method::GET, &format!("/files/download?path=/workspace/lines&{query}"));
        let request = range.into_iter().fold(request, |request, range| request.header("Range", range));
        assert_eq!(body(request.send().await.unwrap()).await.0, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn large_files_pass_through_bounded_memory() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "resourceLimits": { "disk": "256Mi" } })).await;
    let content: Vec<u8> = (0..100_000_000_u32).map(|n| (n % 251) as u8).collect();
    assert_eq!(sandbox.upload("/workspace/large", &content, 644).await.0, StatusCode::OK);
    assert!(sandbox.content("/workspace/large").await == content);
    assert!(host.memory_kib("VmHWM") < 80_000, "{} KiB", host.memory_kib("VmHWM"));
}

/// Row 52.
#[tokio::test]
async fn uploads_are_checked_and_replace_in_one_step() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let send = async |form: reqwest::multipart::Form| {
        body(sandbox.request(Method::POST, "/files/upload").multipart(form).send().await.unwrap()).await
    };
    let part = |text: &str| reqwest::multipart::Part::text(text.to_owned()).file_name("f");
    let (status, refusal) = send(reqwest::multipart::Form::new().part("file", part("x"))).await;
    assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("INVALID_FILE_METADATA")));
    for metadata in ["{}", "no json", "{\"path\":\"\"}", "{\"path\":\"a/../../b\"}", "{\"path\":\"a\\u0000b\"}"] {
        let form = reqwest::multipart::Form::new().part("metadata", part(metadata)).part("file", part("x"));
        assert_eq!(send(form).await.0, StatusCode::BAD_REQUEST, "{metadata}");
    }
    assert_eq!(sandbox.post("/files/upload", json!({})).await.1["code"], "INVALID_FILE");
    let pair = |form: reqwest::multipart::Form, path: &str, text: &str| {
        form.part("metadata", part(&json!({ "path": path }).to_string())).part("file", part(text))
    };
    let form = pair(pair(reqwest::multipart::Form::new(), "new/one", "1"), "~/two", "2");
    assert_eq!(send(form).await.0, StatusCode::OK);
    assert_eq!(sandbox.run("cat new/one ~/two").await.stdout, "12");
    assert_eq!(sandbox.upload("/usr/bin/x", b"x", 755).await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(sandbox.upload("/workspace/data", b"x", 755).await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(sandbox.upload("/workspace/mode", b"x", 493).await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        sandbox.run("ls -A | grep -e vitrine-upload -e mode").await.stdout,
        "",
        "a failed upload leaves nothing"
    );
}

/// Rows 53, 54, 56, 57 and 58.
#[tokio::test]
async fn looks_at_and_changes_files() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    sandbox.run("mkdir -p a/b; echo x > a/one.rs; echo x > a/b/two.rs; ln -s one.rs a/link; chmod 640 a/one.rs").await;
    let (status, missing) = sandbox.get("/files/info?path=/workspace/a&path=/none").await;
    assert_eq!((status, &missing["code"]), (StatusCode::NOT_FOUND, &json!("FILE_NOT_FOUND")));
    let (_, info) = sandbox.get("/files/info?path=a/one.rs&path=/workspace/a/link").await;
    assert_eq!((&info["a/one.rs"]["mode"], &info["a/one.rs"]["owner"]), (&json!(640), &json!("vitrine")));
    assert_eq!(info["/workspace/a/link"]["type"], "symlink");
    let paths = |list: &serde_json::Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["path"].as_str().unwrap().replace("/workspace/", ""))
            .collect()
    };
    let (_, mut found) = sandbox.get("/files/search?path=/workspace&pattern=*.rs").await;
    found.as_array_mut().unwrap().sort_by_key(|entry| entry["path"].to_string());
    assert_eq!(paths(&found), ["a/b/two.rs", "a/one.rs"]);
    assert_eq!(
        paths(&sandbox.get("/directories/list?path=a&depth=2").await.1),
        ["a/b", "a/b/two.rs", "a/link", "a/one.rs"]
    );
    assert_eq!(sandbox.get("/directories/list?path=a/one.rs").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(sandbox.post("/directories", json!({ "n/m": { "mode": 700, "owner": null } })).await.0, StatusCode::OK);
    assert_eq!(
        sandbox.post("/files/mv", json!([{ "src": "a/one.rs", "dest": "a/b/two.rs" }])).await.0,
        StatusCode::INTERNAL_SERVER_ERROR
    );
    assert_eq!(sandbox.post("/files/mv", json!([{ "src": "none", "dest": "x" }])).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        sandbox.post("/files/mv", json!([{ "src": "a/one.rs", "dest": "deep/er/one" }])).await.0,
        StatusCode::OK
    );
    assert_eq!(sandbox.post("/files/permissions", json!({ "deep/er/one": { "mode": 755 } })).await.0, StatusCode::OK);
    assert_eq!(
        sandbox.post("/files/permissions", json!({ "deep": { "owner": "root" } })).await.0,
        StatusCode::INTERNAL_SERVER_ERROR
    );
    assert_eq!(
        sandbox.post("/files/replace", json!({ "deep/er/one": { "old": "", "new": "y" } })).await.0,
        StatusCode::BAD_REQUEST
    );
    let replace = json!({ "deep/er/one": { "old": "x", "new": "yy" } });
    assert_eq!(
        sandbox.post("/files/replace?verbose=true", replace).await.1,
        json!({ "deep/er/one": { "replacedCount": 1 } })
    );
    assert_eq!(sandbox.run("cat deep/er/one; stat -c %a deep/er/one n/m").await.stdout, "yy\n755\n700\n");
    assert_eq!(sandbox.delete("/files?path=deep/er/one&path=none").await.0, StatusCode::OK);
    assert_eq!(sandbox.delete("/files?path=deep").await.0, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(sandbox.delete("/directories?path=deep&path=none").await.0, StatusCode::OK);
    assert_eq!(sandbox.delete("/directories").await.0, StatusCode::OK);
    assert_eq!(sandbox.get("/files/info").await, (StatusCode::OK, json!({})));
    let newer = sandbox.get("/v1/filesystem/1000/1000/files/info?path=a").await;
    assert_eq!(newer, (StatusCode::NOT_FOUND, json!("404 page not found")));
    assert_eq!(sandbox.run("test -e deep").await.exit, 1);
}

/// Row 59.
#[tokio::test]
async fn measures_the_sandbox_and_not_the_host() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({ "resourceLimits": { "memory": "128Mi", "cpu": "500m" } })).await;
    let (_, metrics) = sandbox.get("/metrics").await;
    for name in ["cpu_count", "cpu_used_pct", "mem_total_mib", "mem_used_mib", "timestamp"] {
        assert!(metrics[name].is_number(), "{name}");
    }
    assert_eq!((metrics["mem_total_mib"].as_f64(), metrics["cpu_count"].as_f64()), (Some(128.0), Some(0.5)));
    let mut watch = sandbox.request(Method::GET, "/metrics/watch").send().await.unwrap();
    let frame = String::from_utf8(watch.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(frame.ends_with("}\n\n") && frame.contains("mem_used_mib"));
}
