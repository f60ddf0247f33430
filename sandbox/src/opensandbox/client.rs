//! A Client speaks the Lifecycle API of one connection.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::connection::{Connection, Isolation, Route, Sharing};
use super::egress::{EgressMode, PolicyRoute};
use super::endpoint::{API_KEY_HEADER, Endpoint, EndpointAnswer, Wanted, secret_value};
use super::error::{Change, Deadline, Error, ErrorClass};
use super::lifecycle::{
    CreateSandbox, LABEL_KEY, ListFilter, RawPage, RawSandbox, SandboxInfo, SandboxLabel, SandboxPage, check_id,
    format_time, parse_time,
};
use super::network_policy::EgressAction;
use super::redact::Redactor;
use super::sandbox::Sandbox;
use super::transport::{Answer, Call, Shape, SharedRedactor, Transport};
use super::version::ServerKind;

pub(super) const PAGE_SIZE: u32 = 100;
pub(super) const MAX_PAGES: u32 = 100;
pub(super) const POLL: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Renewal {
    expires_at: String,
}

impl Shape for Renewal {
    const MEMBERS: &'static [&'static str] = &["expiresAt"];
}

/// The Lifecycle API of one server. Cheap to clone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    connection: Connection,
    transport: Transport,
    headers: HeaderMap,
    redactor: SharedRedactor,
    kind: OnceCell<ServerKind>,
    unknown: AtomicU64,
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
        let redactor = Arc::new(redactor);
        let (kind, unknown) = (OnceCell::new(), AtomicU64::new(0));
        Ok(Self(Arc::new(Inner { connection, transport, headers, redactor, kind, unknown })))
    }

    /// Makes a sandbox, which may still be starting afterwards: see [`Sandbox::wait_ready`].
    ///
    /// `OutcomeUnknown` means that one may exist: [`Client::find_by_label`] tells. It is never sent twice.
    pub async fn create(&self, create: &CreateSandbox) -> Result<Sandbox, Error> {
        if self.0.connection.isolation == Isolation::Gvisor && create.network_policy.is_some() {
            return Err(Error::invalid(
                "a network policy does not hold in gVisor; use another server for this profile",
            ));
        }
        let mut body = create.to_json()?;
        let has_secure_access = create.secure_access || self.0.connection.sharing == Sharing::Shared;
        if has_secure_access {
            body["secureAccess"] = true.into();
        }
        // Servers quote what they refuse.
        let mut redactor = Redactor::clone(&self.0.redactor);
        create.secrets().for_each(|secret| redactor.add(secret));
        let call = self.call(Method::POST, self.url(&["sandboxes"])?, Some(body)).await?;
        let call = Call { redactor: &redactor, ..call };
        let answer = self.transport().once(&call, "create", self.transport().timeouts.create).await?;
        let info = answer
            .object::<RawSandbox>("sandbox", self.unknown())
            .and_then(RawSandbox::check)
            .map_err(|error| error.after_sending("create"))?;
        Ok(Sandbox::new(self.clone(), info.id, has_secure_access))
    }

    /// Makes a sandbox and waits until commands can run in it; one that does not get there is killed, or named in
    /// `DestroyUnconfirmed` when that fails, too.
    pub async fn create_ready(&self, create: &CreateSandbox, within: Duration) -> Result<Sandbox, Error> {
        let sandbox = self.create(create).await?;
        if let Err(error) = self.wait_usable(&sandbox, create, within).await {
            tracing::warn!(sandbox.id = sandbox.id(), error.code = error.code(), "sandbox did not become ready");
            let killed = self.kill(sandbox.id()).await;
            return Err(match killed {
                Ok(()) => error,
                Err(cause) => Error::Unconfirmed {
                    change: Change::Destroy,
                    id: sandbox.id().to_owned(),
                    cause: Some(Box::new(cause)),
                },
            });
        }
        Ok(sandbox)
    }

    /// Commands can run, and the network policy that was asked for holds.
    async fn wait_usable(&self, sandbox: &Sandbox, create: &CreateSandbox, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        sandbox.wait_ready(within).await?;
        let Some(policy) = &create.network_policy else { return Ok(()) };
        // The runtime that belongs to this program gives a sandbox no network but what a policy opens.
        if *self.server_kind().await? == ServerKind::Local {
            return Ok(());
        }
        loop {
            let asked = timeout_at(deadline, sandbox.network_policy(PolicyRoute::Sidecar)).await;
            let error = match asked.unwrap_or(Err(Error::DeadlineExceeded(Deadline::Total))) {
                Ok(status) if status.mode == EgressMode::AllowAll && policy.default_action == EgressAction::Deny => {
                    return Err(Error::protocol("network policy does not hold: its mode is allow_all"));
                }
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if error.class() != ErrorClass::Transient || Instant::now() + POLL >= deadline {
                return Err(error);
            }
            sleep(POLL).await;
        }
    }

    /// A handle on a sandbox that exists already. Nothing is sent.
    pub fn attach(&self, id: impl Into<String>) -> Result<Sandbox, Error> {
        let id = check_id(id.into()).map_err(|_| Error::invalid("sandbox id has characters that no id needs"))?;
        Ok(Sandbox::new(self.clone(), id, false))
    }

    /// What the server says about a sandbox. After a kill or its expiry that is [`Error::NotFound`].
    pub async fn get(&self, id: &str) -> Result<SandboxInfo, Error> {
        self.look(id).await
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
        let call = self.plain_call(Method::DELETE, self.url(&["sandboxes", id])?, None);
        match self.transport().repeat(&call).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Kills a sandbox and waits until the server says that it is gone, else `DestroyUnconfirmed`.
    pub async fn destroy(&self, id: &str) -> Result<(), Error> {
        let deadline = Instant::now() + self.transport().timeouts.destroy;
        let is_late = || Error::DeadlineExceeded(Deadline::Total);
        // A kill that failed may have worked, and a get tells; only its absence is a confirmation.
        let mut cause = timeout_at(deadline, self.kill(id)).await.unwrap_or_else(|_| Err(is_late())).err();
        loop {
            match timeout_at(deadline, self.get(id)).await {
                Ok(Err(Error::NotFound(_))) => return Ok(()),
                Ok(Ok(info)) if info.state.is_terminal() => return Ok(()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => cause = Some(error),
                Err(_) => drop(cause.get_or_insert_with(is_late)),
            }
            if Instant::now() + POLL >= deadline {
                let (change, cause) = (Change::Destroy, cause.map(Box::new));
                return Err(Error::Unconfirmed { change, id: id.to_owned(), cause });
            }
            sleep(POLL).await;
        }
    }

    /// Moves a sandbox's expiry, and returns what the server made of it.
    pub async fn renew(&self, id: &str, expires_at: OffsetDateTime) -> Result<OffsetDateTime, Error> {
        let body = json!({ "expiresAt": format_time(expires_at)? });
        let call = self.call(Method::POST, self.url(&["sandboxes", id, "renew-expiration"])?, Some(body)).await?;
        let answer = self.transport().once(&call, "renew", self.transport().timeouts.request).await?;
        let renewal: Result<Renewal, _> = answer.object("renewal", self.unknown());
        renewal.and_then(|renewal| parse_time(&renewal.expires_at)).map_err(|error| error.after_sending("renew"))
    }

    /// The checked address of a port of a sandbox.
    pub async fn endpoint(&self, id: &str, port: u16) -> Result<Endpoint, Error> {
        self.checked_endpoint(Wanted { sandbox_id: id, port, needs_secure_access: false }).await
    }

    pub(super) async fn checked_endpoint(&self, wanted: Wanted<'_>) -> Result<Endpoint, Error> {
        let Wanted { sandbox_id: id, port, .. } = wanted;
        let mut url = self.url(&["sandboxes", id, "endpoints", &port.to_string()])?;
        let use_proxy = if self.0.connection.route == Route::ServerProxy { "true" } else { "false" };
        url.query_pairs_mut().append_pair("use_server_proxy", use_proxy);
        let answer: EndpointAnswer = self.read(url).await?.object("endpoint", self.unknown())?;
        // Also of one that is refused, since the refusal may quote it.
        answer.headers.iter().flat_map(BTreeMap::values).for_each(|secret| self.0.redactor.learn(secret));
        Endpoint::check(&self.0.connection, &answer, wanted).map_err(|error| self.0.redactor.refusal(error))
    }

    /// Whether keys, code and output leave the machine unencrypted, which an operator must be warned of.
    #[must_use]
    pub fn is_readable_on_the_way(&self) -> bool {
        self.0.connection.is_readable_on_the_way()
    }

    /// How many members of answers this client did not know and skipped.
    #[must_use]
    pub fn unknown_members(&self) -> u64 {
        self.0.unknown.load(Ordering::Relaxed)
    }

    /// What a get is, for a caller that must look whatever has become of the server.
    pub(super) async fn look(&self, id: &str) -> Result<SandboxInfo, Error> {
        let call = self.plain_call(Method::GET, self.url(&["sandboxes", id])?, None);
        self.transport().repeat(&call).await?.object::<RawSandbox>("sandbox", self.unknown())?.check()
    }

    pub(super) fn kind(&self) -> &OnceCell<ServerKind> {
        &self.0.kind
    }

    pub(super) fn unknown(&self) -> &AtomicU64 {
        &self.0.unknown
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

    pub(super) fn url(&self, segments: &[&str]) -> Result<Url, Error> {
        for segment in segments {
            check_id((*segment).to_owned()).map_err(|_| Error::invalid("id has characters that no id needs"))?;
        }
        self.0.connection.lifecycle_url(segments)
    }

    pub(super) async fn read(&self, url: Url) -> Result<Answer, Error> {
        self.transport().repeat(&self.call(Method::GET, url, None).await?).await
    }

    /// A call of a server whose version was checked.
    pub(super) async fn call(&self, method: Method, url: Url, body: Option<Value>) -> Result<Call<'_>, Error> {
        self.server_kind().await?;
        Ok(self.plain_call(method, url, body))
    }

    pub(super) fn plain_call(&self, method: Method, url: Url, body: Option<Value>) -> Call<'_> {
        Call {
            method,
            url,
            headers: self.0.headers.clone(),
            body: body.map(|body| Bytes::from(body.to_string())),
            redactor: &self.0.redactor,
        }
    }
}
