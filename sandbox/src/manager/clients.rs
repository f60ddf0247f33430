//! Clients by server, handles by sandbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::ids::{SandboxId, TenantId};
use domain::resource::{SandboxRoute, SandboxTier, SecureRuntime, port_range};
use domain::sandbox::{LiveSandbox, SandboxError, SandboxTarget};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Mutex as AsyncMutex, OnceCell, OwnedMutexGuard};
use url::Url;

use super::collect::Seen;
use super::failure::{failure, unavailable};
use super::{network, raw, survey};
use crate::opensandbox::{Client, Connection, Isolation, OutputWire, Plaintext, Route, Sandbox, SandboxInfo, Sharing};
use crate::runner::{Capture, ImageFacts};

/// Clients that are kept. One that makes room is made anew when its server is used again; who has it goes on with it.
const MAX_CLIENTS: usize = 64;

/// Where the local runtime is reached at this moment.
#[async_trait]
pub trait LocalTier: Send + Sync {
    /// Its base URL and key, once it is up; the text says why it is not.
    async fn connection(&self) -> Result<(Url, SecretString), String>;

    /// Why this tenant gets no sandbox here; None when it does.
    fn refusal(&self, tenant: TenantId) -> Option<String>;
}

/// The Sandbox Manager.
pub struct SandboxManager {
    local: Arc<dyn LocalTier>,
    /// The one that was used last stands last.
    clients: Mutex<Vec<(SandboxTarget, Client)>>,
    handles: Mutex<HashMap<SandboxId, Handle>>,
}

struct Handle {
    sandbox: Sandbox,
    /// Where its programs reach the filtering proxy, when it has one.
    proxy: Option<String>,
    /// Whether its server keeps output as it was.
    keeps_raw: bool,
    /// Asked for once.
    facts: Arc<OnceCell<ImageFacts>>,
    seen: Seen,
    /// Held by whoever collects.
    collecting: Arc<AsyncMutex<()>>,
}

impl SandboxManager {
    /// A manager whose local tier is this one.
    pub fn new(local: Arc<dyn LocalTier>) -> Self {
        Self { local, clients: Mutex::default(), handles: Mutex::default() }
    }

    /// Refuses a sandbox of the local tier to a tenant that is to have none.
    pub(super) fn admit(&self, tenant: TenantId, target: &SandboxTarget) -> Result<(), SandboxError> {
        let refusal = (target.tier == SandboxTier::Local).then(|| self.local.refusal(tenant)).flatten();
        match refusal {
            Some(message) => Err(SandboxError { code: "local_tier_refused", message, sandbox_lost: false }),
            None => Ok(()),
        }
    }

    /// The client of a server; made once for each address and key, as long as both are in use.
    pub(super) async fn client(&self, target: &SandboxTarget) -> Result<Client, SandboxError> {
        let target = match target.tier {
            SandboxTier::Remote => target.clone(),
            SandboxTier::Local => {
                let (url, key) = self.local.connection().await.map_err(unavailable)?;
                let api_key = Some(key.expose_secret().to_owned());
                SandboxTarget { base_url: url.into(), api_key, ..target.clone() }
            }
        };
        if let Some(client) = self.known_client(&target) {
            return Ok(client);
        }
        let connection = connection(&target)?;
        // Certificates are read for it, which is no work for a thread that others wait for.
        let made = tokio::task::spawn_blocking(move || Client::new(connection)).await;
        let client = made.map_err(|_| unavailable("no client could be made".to_owned()))?;
        let client = client.map_err(|error| failure(&error))?;
        Ok(self.keep_client(target, client))
    }

    fn known_client(&self, target: &SandboxTarget) -> Option<Client> {
        let mut clients = lock(&self.clients);
        let at = clients.iter().position(|(known, _)| known == target)?;
        let used = clients.remove(at);
        let client = used.1.clone();
        clients.push(used);
        Some(client)
    }

    /// Keeps a new client, unless another one of its server was made meanwhile, and gives the one that is kept.
    fn keep_client(&self, target: SandboxTarget, client: Client) -> Client {
        if let Some(known) = self.known_client(&target) {
            return known;
        }
        let mut clients = lock(&self.clients);
        // There is one local runtime: at another address or with another key, it is one that was started anew.
        clients.retain(|(known, _)| known.tier == SandboxTier::Remote || target.tier == SandboxTier::Remote);
        let too_many = (clients.len() + 1).saturating_sub(MAX_CLIENTS);
        clients.drain(..too_many);
        clients.push((target, client.clone()));
        client
    }

