//! A Session is what earlier operations have left for later ones: sandboxes and commands, by their labels.

use std::collections::BTreeMap;

use sandbox::opensandbox::{Client, Connection, Error, Route, Sandbox};
use url::Url;

use super::answer::Failure;
use super::operation::{Operation, Plan};

pub struct Session {
    direct: Client,
    proxied: Client,
    pub image: String,
    /// Goes into the metadata of each sandbox, so that clients do not see each other's.
    pub client_name: String,
    sandboxes: BTreeMap<String, String>,
    /// Handles keep the looked-up address, as an application would.
    handles: BTreeMap<(String, bool), Sandbox>,
    commands: BTreeMap<String, String>,
}

impl Session {
    pub fn new(plan: &Plan) -> Result<Self, Box<dyn std::error::Error>> {
        let url: Url = plan.url.parse()?;
        let client =
            |route| Client::new(Connection { route, ..Connection::new(url.clone(), plan.api_key.clone().into()) });
        Ok(Self {
            direct: client(Route::Direct)?,
            proxied: client(Route::ServerProxy)?,
            image: plan.image.clone(),
            client_name: plan.client.clone(),
            sandboxes: BTreeMap::new(),
            handles: BTreeMap::new(),
            commands: BTreeMap::new(),
        })
    }

    pub fn client(&self, operation: &Operation) -> Result<&Client, Failure> {
        Ok(if is_proxied(operation)? { &self.proxied } else { &self.direct })
    }

    /// The server's id of the sandbox that the operation names, by its label or as it is.
    pub fn sandbox_id(&self, operation: &Operation) -> Result<String, Failure> {
        if let Some(id) = operation.find("sandbox_id")? {
            return Ok(id);
        }
        let label: String = operation.need("sandbox")?;
        self.sandboxes.get(&label).cloned().ok_or(Failure::Unlabelled)
    }

    /// A handle on the sandbox that the operation names.
    pub fn sandbox(&mut self, operation: &Operation) -> Result<Sandbox, Failure> {
        let key = (self.sandbox_id(operation)?, is_proxied(operation)?);
        if let Some(handle) = self.handles.get(&key) {
            return Ok(handle.clone());
        }
        let handle = self.client(operation)?.attach(key.0.clone())?;
        self.handles.insert(key, handle.clone());
        Ok(handle)
    }

    pub fn keep_sandbox(&mut self, label: String, sandbox: Sandbox) {
        self.sandboxes.insert(label, sandbox.id().to_owned());
        self.handles.insert((sandbox.id().to_owned(), false), sandbox);
    }

    /// The server's id of the command that the operation names, by its label or as it is.
    pub fn command_id(&self, operation: &Operation) -> Result<String, Failure> {
        if let Some(id) = operation.find("command_id")? {
            return Ok(id);
        }
        let label: String = operation.need("command")?;
        self.commands.get(&label).cloned().ok_or(Failure::Unlabelled)
    }

    pub fn keep_command(&mut self, operation: &Operation, id: Option<String>) -> Result<(), Failure> {
        if let (Some(label), Some(id)) = (operation.find("as")?, id) {
            self.commands.insert(label, id);
        }
        Ok(())
    }

    /// Leaves nothing on the server.
    pub async fn kill_all(&self) {
        for id in self.sandboxes.values() {
            let _: Result<(), Error> = self.direct.kill(id).await;
        }
    }
}

fn is_proxied(operation: &Operation) -> Result<bool, Failure> {
    Ok(operation.find::<String>("via")?.is_some_and(|route| route == "proxy"))
}
