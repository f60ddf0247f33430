//! The image with a browser, where this host has one.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::path::Path;

use local_support::{Host, order};
use reqwest::StatusCode;
use serde_json::json;

#[tokio::test]
async fn a_page_becomes_text_a_picture_and_a_document() {
    let host = Host::start();
    if !Path::new("/usr/bin/chromium").exists() && !Path::new("/usr/bin/chromium-browser").exists() {
        let (status, refusal) =
            host.post("/v1/sandboxes", order(json!({ "image": { "uri": "vitrine/browser" } }))).await;
        assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("LOCAL::IMAGE_NOT_AVAILABLE")));
        assert!(refusal["message"].as_str().unwrap().contains("apt-get install chromium"));
        return;
    }
    for host in [host, Host::start_with(&["--no-cgroups"])] {
        let limits = json!({ "memory": "1Gi", "disk": "512Mi", "pids": "512" });
        let sandbox = host.sandbox(json!({ "image": { "uri": "vitrine/browser" }, "resourceLimits": limits })).await;
        let page =
            b"<!doctype html><title>t</title><p id=p>before<script>p.textContent='six times seven is '+6*7</script>";
        sandbox.upload("/workspace/x.html", page, 644).await;
        let browser = "chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage";
        let dump = sandbox.run(&format!("{browser} --dump-dom file:///workspace/x.html")).await;
        assert!(dump.stdout.contains("six times seven is 42"), "{} {}", dump.exit, dump.stderr);
        let both = format!(
            "{browser} --screenshot=/workspace/x.png --window-size=400,300 file:///workspace/x.html; \
             {browser} --print-to-pdf=/workspace/x.pdf file:///workspace/x.html"
        );
        let run = sandbox.run(&both).await;
        let (picture, document) =
            (sandbox.content("/workspace/x.png").await, sandbox.content("/workspace/x.pdf").await);
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1000, "{} {}", run.exit, run.stderr);
        assert!(document.starts_with(b"%PDF") && document.len() > 1000, "{}", run.stderr);
    }
}
