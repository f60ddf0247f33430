//! Processes of the product, each with a directory and a port of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::Result;
use crate::client::Client;

const READY_WITHIN: Duration = Duration::from_secs(60);

/// Path of the `vitrine` binary that was built with the tests.
pub fn binary() -> Result<PathBuf> {
    // Tests lie in a directory below the one of the binaries, the benchmark lies beside them.
    let own = std::env::current_exe()?;
    let found = own.ancestors().skip(1).take(2).map(|directory| directory.join("vitrine")).find(|path| path.exists());
    found.ok_or_else(|| "the vitrine binary is not there; run cargo build first".into())
}

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Its data directory.
    pub data_dir: PathBuf,
    /// Port on loopback; 0 for a free one.
    pub port: u16,
    /// Further environment.
    pub environment: Vec<(String, String)>,
}

impl ServerOptions {
    /// A server on this directory and a free port.
    pub fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned(), port: 0, environment: Vec::new() }
    }
}

/// A running `vitrine serve`. It is killed when dropped.
pub struct Server {
    child: Child,
    /// Base URL.
    pub url: String,
    /// One-time sign-in link.
    pub studio: String,
    /// API key; only on the first start of a data directory.
    pub api_key: Option<String>,
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub fn start(options: &ServerOptions) -> Result<Self> {
        let ready_file = options.data_dir.with_extension("ready.json");
        let _ = std::fs::remove_file(&ready_file);
        let log = std::fs::File::options().create(true).append(true).open(options.data_dir.with_extension("log"))?;
        let mut child = Command::new(binary()?)
            .arg("serve")
            .arg("--data-dir")
            .arg(&options.data_dir)
            .args(["--listen", &format!("127.0.0.1:{}", options.port)])
            .arg("--ready-file")
            .arg(&ready_file)
            .envs(options.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let ready = wait_for(READY_WITHIN, || {
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(options.data_dir.with_extension("log")).unwrap_or_default();
                return Err(format!("the server ended before it was ready: {status}\n{log}").into());
            }
            Ok(std::fs::read(&ready_file).ok())
        })?;
        let ready: Value = serde_json::from_slice(&ready)?;
        let text = |key: &str| ready[key].as_str().map(str::to_owned);
        Ok(Self {
            child,
            url: text("url").ok_or("the ready file has no url")?,
            studio: text("studio").ok_or("the ready file has no studio")?,
            api_key: text("apiKey"),
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client with this API key.
    pub fn client(&self, api_key: &str) -> Result<Client> {
        Client::new(&self.url, api_key)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) -> Result {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.pid().to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(format!("kill -{signal} failed").into()) }
    }

    /// Kills the process without a warning.
    pub fn kill(mut self) -> Result {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Stops the process in order and waits for its end.
    pub fn stop(mut self) -> Result<std::process::ExitStatus> {
        self.signal("TERM")?;
        wait_for(Duration::from_secs(30), || Ok(self.child.try_wait()?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request as the scripted model counted it.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct ModelRequest {
    /// Assistant messages before it.
    pub turn: u64,
    /// SHA-256 of its body.
    pub digest: String,
}

/// A running `vitrine scripted-model`. It is killed when dropped.
pub struct ScriptedModel {
    child: Child,
    /// Base URL of its API.
    pub url: String,
}

impl ScriptedModel {
    /// Starts one on a free port.
    pub fn start() -> Result<Self> {
        let mut child = Command::new(binary()?)
            .args(["scripted-model", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, url: line.trim().to_owned() })
    }

    /// How many requests it answered.
    pub async fn requests(&self) -> Result<u64> {
        let stats = self.stats().await?;
        stats["requests"].as_u64().ok_or_else(|| format!("no count in {stats}").into())
    }

    /// The requests that it got, oldest first.
    pub async fn log(&self) -> Result<Vec<ModelRequest>> {
        Ok(serde_json::from_value(self.stats().await?["log"].take())?)
    }

    async fn stats(&self) -> Result<Value> {
        let stats = self.url.replace("/v1", "/stats");
        Ok(serde_json::from_str(&reqwest::get(stats).await?.text().await?)?)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running `vitrine sandbox-runtime`. It is stopped in order when dropped, so that its sandboxes go with it.
pub struct SandboxRuntime {
    child: Child,
    /// Base URL.
    pub url: String,
    /// Its API key.
    pub api_key: String,
}

impl SandboxRuntime {
    /// Starts one on a free port, with its state in this directory.
    pub fn start(state: &Path) -> Result<Self> {
        let api_key = "a-key-for-this-test-only-0123456789".to_owned();
        let key_file = state.join("api-key");
        std::fs::write(&key_file, &api_key)?;
        let mut child = Command::new(binary()?)
            .args(["sandbox-runtime", "--listen", "127.0.0.1:0", "--api-key-file"])
            .arg(&key_file)
            .arg("--state-dir")
            .arg(state.join("sandboxes"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        Ok(Self { child, url: line.trim().to_owned(), api_key })
    }

    /// Removes every sandbox that it has.
    pub async fn remove_all(&self) -> Result {
        for sandbox in self.sandboxes().await? {
            let id = sandbox["id"].as_str().ok_or("no id")?;
            self.send(Method::DELETE, &format!("/{id}"), None).await?;
        }
        Ok(())
    }

    /// The sandboxes that it has, as it says.
    pub async fn sandboxes(&self) -> Result<Vec<Value>> {
        let listed = self.send(Method::GET, "?pageSize=200", None).await?;
        let sandboxes = serde_json::from_str::<Value>(&listed)?["items"].take();
        serde_json::from_value(sandboxes).map_err(Into::into)
    }

    /// Makes one with the label of a server's sandbox, as a create does that was under way for long.
    pub async fn make_labelled(&self, label: &str) -> Result {
        let create = json!({
            "image": { "uri": "vitrine/code" }, "entrypoint": ["sleep", "infinity"], "timeout": 600,
            "resourceLimits": {}, "metadata": { "vitrine.sandbox": label },
        });
        self.send(Method::POST, "", Some(create.to_string())).await.map(drop)
    }

    async fn send(&self, method: Method, path: &str, body: Option<String>) -> Result<String> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let mut request = http.request(method, format!("{}/v1/sandboxes{path}", self.url));
        request = request.header("OPEN-SANDBOX-API-KEY", &self.api_key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let answer = request.send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        if status.is_success() { Ok(text) } else { Err(format!("{status}: {text}").into()) }
    }
}

impl Drop for SandboxRuntime {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let ended = wait_for(Duration::from_secs(10), || Ok(self.child.try_wait()?));
        if ended.is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Looks again and again until there is a value; fails when the time is over.
pub fn wait_for<T>(within: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = look()? {
            return Ok(value);
        }
        if Instant::now() > deadline {
            return Err(format!("nothing came within {within:?}").into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Asks again and again until there is a value; fails and says what did not happen when the time is over.
pub async fn eventually<T>(
    within: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(value) = look().await? {
            return Ok(value);
        }
        if Instant::now() > deadline {
            return Err(format!("waited {within:?}, but not: {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}
