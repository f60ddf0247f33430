//! What the fake server answers when nothing else was scripted.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request};
use axum::response::Response;
use bytes::Bytes;
use http::Method;
use sandbox::opensandbox::OutputWire;
use serde_json::{Value, json};

use super::shell;
use super::{Canned, KEY, Seen, Step, TOKEN, World, canned, init, is_probe, pairs, send};

pub fn lifecycle(world: &World, seen: &Seen) -> Canned {
    if seen.headers.get("open-sandbox-api-key").is_none_or(|key| key != KEY) {
        return canned(401, r#"{"code":"MISSING_API_KEY","message":"no key"}"#);
    }
    let mut sandboxes = world.sandboxes.lock().unwrap();
    let path: Vec<&str> = seen.path.trim_start_matches("/v1/").split('/').collect();
    let missing = || canned(404, r#"{"code":"DOCKER::SANDBOX_NOT_FOUND","message":"gone"}"#);
    match (&seen.method, path.as_slice()) {
        (&Method::POST, ["sandboxes"]) => {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            let id = format!("sb{}", sandboxes.len() + 1);
            let sandbox = json!({
                "id": id, "status": {"state": "Running"}, "metadata": body["metadata"], "entrypoint": body["entrypoint"],
                "createdAt": "2026-01-01T00:00:00.000001+00:00",
            });
            sandboxes.insert(id, sandbox.clone());
            canned(202, sandbox.to_string())
        }
        (&Method::GET, ["sandboxes"]) => {
            let query: BTreeMap<String, String> = pairs(&seen.query);
            let wanted = pairs(query.get("metadata").map_or("", String::as_str));
            let has_all = |sandbox: &&Value| wanted.iter().all(|(key, value)| sandbox["metadata"][key] == **value);
            let items: Vec<&Value> = sandboxes.values().filter(has_all).collect();
            canned(200, json!({"items": items, "pagination": {"hasNextPage": false, "page": 1}}).to_string())
        }
        (&Method::GET, ["sandboxes", id]) => {
            sandboxes.get(*id).map_or_else(missing, |sandbox| canned(200, sandbox.to_string()))
        }
        (&Method::DELETE, ["sandboxes", id]) => sandboxes.remove(*id).map_or_else(missing, |_| canned(204, "")),
        (&Method::POST, ["sandboxes", _, "renew-expiration"]) => {
            canned(200, seen.body.escape_ascii().to_string().replace("\\\"", "\""))
        }
        (&Method::GET, ["sandboxes", _, "endpoints", _]) => canned(200, world.endpoint.lock().unwrap().to_string()),
        _ => canned(404, r#"{"detail":"Not Found"}"#),
    }
}

pub fn execd(world: &World, seen: &Seen, path: &str) -> Canned {
    if seen.headers.get("x-execd-access-token").is_none_or(|token| token != TOKEN) {
        return canned(401, r#"{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}"#);
    }
    let query = pairs(&seen.query);
    match (&seen.method, path) {
        (&Method::GET, "/ping") => canned(200, ""),
        (&Method::POST, "/command") => command(world, seen),
        (&Method::DELETE, "/command") => {
            world.interrupted.notify_waiters();
            world.interrupted.notify_one();
            canned(200, "")
        }
        (&Method::GET, "/command/c1/logs") => {
            let from: usize = query["cursor"].parse().unwrap();
            let bytes = b"one\xfftwo".get(from..).unwrap_or_default();
            Canned { status: 200, headers: Vec::new(), body: vec![Step::Send(Bytes::from_static(bytes))] }
        }
        (_, _) if shell::is_ours(&query) => shell::file_call(&seen.method, path, seen),
        (&Method::GET, "/files/download") => match world.files.lock().unwrap().get(&query["path"]) {
            Some(bytes) => Canned { status: 200, headers: Vec::new(), body: vec![Step::Send(bytes.clone())] },
            None => canned(404, r#"{"code":"FILE_NOT_FOUND","message":"no such file"}"#),
        },
        (&Method::GET, "/directories/list") => canned(200, list(world).to_string()),
        (&Method::GET, "/files/info") => {
            let items = list(world).as_array().unwrap().clone();
            let map: serde_json::Map<String, Value> =
                items.into_iter().map(|item| (item["path"].as_str().unwrap().to_owned(), item)).collect();
            canned(200, Value::Object(map).to_string())
        }
        _ => canned(404, "404 page not found"),
    }
}

fn list(world: &World) -> Value {
    let files = world.files.lock().unwrap();
    let items: Vec<Value> = files
        .iter()
        .map(|(path, bytes)| {
            json!({"path": path, "type": "file", "size": bytes.len(), "mode": 640, "owner": "root",
                   "modified_at": "2026-01-02T03:04:05.123456789+02:00"})
        })
        .collect();
    json!(items)
}

fn command(world: &World, seen: &Seen) -> Canned {
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    let wire = *world.wire.lock().unwrap();
    if wire == OutputWire::Stripped && body.get("command").is_none() {
        return canned(400, r#"{"code":"INVALID_REQUEST_BODY","message":"Field validation for 'Command' failed"}"#);
    }
    let stream = |body| Canned { status: 200, headers: Vec::new(), body };
    if is_probe(&body) {
        let texts = match wire {
            OutputWire::Kept => ["a\n", "\n", "b"],
            OutputWire::Stripped => ["a", "\n", "b"],
        };
        let events = texts.map(|text| format!("{}\n\n", json!({"type": "stdout", "text": text}))).concat();
        return stream(vec![send(format!("{events}{}\n\n", json!({"type": "execution_complete"})))]);
    }
    if world.runs_commands.load(Ordering::SeqCst) {
        return stream(vec![init(), Step::Run(body["command"].as_str().unwrap().to_owned()), Step::Hang]);
    }
    stream(world.scripts.lock().unwrap().pop_front().unwrap())
}

pub async fn upload(world: &World, request: Request) -> Response {
    let mut form = Multipart::from_request(request, &()).await.unwrap();
    let mut path = None;
    while let Ok(Some(field)) = form.next_field().await {
        assert!(field.file_name().is_some(), "a part without a file name is a plain field");
        match field.name().unwrap() {
            "metadata" => {
                let metadata: Value = serde_json::from_slice(&field.bytes().await.unwrap()).unwrap();
                path = Some(metadata["path"].as_str().unwrap().to_owned());
            }
            "file" => {
                // A body that breaks off leaves no file.
                let Ok(bytes) = field.bytes().await else { break };
                world.files.lock().unwrap().insert(path.clone().unwrap(), bytes);
            }
            other => panic!("unexpected part {other}"),
        }
    }
    Response::new(Body::empty())
}
