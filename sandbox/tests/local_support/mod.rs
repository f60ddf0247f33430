//! Support of the local runtime's tests: a runtime in a process of its own and a client for its wire.
//!
//! Each test binary uses its own part of this.
#![expect(dead_code, reason = "every test binary compiles this file and uses only a part of it")]

pub mod origin;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

pub const KEY: &str = "test-key-of-the-local-runtime";
pub const BINARY: &str = env!("CARGO_BIN_EXE_vitrine-sandbox-testhost");

/// A user without any right on the host.
pub const NOBODY: u32 = 65534;

pub struct Host {
    pub child: Child,
    pub url: String,
    pub state: PathBuf,
    pub client: Client,
    _directory: tempfile::TempDir,
}

impl Host {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), &[], None)
    }

    pub fn start_with(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), arguments, None)
    }

    pub fn start_as(uid: u32) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), &[], Some(uid))
    }

    /// A runtime whose egress knows these names; see `sandbox/src/local/egress/test_hosts.rs`.
    pub fn start_with_hosts(hosts: &str) -> Self {
        let variable = ("VITRINE_TEST_EGRESS_HOSTS", hosts);
        Self::launch(tempfile::tempdir().unwrap(), &[], None, Some(variable))
    }

    pub fn start_in(directory: tempfile::TempDir, arguments: &[&str], uid: Option<u32>) -> Self {
        Self::launch(directory, arguments, uid, None)
    }

    fn launch(
        directory: tempfile::TempDir,
        arguments: &[&str],
        uid: Option<u32>,
        variable: Option<(&str, &str)>,
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let state = directory.path().join("state");
        let key = directory.path().join("key");
        std::fs::write(&key, KEY).unwrap();
        let mut command = match uid {
            None => Command::new(BINARY),
            Some(uid) => {
                for path in [directory.path(), &key] {
                    std::os::unix::fs::chown(path, Some(uid), Some(uid)).unwrap();
                }
                // The program may lie where only this user may go. It is copied by another process: one that is forked
                // here while a copy is open for writing would keep it from being run.
                let program = directory.path().join("testhost");
                assert!(Command::new("cp").arg(BINARY).arg(&program).status().unwrap().success());
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={uid}"), format!("--regid={uid}"), "--clear-groups".to_owned()]);
                command.arg(program);
                command
            }
        };
        command.envs(variable);
        command.arg("runtime");
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.arg("--api-key-file").arg(&key).arg("--state-dir").arg(&state).args(arguments);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "the runtime did not start: {url:?}");
        let client = Client::builder().timeout(Duration::from_secs(240)).build().unwrap();
        Self { child, url: url.trim().to_owned(), state, client, _directory: directory }
    }

    pub fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).header("OPEN-SANDBOX-API-KEY", KEY)
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        body(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub async fn post(&self, path: &str, request: Value) -> (StatusCode, Value) {
        body(self.request(Method::POST, path).json(&request).send().await.unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> (StatusCode, Value) {
        body(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    /// Makes a sandbox; the members of `more` replace those of a plain request.
    pub async fn sandbox(&self, more: Value) -> Sandbox {
        let (status, created) = self.post("/v1/sandboxes", order(more)).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{created}");
        let id = created["id"].as_str().unwrap().to_owned();
        let (_, endpoint) = self.get(&format!("/v1/sandboxes/{id}/endpoints/44772")).await;
        Sandbox {
            url: format!("http://{}", endpoint["endpoint"].as_str().unwrap()),
            token: endpoint["headers"]["X-EXECD-ACCESS-TOKEN"].as_str().unwrap().to_owned(),
            client: self.client.clone(),
            id,
        }
    }

    /// The egress API of a sandbox: its URL and token.
    pub async fn egress(&self, sandbox: &Sandbox) -> (String, String) {
        let (_, endpoint) = self.get(&format!("/v1/sandboxes/{}/endpoints/18080", sandbox.id)).await;
        let token = endpoint["headers"]["OPENSANDBOX-EGRESS-AUTH"].as_str().unwrap();
        (format!("http://{}", endpoint["endpoint"].as_str().unwrap()), token.to_owned())
    }

    /// Lets a sandbox with a time to live expire soon.
    pub async fn let_expire(&self, sandbox: &Sandbox) {
        let renew = format!("/v1/sandboxes/{}/renew-expiration", sandbox.id);
        for attempt in 0..8 {
            // A moment that is over when the request arrives is refused, and the machine may be slow.
            let soon = time::OffsetDateTime::now_utc() + time::Duration::milliseconds(300 << attempt);
            let soon = soon.format(&time::format_description::well_known::Rfc3339).unwrap();
            let (status, renewed) = self.post(&renew, json!({ "expiresAt": soon })).await;
            if status == StatusCode::OK {
                assert_eq!(renewed.as_object().unwrap().len(), 1, "{renewed}");
                return;
            }
            assert_eq!(status, StatusCode::BAD_REQUEST, "{renewed}");
        }
        panic!("no renewal arrived in time");
    }

    /// The processes inside a sandbox, as the host numbers them; its first one comes first.
    pub fn processes(&self, sandbox: &Sandbox) -> Vec<u32> {
        let record = self.state.join("sandboxes").join(&sandbox.id).join("record.json");
        let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
        let mut family = vec![u32::try_from(record["pid"].as_u64().unwrap()).unwrap()];
        let mut inside = Vec::new();
        let all: Vec<_> =
            std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| lineage(&entry.path())).collect();
        while let Some(pid) = family.pop() {
            for (child, _, level) in all.iter().filter(|(_, parent, _)| *parent == pid) {
                family.push(*child);
                // bubblewrap itself is outside; who is inside has a number there as well.
                if *level > 1 {
                    inside.push(*child);
                }
            }
        }
        inside
    }

    /// A number of kilobytes that the kernel keeps about the runtime.
    pub fn memory_kib(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Directories below the state directory that belong to sandboxes.
    pub fn directories(&self) -> usize {
        std::fs::read_dir(self.state.join("sandboxes")).unwrap().count()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

pub fn order(more: Value) -> Value {
    let mut order = json!({
        "image": { "uri": "vitrine/code" },
        "entrypoint": ["tail", "-f", "/dev/null"],
        "resourceLimits": {},
        "timeout": 600,
    });
    order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    order
}

pub async fn body(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    let value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, value)
}

pub struct Sandbox {
    pub id: String,
    pub url: String,
    pub token: String,
    pub client: Client,
}

/// How a command looked from outside.
#[derive(Debug)]
pub struct Outcome {
    pub id: String,
    pub stdout: String,
    pub stderr: String,
    /// The exit code; -1 for a signal.
    pub exit: i32,
    pub events: Vec<Value>,
}

impl Sandbox {
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).header("X-EXECD-ACCESS-TOKEN", &self.token)
    }

    pub async fn start(&self, request: Value) -> Response {
        self.request(Method::POST, "/command").json(&request).send().await.unwrap()
    }

    pub async fn run(&self, command: &str) -> Outcome {
        self.execute(json!({ "command": command })).await
    }

    pub async fn execute(&self, request: Value) -> Outcome {
        outcome(self.start(request).await).await
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        body(self.request(Method::GET, path).send().await.unwrap()).await
    }

    pub async fn post(&self, path: &str, request: Value) -> (StatusCode, Value) {
        body(self.request(Method::POST, path).json(&request).send().await.unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> (StatusCode, Value) {
        body(self.request(Method::DELETE, path).send().await.unwrap()).await
    }

    pub async fn upload(&self, path: &str, content: &[u8], mode: u32) -> (StatusCode, Value) {
        let metadata = json!({ "path": path, "owner": null, "mode": mode }).to_string();
        let part = |bytes: Vec<u8>, name: &str| reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned());
        let form = reqwest::multipart::Form::new()
            .part("metadata", part(metadata.into_bytes(), "metadata"))
            .part("file", part(content.to_vec(), "file"));
        body(self.request(Method::POST, "/files/upload").multipart(form).send().await.unwrap()).await
    }

    pub fn download(&self, path: &str) -> RequestBuilder {
        let path: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
        self.request(Method::GET, &format!("/files/download?path={path}"))
    }

    pub async fn content(&self, path: &str) -> Vec<u8> {
        let response = self.download(path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        response.bytes().await.unwrap().to_vec()
    }
}

pub async fn outcome(response: Response) -> Outcome {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{text}");
    let events: Vec<Value> =
        text.split("\n\n").filter(|f| !f.is_empty()).map(|f| serde_json::from_str(f).unwrap()).collect();
    let joined = |kind: &str| {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .filter_map(|event| event["text"].as_str())
            .collect::<String>()
    };
    let last = events.last().unwrap();
    let exit = match last["type"].as_str().unwrap() {
        "execution_complete" => 0,
        "error" => last["error"]["evalue"].as_str().unwrap().parse().unwrap(),
        other => panic!("the stream ends with {other}"),
    };
    Outcome { id: joined("init"), stdout: joined("stdout"), stderr: joined("stderr"), exit, events }
}

/// The number of a process, that of its parent, and in how many of the namespaces that are seen from here it is.
fn lineage(process: &Path) -> Option<(u32, u32, usize)> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
    let number = |name: &str| field(name)?.trim().parse().ok();
    Some((number("Pid:")?, number("PPid:")?, field("NSpid:")?.split_whitespace().count()))
}

/// Waits until `condition` holds, at most some minutes: the machine may be busy with other tests.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(240);
    while !condition().await {
        assert!(Instant::now() < end, "not within four minutes: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub fn is_alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
