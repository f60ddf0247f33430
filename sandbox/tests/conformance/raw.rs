//! Raw HTTP, for what the client is too polite to send and too wise to show.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Client as Http, Method, RequestBuilder, Response};
use sandbox::opensandbox::{EXECD_PORT, Sandbox};
use serde_json::{Value, json};
use url::Url;

use crate::target::Target;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// JSON, or the text itself.
    pub body: Value,
}

impl Answer {
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub async fn answer(request: RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer { status, headers, body }
}

/// Execd in one sandbox.
pub struct Execd {
    pub url: Url,
    headers: HeaderMap,
    http: Http,
}

/// What a command's stream said, up to its terminal event.
#[derive(Debug)]
pub struct Stream {
    pub content_type: String,
    pub events: Vec<Value>,
    /// The bytes of all frames.
    pub text: String,
    /// When each event came.
    pub arrivals: Vec<Instant>,
}

impl Stream {
    pub fn id(&self) -> String {
        self.events[0]["text"].as_str().unwrap().to_owned()
    }

    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// The texts of one kind of event.
    pub fn texts(&self, kind: &str) -> Vec<&str> {
        self.of(kind).map(|event| event["text"].as_str().unwrap_or_default()).collect()
    }

    pub fn last(&self) -> &Value {
        self.events.last().unwrap()
    }
}

impl Execd {
    pub async fn of(target: &Target, sandbox: &Sandbox) -> Self {
        let endpoint = sandbox.endpoint(EXECD_PORT).await.unwrap();
        Self { url: endpoint.url().clone(), headers: endpoint.headers().clone(), http: target.http.clone() }
    }

    /// A request with the headers that the endpoint asks for.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).headers(self.headers.clone())
    }

    /// A request without them.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url.as_str().trim_end_matches('/')))
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        answer(self.request(Method::POST, path).json(&body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await
    }

    pub async fn run(&self, command: &str) -> Stream {
        self.stream("/command", json!({ "command": command })).await
    }

    /// Starts a stream and reads it up to its terminal event; what comes after that is nobody's business.
    pub async fn stream(&self, path: &str, body: Value) -> Stream {
        let mut response = self.request(Method::POST, path).json(&body).send().await.unwrap();
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!(response.status(), 200, "{:?}", response.text().await);
        let mut stream = Stream { content_type, events: Vec::new(), text: String::new(), arrivals: Vec::new() };
        let mut bytes = Vec::new();
        let mut read = 0;
        while let Some(chunk) = chunk(&mut response).await {
            bytes.extend_from_slice(&chunk);
            while let Some(end) = find(&bytes[read..], b"\n\n") {
                let frame = std::str::from_utf8(&bytes[read..read + end]).unwrap();
                let event: Value = serde_json::from_str(frame).unwrap_or_else(|_| panic!("no bare JSON: {frame:?}"));
                let is_terminal = ["execution_complete", "error"].contains(&event["type"].as_str().unwrap_or_default());
                stream.events.push(event);
                stream.arrivals.push(Instant::now());
                read += end + 2;
                if is_terminal {
                    stream.text = String::from_utf8(bytes[..read].to_vec()).unwrap();
                    return stream;
                }
            }
        }
        panic!("the stream has no terminal event: {:?}", String::from_utf8_lossy(&bytes));
    }

    /// One pair of parts.
    pub async fn upload(&self, path: &str, content: &[u8], mode: u32) -> Answer {
        let metadata = json!({ "path": path, "owner": null, "mode": mode }).to_string();
        let form = reqwest::multipart::Form::new()
            .part("metadata", part(metadata.into_bytes()))
            .part("file", part(content.to_vec()));
        answer(self.request(Method::POST, "/files/upload").multipart(form)).await
    }

    pub fn download(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, &format!("/files/download?path={}", encoded(path)))
    }

    pub async fn content(&self, path: &str) -> Vec<u8> {
        let response = self.download(path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        response.bytes().await.unwrap().to_vec()
    }
}

/// A part with a file name, without which a server takes it for a plain field.
pub fn part(content: Vec<u8>) -> reqwest::multipart::Part {
    reqwest::multipart::Part::bytes(content).file_name("part")
}

pub fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn chunk(response: &mut Response) -> Option<bytes::Bytes> {
    response.chunk().await.unwrap()
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// Waits until `condition` holds, at most twenty seconds.
pub async fn until(what: &str, condition: impl AsyncFnMut() -> bool) {
    until_within(Duration::from_secs(20), what, condition).await;
}

pub async fn until_within(limit: Duration, what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + limit;
    while !condition().await {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
