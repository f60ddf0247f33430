//! A Target is the server under test: the local runtime that the suite starts itself, or the one that is named.
//!
//! `VITRINE_TEST_OPENSANDBOX_URL` names it, `_API_KEY` its key, `_IMAGE` an image with bash, python3 and tar,
//! `_CAPABILITIES` what it can show, separated by commas. `_CONTROL` and `_PID_FILE` lead to a script that kills and
//! starts it and to its process, for the rows that take it away.
//!
//! Rule: what is not declared is not assumed. What is declared must hold.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Client as Http, Method, RequestBuilder};
use sandbox::opensandbox::{Client, Connection, CreateSandbox, Route, Sandbox, SandboxLabel};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell};
use url::Url;

use crate::local_support::{Host, KEY};
use crate::raw::{Answer, Execd, answer};

/// Something that only some servers can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Sandboxes can be paused and resumed.
    Pause,
    /// Snapshots are made; otherwise they are refused with 501.
    Snapshots,
    /// Bash sessions.
    Sessions,
    /// Network policies, and the egress API that shows them.
    Egress,
    /// Execd asks for a token of each sandbox.
    ExecdToken,
    /// The server proxy asks for the API key.
    ProxyKey,
    /// The server checks `Host` and `Origin`.
    HostCheck,
    /// Memory beyond the limit ends a command, not the sandbox.
    MemoryLimit,
    /// Processes beyond the limit are refused, and the sandbox lives on.
    PidsLimit,
    /// A sandbox with the variable `VITRINE_EXECD_WIRE=1.0` speaks the older wire.
    OlderWire,
    /// There is time for what takes a minute, and room for a gibibyte.
    Minutes,
    /// The suite may stop and start the server, whose sandboxes live on.
    Control,
}

const CAPABILITIES: [(Capability, &str); 12] = [
    (Capability::Pause, "pause"),
    (Capability::Snapshots, "snapshots"),
    (Capability::Sessions, "sessions"),
    (Capability::Egress, "egress"),
    (Capability::ExecdToken, "execd-token"),
    (Capability::ProxyKey, "proxy-key"),
    (Capability::HostCheck, "host-check"),
    (Capability::MemoryLimit, "memory-limit"),
    (Capability::PidsLimit, "pids-limit"),
    (Capability::OlderWire, "older-wire"),
    (Capability::Minutes, "minutes"),
    (Capability::Control, "control"),
];

/// What the local runtime must show.
const LOCAL: [Capability; 8] = [
    Capability::Pause,
    Capability::Sessions,
    Capability::Egress,
    Capability::ExecdToken,
    Capability::ProxyKey,
    Capability::HostCheck,
    Capability::MemoryLimit,
    Capability::PidsLimit,
];

impl Capability {
    pub fn name(self) -> &'static str {
        CAPABILITIES.iter().find(|(one, _)| *one == self).unwrap().1
    }

    fn parse(name: &str) -> Self {
        let known = CAPABILITIES.iter().find(|(_, known)| *known == name);
        known.unwrap_or_else(|| panic!("{name:?} is none of the capabilities {CAPABILITIES:?}")).0
    }
}

pub struct Target {
    pub url: Url,
    pub key: String,
    pub image: String,
    pub http: Http,
    pub client: Client,
    pub control: Option<Control>,
    capabilities: BTreeSet<Capability>,
    /// One sandbox for every row that does not need its own.
    shared: OnceCell<Sandbox>,
    made: Mutex<Vec<String>>,
    local: Option<Host>,
}

/// How the server is taken away and brought back.
pub struct Control {
    pub script: PathBuf,
    pub pid_file: PathBuf,
}

impl Target {
    pub async fn start() -> Self {
        match setting("URL") {
            Some(url) => Self::named(&url),
            None => tokio::task::spawn_blocking(Self::local).await.unwrap(),
        }
    }

    fn local() -> Self {
        let host = Host::start();
        let (url, image) = (host.url.clone(), "vitrine/code".to_owned());
        Self { local: Some(host), ..Self::new(&url, KEY.to_owned(), image, LOCAL.into(), None) }
    }

