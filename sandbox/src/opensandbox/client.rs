//! A Client speaks the Lifecycle API of one connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::time::{Instant, sleep};
use url::Url;

use super::connection::{Connection, Route};
use super::endpoint::{API_KEY_HEADER, Endpoint, EndpointAnswer, secret_value};
use super::error::Error;
use super::lifecycle::{
    CreateSandbox, LABEL_KEY, ListFilter, RawPage, RawSandbox, SandboxInfo, SandboxLabel, SandboxPage, check_id,
    format_time, parse_time,
};
use super::redact::Redactor;
use super::sandbox::Sandbox;
use super::transport::{Answer, Call, SharedRedactor, Transport};

const PAGE_SIZE: u32 = 100;
const MAX_PAGES: u32 = 100;
const POLL: Duration = Duration::from_millis(100);

/// The Lifecycle API of one server. Cheap to clone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    connection: Connection,
    transport: Transport,
    headers: HeaderMap,
    redactor: SharedRedactor,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.0.connection).finish()
    }
}

impl Client {
    /// Checks the connection's settings. Nothing is sent.
    pub fn new(connection: Connection) -> Result<Self, Error> {
        connection.check()?;
        let key = connection.api_key.expose_secret();
        let mut headers = HeaderMap::new();
        let mut redactor = Redactor::default();
        // An empty key would be refused where no key at all is fine.
        if !key.is_empty() {
            headers.insert(API_KEY_HEADER, secret_value(key)?);
            redactor.add(key);
        }
        let transport = Transport::new(connection.timeouts.clone(), &connection.base_url)?;
        Ok(Self(Arc::new(Inner { connection, transport, headers, redactor: Arc::new(redactor) })))
    }

    /// Makes a sandbox, which may still be starting afterwards: see [`Sandbox::wait_ready`].
    ///
    /// `OutcomeUnknown` means that one may exist: [`Client::find_by_label`] tells. It is never sent twice.
    pub async fn create(&self, create: &CreateSandbox) -> Result<Sandbox, Error> {
        let body = create.to_json()?;
        let call = self.call(Method::POST, self.url(&["sandboxes"])?, Some(body));
        let answer = self.transport().once(&call, "create", self.transport().timeouts.create).await?;
        let info = answer
            .json::<RawSandbox>("sandbox")
            .and_then(RawSandbox::check)
            .map_err(|error| error.after_sending("create"))?;
        Ok(Sandbox::new(self.clone(), info.id))
    }

    /// Makes a sandbox and waits until commands can run in it; one that does not get there is killed.
    pub async fn create_ready(&self, create: &CreateSandbox, within: Duration) -> Result<Sandbox, Error> {
        let sandbox = self.create(create).await?;
        if let Err(error) = sandbox.wait_ready(within).await {
            tracing::warn!(sandbox.id = sandbox.id(), error.code = error.code(), "sandbox did not become ready");
            self.kill(sandbox.id()).await?;
            return Err(error);
        }
        Ok(sandbox)
    }

    /// A handle on a sandbox that exists already. Nothing is sent.
    pub fn attach(&self, id: impl Into<String>) -> Result<Sandbox, Error> {
        let id = check_id(id.into()).map_err(|_| Error::invalid("sandbox id has characters that no id needs"))?;
        Ok(Sandbox::new(self.clone(), id))
    }

    /// What the server says about a sandbox. After a kill or its expiry that is [`Error::NotFound`].
    pub async fn get(&self, id: &str) -> Result<SandboxInfo, Error> {
        self.read(self.url(&["sandboxes", id])?).await?.json::<RawSandbox>("sandbox")?.check()
    }

