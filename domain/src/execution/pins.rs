//! Pins are the versions that an execution uses: fixed at its start, whatever is published later.

use serde::{Deserialize, Serialize};

use crate::ids::VersionId;
use crate::resource::PriceVersion;

/// The versions that an execution uses, whatever is published later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pins {
    /// Of the agent.
    pub agent: VersionId,
    /// Of its model.
    pub model: VersionId,
    /// Of the model's credential.
    pub model_credential: Option<VersionId>,
    /// Of the models that are asked when that one fails, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelPin>,
    /// Of the sandbox profile.
    pub profile: Option<VersionId>,
    /// Of the sandbox connection.
    pub connection: Option<VersionId>,
    /// Of the connection's credential.
    pub connection_credential: Option<VersionId>,
    /// The price that was in force for a model which carries none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceVersion>,
}

impl Pins {
    /// All models, in the order in which they are asked.
    pub fn models(&self) -> Vec<ModelPin> {
        let own = ModelPin { model: self.model, credential: self.model_credential, price: self.price };
        std::iter::once(own).chain(self.fallbacks.iter().copied()).collect()
    }
}

/// A model and its credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPin {
    /// Version of the model.
    pub model: VersionId,
    /// Version of its credential.
    pub credential: Option<VersionId>,
    /// The price that was in force for it, when it carries none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceVersion>,
}