    /// The handle of a sandbox; made anew after a restart.
    pub(super) async fn attach(&self, live: &LiveSandbox) -> Result<Sandbox, SandboxError> {
        let known = lock(&self.handles).get(&live.id).map(|handle| handle.sandbox.clone());
        if let Some(sandbox) = known {
            return Ok(sandbox);
        }
        let client = self.client(&live.target).await?;
        let sandbox = client.attach(live.remote_id.clone()).map_err(|error| failure(&error))?;
        let info = sandbox.info().await.map_err(|error| failure(&error))?;
        self.remember(live.id, sandbox.clone(), &info);
        Ok(sandbox)
    }

    pub(super) fn remember(&self, id: SandboxId, sandbox: Sandbox, info: &SandboxInfo) {
        let (proxy, keeps_raw) = (network::proxy(info), raw::is_kept(info));
        let (facts, seen, collecting) = (Arc::default(), Seen::default(), Arc::default());
        let handle = Handle { sandbox, proxy, keeps_raw, facts, seen, collecting };
        lock(&self.handles).insert(id, handle);
    }

    /// What the image of a sandbox has, and who this user is in it.
    pub(super) async fn facts(
        &self,
        id: SandboxId,
        remote: &Sandbox,
        user: Option<&str>,
    ) -> Result<ImageFacts, SandboxError> {
        let cell = lock(&self.handles).get(&id).map(|handle| handle.facts.clone()).unwrap_or_default();
        cell.get_or_try_init(|| survey::look(remote, user)).await.cloned()
    }

    /// Where programs of a sandbox reach the filtering proxy.
    pub(super) fn proxy(&self, id: SandboxId) -> Option<String> {
        lock(&self.handles).get(&id).and_then(|handle| handle.proxy.clone())
    }

    /// What keeps the output of a program of a sandbox as it is.
    pub(super) fn capture(&self, id: SandboxId) -> Capture {
        let is_kept = lock(&self.handles).get(&id).is_some_and(|handle| handle.keeps_raw);
        if is_kept { Capture::ByServer } else { Capture::InSandbox }
    }

    pub(super) fn forget(&self, id: SandboxId) {
        lock(&self.handles).remove(&id);
    }

    /// Waits until nobody else collects from a sandbox: of two at one time both would see a file as new.
    pub(super) async fn collect_alone(&self, id: SandboxId) -> Option<OwnedMutexGuard<()>> {
        let collecting = Arc::clone(&lock(&self.handles).get(&id)?.collecting);
        Some(collecting.lock_owned().await)
    }

    /// Looks at, or changes, what was collected from a sandbox.
    pub(super) fn with_seen<T>(&self, id: SandboxId, use_it: impl FnOnce(&mut Seen) -> T) -> Option<T> {
        lock(&self.handles).get_mut(&id).map(|handle| use_it(&mut handle.seen))
    }
}

fn connection(target: &SandboxTarget) -> Result<Connection, SandboxError> {
    let url =
        Url::parse(&target.base_url).map_err(|_| unavailable("the connection's base URL is not valid".to_owned()))?;
    let mut connection = Connection::new(url, target.api_key.clone().unwrap_or_default().into());
    connection.endpoint_hosts.clone_from(&target.endpoint_hosts);
    connection.endpoint_paths.clone_from(&target.endpoint_paths);
    let ports: Option<Vec<_>> = target.endpoint_ports.iter().map(|ports| port_range(ports)).collect();
    // An entry that cannot be read must not leave every port open.
    let unread = || unavailable("an entry of the connection's endpointPorts is neither a port nor a range".to_owned());
    connection.endpoint_ports = ports.ok_or_else(unread)?;
    if target.allow_plaintext {
        connection.plaintext = Plaintext::Allowed;
    }
    connection.route = match target.route {
        SandboxRoute::Direct => Route::Direct,
        SandboxRoute::Gateway => Route::Gateway,
        SandboxRoute::ServerProxy => Route::ServerProxy,
    };
    if target.secure_access {
        // Asked of the server and not only of a create, it holds for a sandbox from before a restart, too.
        connection.sharing = Sharing::Shared;
    }
    if target.secure_runtime == SecureRuntime::Gvisor {
        connection.isolation = Isolation::Gvisor;
    }
    if target.tier == SandboxTier::Local {
        connection.output_wire = Some(OutputWire::Kept);
    }
    Ok(connection)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
