//! An older execd that really runs commands: output is cut at line ends, and files are served as it serves them.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Canned, Seen, Step, canned, pairs};

/// The client's own directories, and nothing else of this machine.
const OURS: &str = "/tmp/.output-";

pub fn is_ours(query: &BTreeMap<String, String>) -> bool {
    query.get("path").is_some_and(|path| path.starts_with(OURS) && !path.contains(".."))
}

/// Runs shell text to its end, and gives the events of its output and of its end.
pub async fn run(text: &str) -> Bytes {
    let output = Command::new("/bin/sh").arg("-c").arg(text).stdin(Stdio::null()).output().await.unwrap();
    let mut events = Vec::new();
    for (kind, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        events.extend(lines(&bytes).into_iter().map(|text| json!({"type": kind, "text": text, "timestamp": 1})));
    }
    events.push(match output.status.code() {
        Some(0) => json!({"type": "execution_complete", "execution_time": 1, "timestamp": 1}),
        code => {
            let value = code.unwrap_or(-1).to_string();
            json!({"type": "error", "error": {"ename": "CommandExecError", "evalue": value}, "timestamp": 1})
        }
    });
    events.into_iter().map(|event| format!("{event}\n\n")).collect::<String>().into()
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| if line.is_empty() { "\n".to_owned() } else { line.to_owned() }).collect()
}

pub fn file_call(method: &Method, path: &str, seen: &Seen) -> Canned {
    match (method, path) {
        (&Method::GET, "/files/info") => info(seen),
        (&Method::GET, "/files/download") => download(seen),
        (&Method::DELETE, "/directories") => {
            std::fs::remove_dir_all(&pairs(&seen.query)["path"]).unwrap();
            canned(200, "")
        }
        _ => canned(404, "404 page not found"),
    }
}

fn info(seen: &Seen) -> Canned {
    let paths = url::form_urlencoded::parse(seen.query.as_bytes()).filter(|(name, _)| name == "path");
    let mut map = serde_json::Map::new();
    for (_, path) in paths {
        let Ok(metadata) = std::fs::metadata(path.as_ref()) else {
            return canned(404, r#"{"code":"FILE_NOT_FOUND","message":"no such file"}"#);
        };
        let file: Value = json!({"path": path, "type": "file", "size": metadata.len(), "mode": 644});
        map.insert(path.into_owned(), file);
    }
    canned(200, Value::Object(map).to_string())
}

/// A range that begins behind the end is answered with the whole file.
fn download(seen: &Seen) -> Canned {
    let path = &pairs(&seen.query)["path"];
    let size = std::fs::metadata(Path::new(path)).unwrap().len();
    let range = seen.headers["range"].to_str().unwrap().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (first, last): (u64, u64) = (range.0.parse().unwrap(), range.1.parse().unwrap());
    let mut file = std::fs::File::open(path).unwrap();
    let mut bytes = Vec::new();
    if first >= size {
        file.read_to_end(&mut bytes).unwrap();
        return Canned { status: 200, headers: Vec::new(), body: vec![Step::Send(bytes.into())] };
    }
    file.seek(SeekFrom::Start(first)).unwrap();
    file.take(last - first + 1).read_to_end(&mut bytes).unwrap();
    let range = format!("bytes {first}-{last}/{size}");
    Canned { status: 206, headers: vec![("content-range", range)], body: vec![Step::Send(bytes.into())] }
}