    /// One page of sandboxes; pages count from 1.
    pub async fn list(&self, filter: &ListFilter, page: u32) -> Result<SandboxPage, Error> {
        let mut url = self.url(&["sandboxes"])?;
        {
            let mut query = url.query_pairs_mut();
            for state in &filter.states {
                query.append_pair("state", state);
            }
            if !filter.metadata.is_empty() {
                // One parameter whose value is itself an encoded query: the server decodes twice.
                let pairs =
                    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&filter.metadata).finish();
                query.append_pair("metadata", &pairs);
            }
            query.append_pair("page", &page.to_string()).append_pair("pageSize", &PAGE_SIZE.to_string());
        }
        self.read(url).await?.json::<RawPage>("list of sandboxes")?.check()
    }

    /// Every sandbox that matches. A list without an end is refused.
    pub async fn list_all(&self, filter: &ListFilter) -> Result<Vec<SandboxInfo>, Error> {
        let mut found = Vec::new();
        for page in 1..=MAX_PAGES {
            let page = self.list(filter, page).await?;
            found.extend(page.items);
            if !page.has_next_page {
                return Ok(found);
            }
        }
        Err(Error::protocol("list of sandboxes does not end"))
    }

    /// The sandboxes that carry our own id: how a create whose answer was lost is resolved.
    ///
    /// An empty answer right after a lost create is no proof, since the server may still be at work on it.
    pub async fn find_by_label(&self, label: &SandboxLabel) -> Result<Vec<SandboxInfo>, Error> {
        let metadata = [(LABEL_KEY.to_owned(), label.as_str().to_owned())].into();
        let mut found = self.list_all(&ListFilter { states: Vec::new(), metadata }).await?;
        // A server that ignores the filter must not hand us somebody else's sandbox.
        found.retain(|info| info.has_label(label));
        Ok(found)
    }

    /// Asks for a sandbox's end. One that is gone already counts as success.
    pub async fn kill(&self, id: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, self.url(&["sandboxes", id])?, None);
        match self.transport().repeat(&call).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Kills a sandbox and waits until the server says that it is gone, else `DestroyUnconfirmed`.
    pub async fn destroy(&self, id: &str) -> Result<(), Error> {
        let deadline = Instant::now() + self.transport().timeouts.destroy;
        // A kill that failed may have worked, and a get tells; only its absence is a confirmation.
        let mut cause = self.kill(id).await.err();
        loop {
            match self.get(id).await {
                Err(Error::NotFound(_)) => return Ok(()),
                Ok(info) if info.state.is_terminal() => return Ok(()),
                Ok(_) => {}
                Err(error) => cause = Some(error),
            }
            if Instant::now() + POLL >= deadline {
                return Err(Error::DestroyUnconfirmed { id: id.to_owned(), cause: cause.map(Box::new) });
            }
            sleep(POLL).await;
        }
    }

    /// Moves a sandbox's expiry, and returns what the server made of it.
    pub async fn renew(&self, id: &str, expires_at: OffsetDateTime) -> Result<OffsetDateTime, Error> {
        let body = json!({ "expiresAt": format_time(expires_at)? });
        let call = self.call(Method::POST, self.url(&["sandboxes", id, "renew-expiration"])?, Some(body));
        let answer = self.transport().once(&call, "renew", self.transport().timeouts.request).await?;
        let value: Value = answer.json("renewal")?;
        let text = value.get("expiresAt").and_then(Value::as_str);
        text.ok_or_else(|| Error::protocol("renewal has no expiresAt")).and_then(parse_time)
    }

    /// The checked address of a port of a sandbox.
    pub async fn endpoint(&self, id: &str, port: u16) -> Result<Endpoint, Error> {
        let mut url = self.url(&["sandboxes", id, "endpoints", &port.to_string()])?;
        let use_proxy = if self.0.connection.route == Route::ServerProxy { "true" } else { "false" };
        url.query_pairs_mut().append_pair("use_server_proxy", use_proxy);
        let answer: EndpointAnswer = self.read(url).await?.json("endpoint")?;
        Endpoint::check(&self.0.connection, &answer)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    pub(super) fn transport(&self) -> &Transport {
        &self.0.transport
    }

    pub(super) fn redactor(&self) -> &SharedRedactor {
        &self.0.redactor
    }

    fn url(&self, segments: &[&str]) -> Result<Url, Error> {
        for segment in segments {
            check_id((*segment).to_owned()).map_err(|_| Error::invalid("id has characters that no id needs"))?;
        }
        self.0.connection.lifecycle_url(segments)
    }

    async fn read(&self, url: Url) -> Result<Answer, Error> {
        self.transport().repeat(&self.call(Method::GET, url, None)).await
    }

    fn call(&self, method: Method, url: Url, body: Option<Value>) -> Call<'_> {
        Call {
            method,
            url,
            headers: self.0.headers.clone(),
            body: body.map(|body| Bytes::from(body.to_string())),
            redactor: &self.0.redactor,
        }
    }
}