    fn named(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let names = setting("CAPABILITIES").unwrap_or_default();
        let mut capabilities: BTreeSet<Capability> =
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Capability::parse).collect();
        let control = setting("CONTROL").zip(setting("PID_FILE"));
        let control = control.map(|(script, pid_file)| Control { script: script.into(), pid_file: pid_file.into() });
        if control.is_some() {
            capabilities.insert(Capability::Control);
        }
        let image = setting("IMAGE").expect("VITRINE_TEST_OPENSANDBOX_IMAGE names no image");
        Self::new(url, setting("API_KEY").unwrap_or_default(), image, capabilities, control)
    }

    fn new(
        url: &str,
        key: String,
        image: String,
        capabilities: BTreeSet<Capability>,
        control: Option<Control>,
    ) -> Self {
        let url: Url = url.parse().unwrap();
        let http = Http::builder().timeout(Duration::from_secs(60)).build().unwrap();
        let client = Client::new(Connection::new(url.clone(), SecretString::from(key.clone()))).unwrap();
        let (shared, made) = (OnceCell::new(), Mutex::default());
        Self { url, key, image, http, client, control, capabilities, shared, made, local: None }
    }

    pub fn describe(&self) -> String {
        let what = if self.local.is_some() { "the local runtime" } else { "the named server" };
        let names: Vec<_> = self.capabilities.iter().map(|one| one.name()).collect();
        format!("{what} at {}, which declares: {}", self.url, names.join(", "))
    }

    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// A client that reaches execd through the server.
    pub fn client_through_server(&self) -> Client {
        let mut connection = Connection::new(self.url.clone(), SecretString::from(self.key.clone()));
        connection.route = Route::ServerProxy;
        Client::new(connection).unwrap()
    }

    /// A request with the key.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.bare(method, path);
        if self.key.is_empty() { request } else { request.header("OPEN-SANDBOX-API-KEY", &self.key) }
    }

    /// A request without the key.
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

    /// What a plain create asks for, with the members of `more` over it.
    pub fn order(&self, more: Value) -> Value {
        let mut order = json!({
            "image": { "uri": self.image },
            "entrypoint": ["tail", "-f", "/dev/null"],
            "resourceLimits": {},
            "timeout": 600,
        });
        order.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        order
    }

    /// Makes a sandbox with raw HTTP, and returns the answer's body.
    pub async fn created(&self, more: Value) -> Value {
        let created = self.post("/v1/sandboxes", self.order(more)).await;
        assert_eq!(created.status, 202, "{}", created.body);
        self.made.lock().await.push(created.body["id"].as_str().unwrap().to_owned());
        created.body
    }

    /// What the client asks for; it names itself in the sandbox's metadata.
    pub fn create(&self, label: &str) -> CreateSandbox {
        let mut create = CreateSandbox::new(SandboxLabel::new(label).unwrap(), &self.image);
        create.time_to_live = Some(Duration::from_secs(600));
        create
    }

    /// A sandbox of the caller's own, ready for commands.
    pub async fn own_sandbox(&self, create: &CreateSandbox) -> Sandbox {
        let sandbox = self.client.create_ready(create, Duration::from_secs(60)).await.unwrap();
        self.made.lock().await.push(sandbox.id().to_owned());
        sandbox
    }

    /// The sandbox that rows share. Each keeps to a directory of its own.
    pub async fn sandbox(&self) -> &Sandbox {
        self.shared.get_or_init(|| async { self.own_sandbox(&self.create("conformance-shared")).await }).await
    }

    /// Raw HTTP to execd in the shared sandbox.
    pub async fn execd(&self) -> Execd {
        Execd::of(self, self.sandbox().await).await
    }

    /// Removes what the rows have made and left.
    pub async fn clean_up(&self) {
        for id in std::mem::take(&mut *self.made.lock().await) {
            let _ = self.client.kill(&id).await;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "whoever starts the suite chooses the target")]
fn setting(name: &str) -> Option<String> {
    std::env::var(format!("VITRINE_TEST_OPENSANDBOX_{name}")).ok().filter(|value| !value.is_empty())
}
