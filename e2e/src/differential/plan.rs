//! A Plan is what a driver is told: the server, and the operations in the order in which it performs them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Result;

/// A server that speaks OpenSandbox.
#[derive(Debug, Clone)]
pub struct Server {
    /// `http(s)://host[:port]`, without a path.
    pub url: String,
    /// Its API key.
    pub api_key: String,
    /// The image of the sandboxes.
    pub image: String,
}

impl Server {
    /// The host and port, as they stand in the endpoints of a server that is its own proxy.
    pub fn authority(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, authority)| authority)
    }
}

/// Where the drivers and lists are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("differential")
}

/// The checked-in operations, those of `calls` alone when there are any.
pub fn operations(calls: &[&str]) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(folder().join("operations.toml"))?;
    let list: Value = toml::from_str(&text)?;
    let all = list["operation"].as_array().ok_or("operations.toml has no operations")?;
    let is_wanted =
        |operation: &Value| calls.is_empty() || operation["call"].as_str().is_some_and(|call| calls.contains(&call));
    Ok(all.iter().filter(|operation| is_wanted(operation)).cloned().collect())
}

/// What a driver is told. Its sandboxes carry the mark.
pub fn plan(server: &Server, mark: &str, operations: &[Value]) -> Value {
    json!({
        "url": server.url,
        "api_key": server.api_key,
        "image": server.image,
        "client": mark,
        "operations": operations,
    })
}
