//! The command line as a client of the public API.

use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::server::{LOCAL_ACCESS, LocalAccess, Ready};
use crate::wiring::WiringError;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Speaks GraphQL to one server.
pub(super) struct Client {
    http: reqwest::Client,
    /// Base URL.
    pub url: String,
    /// API key or session token.
    pub token: String,
    /// Slug of the agent that the demo runs.
    pub demo_agent: String,
}

impl Client {
    /// For the server that uses this data directory on this machine.
    pub fn local(data_dir: &Path) -> Result<Self, WiringError> {
        infra::http::install_crypto_provider();
        let path = data_dir.join(LOCAL_ACCESS);
        let text = std::fs::read(&path).map_err(|error| {
            format!(
                "{}: {error}. Is a server running with this data directory? Start it with vitrine serve",
                path.display()
            )
        })?;
        let access: LocalAccess = serde_json::from_slice(&text)?;
        let http = infra::http::client(TIMEOUT)?;
        Ok(Self { http, url: access.url, token: access.token, demo_agent: access.demo_agent })
    }

    /// For the server that wrote this ready file; without an API key in it, the data directory's token is used.
    pub fn from_ready_file(ready_file: &Path, data_dir: &Path) -> Result<Self, WiringError> {
        let ready: Ready = serde_json::from_slice(&super::tools::read(ready_file)?)
            .map_err(|error| format!("{} is no ready file: {error}", ready_file.display()))?;
        let key = ready.api_key.or_else(|| crate::config::environment().remove("VITRINE_API_KEY"));
        match key {
            None => Ok(Self { url: ready.url, ..Self::local(data_dir)? }),
            Some(token) => {
                infra::http::install_crypto_provider();
                // A server elsewhere keeps its data directory to itself; it has the agent of the scripted model.
                let local = Self::local(data_dir).map(|client| client.demo_agent);
                let demo_agent = local.unwrap_or_else(|_| crate::scripted_model::demo::AGENT.to_owned());
                Ok(Self { http: infra::http::client(TIMEOUT)?, url: ready.url, token, demo_agent })
            }
        }
    }

    /// Runs a query or mutation and reads its `data`.
    pub async fn execute<T: DeserializeOwned>(&self, query: &str, variables: Value) -> Result<T, WiringError> {
        let response = self
            .http
            .post(format!("{}/graphql", self.url))
            .bearer_auth(&self.token)
            .json(&json!({ "query": query, "variables": variables }))
            .send()
            .await?;
        let mut answer: Value = response.json().await?;
        if let Some(error) = answer.pointer("/errors/0/message").and_then(Value::as_str) {
            return Err(format!("the server answered: {error}").into());
        }
        Ok(serde_json::from_value(answer["data"].take())?)
    }

    /// The first project that the caller has a role in.
    pub async fn default_project(&self) -> Result<String, WiringError> {
        let found: Value = self.execute("{ viewer { defaultProject { id } } }", json!({})).await?;
        let project = found.pointer("/viewer/defaultProject/id").and_then(Value::as_str);
        project.map(str::to_owned).ok_or_else(|| "you have no project on this server".into())
    }

    /// A link that signs a browser in and opens a page.
    pub async fn studio_link(&self, next: &str) -> Result<String, WiringError> {
        let response = self.http.post(format!("{}/studio/link", self.url)).bearer_auth(&self.token).send().await?;
        if !response.status().is_success() {
            return Err(format!("the server gives no link: {}", response.status()).into());
        }
        let path = response.text().await?;
        let next = if next == "/" { String::new() } else { format!("&next={next}") };
        Ok(format!("{}{}{next}", self.url, path.trim()))
    }
}
