//! A Sandbox is a handle on one sandbox of a server: its life through the Lifecycle API, its inside through execd.
//!
//! Commands are in [`super::command`], files in [`super::files`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;
use time::OffsetDateTime;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::client::Client;
use super::endpoint::{Endpoint, Wanted};
use super::error::{Deadline, Error, Reply};
use super::lifecycle::SandboxInfo;
use super::output::ExecdWire;
use super::transport::{Answer, Call, SharedRedactor, Transport};

/// The port of execd in every sandbox.
pub const EXECD_PORT: u16 = 44772;
const READY_POLL: Duration = Duration::from_millis(200);

/// A handle on one sandbox. Cheap to clone; dropping it changes nothing on the server.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    client: Client,
    id: String,
    /// It was asked for with a token, without which none of its endpoints is used.
    has_secure_access: bool,
    /// Looked up at the first need, and again after it was forgotten.
    execd: Mutex<Option<Arc<Port>>>,
    wire: OnceCell<ExecdWire>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("id", &self.0.id).finish_non_exhaustive()
    }
}

impl Sandbox {
    pub(super) fn new(client: Client, id: String, has_secure_access: bool) -> Self {
        let wire = OnceCell::new_with(client.connection().output_wire.map(ExecdWire::known));
        Self(Arc::new(Inner { client, id, has_secure_access, execd: Mutex::new(None), wire }))
    }

    /// The server's id of it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What the server says about it.
    pub async fn info(&self) -> Result<SandboxInfo, Error> {
        self.0.client.get(self.id()).await
    }

    /// Asks for its end. See [`Client::kill`].
    pub async fn kill(&self) -> Result<(), Error> {
        self.0.client.kill(self.id()).await
    }

    /// Kills it and waits until it is gone. See [`Client::destroy`].
    pub async fn destroy(&self) -> Result<(), Error> {
        self.0.client.destroy(self.id()).await
    }

    /// Moves its expiry. See [`Client::renew`].
    pub async fn renew(&self, expires_at: OffsetDateTime) -> Result<OffsetDateTime, Error> {
        self.0.client.renew(self.id(), expires_at).await
    }

    /// The checked address of one of its ports.
    pub async fn endpoint(&self, port: u16) -> Result<Endpoint, Error> {
        let needs_secure_access = self.0.has_secure_access;
        self.0.client.checked_endpoint(Wanted { sandbox_id: self.id(), port, needs_secure_access }).await
    }

    /// Makes the next call look the address of execd up again, since a sandbox may move when it was paused.
    pub async fn forget_endpoint(&self) {
        *self.0.execd.lock().await = None;
    }

    /// Asks execd once whether it is there.
    pub async fn ping(&self) -> Result<(), Error> {
        let execd = self.execd().await?;
        let call = execd.call(Method::GET, execd.url(&["ping"])?);
        self.transport().attempt(&call, self.transport().timeouts.idle).await.map(drop)
    }

    /// Waits until commands can run. Stops early when waiting cannot help.
    pub async fn wait_ready(&self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        if within.is_zero() {
            // A timer has a millisecond of its own, in which a near server may answer.
            return Err(Error::DeadlineExceeded(Deadline::Total));
        }
        loop {
            let result = timeout_at(deadline, self.ping()).await;
            let error = match result.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            if is_hopeless(&error) || Instant::now() + READY_POLL >= deadline {
                return Err(error);
            }
            // A wrong address may have been right a moment ago, while the sandbox was being set up.
            self.forget_endpoint().await;
            if let Ok(Ok(info)) = timeout_at(deadline, self.info()).await
                && info.state.is_terminal()
            {
                let message = "sandbox ended before it was ready".to_owned();
                return Err(Error::ServerFailed(Reply { status: 200, code: info.reason, message, ..Reply::default() }));
            }
            sleep(READY_POLL).await;
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(super) fn transport(&self) -> &Transport {
        self.0.client.transport()
    }

    pub(super) fn wire(&self) -> &OnceCell<ExecdWire> {
        &self.0.wire
    }

    pub(super) async fn execd(&self) -> Result<Arc<Port>, Error> {
        let mut cached = self.0.execd.lock().await;
        if let Some(execd) = &*cached {
            return Ok(execd.clone());
        }
        let execd = Arc::new(self.port(EXECD_PORT).await?);
        *cached = Some(execd.clone());
        Ok(execd)
    }

    /// One of its ports, looked up anew.
    pub(super) async fn port(&self, port: u16) -> Result<Port, Error> {
        let endpoint = self.endpoint(port).await?;
        Ok(Port { endpoint, redactor: self.0.client.redactor().clone() })
    }

    /// A call of execd that is safe to repeat.
    pub(super) async fn read(&self, call: &Call<'_>) -> Result<Answer, Error> {
        let result = self.transport().repeat(call).await;
        // It may have moved, or its token may have changed.
        if matches!(result, Err(Error::Unreachable(_) | Error::AccessDenied(_))) {
            self.forget_endpoint().await;
        }
        result
    }

    /// A call of execd that must not be repeated.
    pub(super) async fn write(&self, call: &Call<'_>, operation: &'static str) -> Result<Answer, Error> {
        self.transport().once(call, operation, self.transport().timeouts.request).await
    }
}

/// A port of a sandbox at its present address.
pub(super) struct Port {
    endpoint: Endpoint,
    pub redactor: SharedRedactor,
}

impl Port {
    pub fn url(&self, segments: &[&str]) -> Result<Url, Error> {
        self.endpoint.join(segments)
    }

    pub fn call(&self, method: Method, url: Url) -> Call<'_> {
        Call { method, url, headers: self.headers(), body: None, redactor: &self.redactor }
    }

    pub fn call_with(&self, method: Method, url: Url, body: &Value) -> Call<'_> {
        Call { body: Some(Bytes::from(body.to_string())), ..self.call(method, url) }
    }

    fn headers(&self) -> HeaderMap {
        self.endpoint.headers().clone()
    }
}

fn is_hopeless(error: &Error) -> bool {
    match error {
        Error::AccessDenied(_)
        | Error::PlaintextRefused { .. }
        | Error::EndpointRefused(_)
        | Error::SecureAccessMissing
        | Error::ProtocolUnsupported(_) => true,
        Error::NotFound(reply) => reply.has_code("SANDBOX_NOT_FOUND"),
        _ => false,
    }
}
