//! An Operation is one call of the list, with its arguments.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::answer::Failure;

/// Everything that a driver is told.
#[derive(Deserialize)]
pub struct Plan {
    pub url: String,
    pub api_key: String,
    pub image: String,
    pub client: String,
    pub operations: Vec<Operation>,
}

/// One call and its arguments.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Operation(Map<String, Value>);

impl Operation {
    pub fn name(&self) -> &str {
        self.0.get("name").and_then(Value::as_str).unwrap_or("unnamed")
    }

    pub fn call(&self) -> &str {
        self.0.get("call").and_then(Value::as_str).unwrap_or_default()
    }

    /// An argument that may be missing.
    pub fn find<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        serde_json::from_value(value.clone()).map(Some).map_err(|error| Failure::Plan(format!("{name}: {error}")))
    }

    /// An argument that must be there.
    pub fn need<T: DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        self.find(name)?.ok_or_else(|| Failure::Plan(format!("{name} is missing")))
    }

    pub fn map(&self, name: &str) -> Result<BTreeMap<String, String>, Failure> {
        Ok(self.find(name)?.unwrap_or_default())
    }

    pub fn milliseconds(&self, name: &str) -> Result<Option<Duration>, Failure> {
        Ok(self.find(name)?.map(Duration::from_millis))
    }

    /// Refuses an operation with an argument that this client does not have.
    pub fn refuse(&self, arguments: &[&str]) -> Result<(), Failure> {
        match arguments.iter().find(|name| self.0.contains_key(**name)) {
            Some(name) => Err(Failure::Unsupported(format!("{}.{name}", self.call()))),
            None => Ok(()),
        }
    }
}
