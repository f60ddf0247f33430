//! Shapes of the Lifecycle API on the wire. Unknown members are ignored, absent ones are never written as null.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::egress::PolicyView;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateRequest {
    pub image: Option<Image>,
    pub snapshot_id: Option<String>,
    pub template_id: Option<String>,
    pub entrypoint: Option<Vec<String>>,
    pub resource_limits: Option<BTreeMap<String, String>>,
    pub timeout: Option<i64>,
    pub env: Option<BTreeMap<String, Option<String>>>,
    pub metadata: Option<BTreeMap<String, String>>,
    pub network_policy: Option<PolicyView>,
    pub credential_proxy: Option<Switch>,
    pub secure_access: Option<bool>,
    pub volumes: Option<Vec<Value>>,
    pub platform: Option<Platform>,
    pub extensions: Option<BTreeMap<String, String>>,
    pub lifecycle: Option<Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Image {
    pub uri: String,
}

#[derive(Debug, Deserialize)]
pub struct Switch {
    pub enabled: Option<bool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Platform {
    pub os: String,
    pub arch: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxView {
    pub id: String,
    pub status: Status,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    pub extensions: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    pub created_at: String,
    pub entrypoint: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub state: &'static str,
    pub reason: &'static str,
    pub message: &'static str,
    pub last_transition_at: String,
}

#[derive(Debug, Serialize)]
pub struct ListView {
    pub items: Vec<SandboxView>,
    pub pagination: Pagination,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    pub page: usize,
    pub page_size: usize,
    pub total_items: usize,
    pub total_pages: usize,
    pub has_next_page: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewRequest {
    pub expires_at: String,
}

#[derive(Debug, Serialize)]
pub struct Endpoint {
    pub endpoint: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<&'static str, String>,
}
