//! The local sandbox runtime as a child process: started with the server, watched, started again when it dies.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use domain::clock::Entropy;
use domain::ids::TenantId;
use sandbox::manager::LocalTier;
use secrecy::SecretString;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::config::LocalTenants;

const START_WITHIN: Duration = Duration::from_secs(15);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Where the runtime stands.
#[derive(Clone)]
enum Standing {
    Starting,
    Up(Url),
    Down(String),
}

/// The runtime of this process.
pub struct LocalSandbox {
    standing: watch::Sender<Standing>,
    key: SecretString,
    key_file: PathBuf,
    state_dir: PathBuf,
    tenants: LocalTenants,
}

impl LocalSandbox {
    /// Prepares a runtime whose files lie below the data directory. A fresh key is written for each start.
    pub fn new(data_dir: &Path, entropy: &dyn Entropy, tenants: LocalTenants) -> std::io::Result<Self> {
        let mut bytes = [0_u8; 32];
        entropy.fill(&mut bytes);
        let key = data_encoding::HEXLOWER.encode(&bytes);
        let key_file = data_dir.join("sandbox.key");
        crate::private_file::write(&key_file, key.as_bytes())?;
        Ok(Self {
            standing: watch::Sender::new(Standing::Starting),
            key: key.into(),
            key_file,
            state_dir: data_dir.join("sandboxes"),
            tenants,
        })
    }

    /// A server without one.
    pub fn none() -> Self {
        Self {
            standing: watch::Sender::new(Standing::Down("this server runs no local sandbox runtime".to_owned())),
            key: SecretString::default(),
            key_file: PathBuf::new(),
            state_dir: PathBuf::new(),
            tenants: LocalTenants::All,
        }
    }

    /// Keeps the runtime up until `stop`, then ends it.
    pub async fn watch(&self, stop: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        while !stop.is_cancelled() {
            match self.start().await {
                Ok(mut child) => {
                    pause = FIRST_PAUSE;
                    tokio::select! {
                        () = stop.cancelled() => return end(child).await,
                        status = child.wait() => {
                            tracing::warn!(status = ?status.ok(), "local sandbox runtime ended by itself");
                            self.standing.send_replace(Standing::Starting);
                        }
                    }
                }
                Err(why) => {
                    tracing::warn!(reason = why, "local sandbox runtime did not start");
                    self.standing.send_replace(Standing::Down(why));
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn start(&self) -> Result<Child, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut child = Command::new(program)
            .args(["sandbox-runtime", "--listen", "127.0.0.1:0", "--die-with-parent"])
            .arg(std::process::id().to_string())
            .arg("--api-key-file")
            .arg(&self.key_file)
            .arg("--state-dir")
            .arg(&self.state_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let stdout = child.stdout.take().ok_or("the runtime has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = tokio::time::timeout(START_WITHIN, lines.next_line()).await;
        match line {
            Ok(Ok(Some(line))) => {
                let url = Url::parse(line.trim()).map_err(|_| format!("the runtime said: {line}"))?;
                self.standing.send_replace(Standing::Up(url));
                Ok(child)
            }
            Ok(_) => Err("the runtime ended before it was ready; run vitrine doctor to see why".to_owned()),
            Err(_) => Err("the runtime was not ready in time".to_owned()),
        }
    }
}

/// Asks the runtime to end, so that it removes its sandboxes; it does not get for ever.
async fn end(mut child: Child) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    if tokio::time::timeout(STOP_WITHIN, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

#[async_trait]
impl LocalTier for LocalSandbox {
    fn refusal(&self, tenant: TenantId) -> Option<String> {
        self.tenants.refusal(tenant)
    }

    async fn connection(&self) -> Result<(Url, SecretString), String> {
        let mut standing = self.standing.subscribe();
        let settled =
            tokio::time::timeout(START_WITHIN, standing.wait_for(|standing| !matches!(standing, Standing::Starting)))
                .await;
        match settled {
            Ok(Ok(standing)) => match &*standing {
                Standing::Up(url) => Ok((url.clone(), self.key.clone())),
                Standing::Down(why) => Err(why.clone()),
                Standing::Starting => Err("the local sandbox runtime is starting".to_owned()),
            },
            Ok(Err(_)) | Err(_) => Err("the local sandbox runtime is not up".to_owned()),
        }
    }
}
