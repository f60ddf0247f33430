//! The words of the Lifecycle API: what a sandbox is asked to be and what the server says it is.
//!
//! Rule: only the members in use are read; unknown members, states and reasons are let through.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::error::Error;
use super::network_policy::NetworkPolicy;
use super::transport::Shape;

/// The metadata key that holds our own id of a sandbox.
pub const LABEL_KEY: &str = "vitrine.sandbox";
const MIN_TTL: Duration = Duration::from_secs(60);
const MAX_LABEL_BYTES: usize = 63;
const MAX_REASON_CHARS: usize = 128;

/// Our own id of a sandbox, chosen before the create and written into the sandbox's metadata, so that the sandbox
/// can be found when the create's answer was lost.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SandboxLabel(String);

impl SandboxLabel {
    /// 1 to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        if text.is_empty() || !is_label_value(&text) {
            return Err(Error::invalid("sandbox label is not a valid metadata value"));
        }
        Ok(Self(text))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A user name and password for the registry of an image. Its `Debug` shows neither.
#[derive(Clone)]
pub struct RegistryLogin {
    /// The user name.
    pub username: SecretString,
    /// The password or token.
    pub password: SecretString,
}

/// What a new sandbox shall be. Its `Debug` shows names of variables, not their values.
#[derive(Clone)]
pub struct CreateSandbox {
    /// Our own id.
    pub label: SandboxLabel,
    /// The image's name in the server's catalogue or registry.
    pub image: String,
    /// For a private registry.
    pub registry_login: Option<RegistryLogin>,
    /// The main process; when it ends, so does the sandbox.
    pub entrypoint: Vec<String>,
    /// `cpu`, `memory` and so on, in Kubernetes notation.
    pub resource_limits: BTreeMap<String, String>,
    /// When the server destroys it by itself: at least a minute. `None` never.
    pub time_to_live: Option<Duration>,
    /// Environment of every process in it.
    pub env: BTreeMap<String, String>,
    /// Further metadata, under Kubernetes' rules for labels.
    pub metadata: BTreeMap<String, String>,
    /// Extensions of the server. They can widen a sandbox: never pass a user's through.
    pub extensions: BTreeMap<String, String>,
    /// Which hosts may be reached. `None` leaves the network open, so a closed network is a policy, too.
    pub network_policy: Option<NetworkPolicy>,
    /// Asks for a token without which nobody reaches the sandbox, for a server that others use as well. Its endpoints
    /// are refused without that token.
    pub secure_access: bool,
}

impl fmt::Debug for CreateSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateSandbox")
            .field("label", &self.label)
            .field("image", &self.image)
            .field("resource_limits", &self.resource_limits)
            .field("time_to_live", &self.time_to_live)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("network_policy", &self.network_policy)
            .field("secure_access", &self.secure_access)
            .finish_non_exhaustive()
    }
}

impl CreateSandbox {
    /// A sandbox that idles until it is killed.
    #[must_use]
    pub fn new(label: SandboxLabel, image: impl Into<String>) -> Self {
        Self {
            label,
            image: image.into(),
            registry_login: None,
            entrypoint: ["tail", "-f", "/dev/null"].map(str::to_owned).to_vec(),
            resource_limits: BTreeMap::new(),
            time_to_live: None,
            env: BTreeMap::new(),
            metadata: BTreeMap::new(),
            extensions: BTreeMap::new(),
            network_policy: None,
            secure_access: false,
        }
    }

    /// The request body, when the server could accept it.
    pub(super) fn to_json(&self) -> Result<Value, Error> {
        self.check()?;
        let mut metadata = self.metadata.clone();
        metadata.insert(LABEL_KEY.to_owned(), self.label.0.clone());
        let mut image = json!({ "uri": self.image });
        if let Some(login) = &self.registry_login {
            image["auth"] =
                json!({ "username": login.username.expose_secret(), "password": login.password.expose_secret() });
        }
        let mut body = json!({
            "image": image,
            "entrypoint": self.entrypoint,
            "resourceLimits": self.resource_limits,
            "metadata": metadata,
        });
        if let Some(time_to_live) = self.time_to_live {
            body["timeout"] = time_to_live.as_secs().into();
        }
        if !self.env.is_empty() {
            body["env"] = json!(self.env);
        }
        if !self.extensions.is_empty() {
            body["extensions"] = json!(self.extensions);
        }
        if let Some(policy) = &self.network_policy {
            body["networkPolicy"] = policy.to_json()?;
        }
        if self.secure_access {
            body["secureAccess"] = true.into();
        }
        Ok(body)
    }

    /// What of it must not be shown.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let login = self.registry_login.iter().flat_map(|login| [&login.username, &login.password]);
        login.map(ExposeSecret::expose_secret).chain(self.env.values().map(String::as_str))
    }

    fn check(&self) -> Result<(), Error> {
        if self.image.trim().is_empty() || self.entrypoint.is_empty() {
            return Err(Error::invalid("image and entrypoint are needed"));
        }
        // A server splits it like a shell would, and starts another program than was asked for.
        if matches!(self.entrypoint.as_slice(), [only] if only.contains(char::is_whitespace)) {
            return Err(Error::invalid(
                "an entrypoint of one element cannot hold spaces; give its arguments one by one",
            ));
        }
        if self.time_to_live.is_some_and(|time_to_live| time_to_live < MIN_TTL) {
            return Err(Error::invalid("time to live is below a minute"));
        }
        match self.metadata.iter().find(|(key, value)| !is_label_key(key) || !is_label_value(value)) {
            Some((key, _)) => Err(Error::invalid(format!("metadata {key:?} is not a valid label"))),
            None => Ok(()),
        }
    }
}

fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = prefix.is_none_or(|prefix| {
        let is_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        (1..=253).contains(&prefix.len()) && prefix != "opensandbox.io" && prefix.bytes().all(is_byte)
    });
    is_prefix && !name.is_empty() && name != LABEL_KEY && is_label_value(name)
}

fn is_label_value(value: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_end = |c: char| c.is_ascii_alphanumeric();
    value.len() <= MAX_LABEL_BYTES
        && value.bytes().all(is_inner)
        && (value.is_empty() || (value.starts_with(is_end) && value.ends_with(is_end)))
}

/// Where a sandbox is in its life, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxState {
    /// Being made.
    Pending,
    /// Usable.
    Running,
    /// On its way to `Paused`.
    Pausing,
    /// Its processes stand still.
    Paused,
    /// On its way back to `Running`.
    Resuming,
    /// Being destroyed.
    Stopping,
    /// Its main process has ended well.
    Terminated,
    /// Its main process has ended badly, or it could not be made.
    Failed,
    /// A state that this client does not know. Not an end.
    Other(String),
}

impl SandboxState {
    fn parse(text: &str) -> Self {
        match text {
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Pausing" => Self::Pausing,
            "Paused" => Self::Paused,
            "Resuming" => Self::Resuming,
            "Stopping" => Self::Stopping,
            "Terminated" => Self::Terminated,
            "Failed" => Self::Failed,
            other => Self::Other(other.chars().take(64).collect()),
        }
    }

    /// Whether nothing of it can run any more.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminated | Self::Failed)
    }
}

/// What the server says about a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxInfo {
    /// The server's id.
    pub id: String,
    /// Where it is in its life.
    pub state: SandboxState,
    /// Why, as one of the server's words.
    pub reason: Option<String>,
    /// When the server will destroy it; `None` never.
    pub expires_at: Option<OffsetDateTime>,
    /// When it was made.
    pub created_at: Option<OffsetDateTime>,
    /// Its metadata, our label included.
    pub metadata: BTreeMap<String, String>,
    /// Extensions that the server tells about.
    pub extensions: BTreeMap<String, String>,
}

impl SandboxInfo {
    /// Whether it carries `label`.
    #[must_use]
    pub fn has_label(&self, label: &SandboxLabel) -> bool {
        self.metadata.get(LABEL_KEY).is_some_and(|value| *value == label.0)
    }
}

/// Which sandboxes to list.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    /// Any of these states, in the server's words; empty for all.
    pub states: Vec<String>,
    /// All of these metadata.
    pub metadata: BTreeMap<String, String>,
}

/// One page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxPage {
    /// The sandboxes.
    pub items: Vec<SandboxInfo>,
    /// Whether there is a further page.
    pub has_next_page: bool,
}

#[derive(Deserialize)]
struct RawStatus {
    state: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawSandbox {
    id: String,
    status: RawStatus,
    expires_at: Option<String>,
    created_at: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    extensions: Option<BTreeMap<String, String>>,
}

impl Shape for RawSandbox {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "status",
        "expiresAt",
        "createdAt",
        "metadata",
        "extensions",
        "image",
        "snapshotId",
        "platform",
        "entrypoint",
        "allocation",
        "templateId",
        "resourceLimits",
        "resourceRequests",
    ];
}

impl RawSandbox {
    pub fn check(self) -> Result<SandboxInfo, Error> {
        Ok(SandboxInfo {
            id: check_id(self.id)?,
            state: SandboxState::parse(&self.status.state),
            reason: self.status.reason.map(|reason| reason.chars().take(MAX_REASON_CHARS).collect()),
            expires_at: self.expires_at.as_deref().map(parse_time).transpose()?,
            created_at: self.created_at.as_deref().and_then(|text| parse_time(text).ok()),
            metadata: self.metadata.unwrap_or_default(),
            extensions: self.extensions.unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPagination {
    has_next_page: bool,
}

#[derive(Deserialize)]
pub(super) struct RawPage {
    items: Vec<RawSandbox>,
    pagination: Option<RawPagination>,
}

impl RawPage {
    pub fn check(self) -> Result<SandboxPage, Error> {
        Ok(SandboxPage {
            items: self.items.into_iter().map(RawSandbox::check).collect::<Result<_, _>>()?,
            has_next_page: self.pagination.is_some_and(|pagination| pagination.has_next_page),
        })
    }
}

/// An id becomes a part of a path, so it may hold only what is harmless there.
pub(super) fn check_id(id: String) -> Result<String, Error> {
    let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if id.is_empty() || id.len() > 128 || !id.bytes().all(is_byte) || id.starts_with('.') {
        return Err(Error::protocol("id has characters that no id needs"));
    }
    Ok(id)
}

/// RFC 3339 with any offset and any number of decimals.
pub(super) fn parse_time(text: &str) -> Result<OffsetDateTime, Error> {
    OffsetDateTime::parse(text, &Rfc3339).map_err(|_| Error::protocol("time is not RFC 3339"))
}

pub(super) fn format_time(at: OffsetDateTime) -> Result<String, Error> {
    at.to_offset(time::UtcOffset::UTC).format(&Rfc3339).map_err(|_| Error::invalid("time cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_labels_before_the_server_does() {
        for bad in ["", "a b", "-a", "a-", "ä", &"x".repeat(64)] {
            assert!(SandboxLabel::new(bad).is_err(), "{bad}");
        }
        let mut create = CreateSandbox::new(SandboxLabel::new("sbx-1").unwrap(), "vitrine/code");
        for (key, value, is_good) in [
            ("example.com/a", "", true),
            ("a", "b c", false),
            ("opensandbox.io/a", "b", false),
            (LABEL_KEY, "other", false),
            ("/a", "b", false),
        ] {
            create.metadata = BTreeMap::from([(key.to_owned(), value.to_owned())]);
            assert_eq!(create.to_json().is_ok(), is_good, "{key}={value}");
        }
    }

    #[test]
    fn writes_only_what_was_asked_for() {
        let mut create = CreateSandbox::new(SandboxLabel::new("sbx-1").unwrap(), "vitrine/code");
        let expected = json!({
            "image": {"uri": "vitrine/code"},
            "entrypoint": ["tail", "-f", "/dev/null"],
            "resourceLimits": {},
            "metadata": {"vitrine.sandbox": "sbx-1"},
        });
        assert_eq!(create.to_json().unwrap(), expected);
        create.time_to_live = Some(Duration::from_secs(59));
        assert_eq!(create.to_json().unwrap_err().code(), "request_invalid");
        create.env.insert("TOKEN".into(), "hunter2".into());
        assert!(!format!("{create:?}").contains("hunter2"));
    }

    #[test]
    fn refuses_an_entrypoint_that_a_server_would_split_w36() {
        let mut create = CreateSandbox::new(SandboxLabel::new("sbx-1").unwrap(), "vitrine/code");
        create.entrypoint = vec!["sleep infinity".into()];
        assert_eq!(create.to_json().unwrap_err().code(), "request_invalid");
        create.entrypoint = vec!["sleep".into(), "infinity and more".into()];
        assert!(create.to_json().is_ok());
    }

    #[test]
    fn reads_states_and_times_of_all_servers() {
        let info = |json: &str| serde_json::from_str::<RawSandbox>(json).unwrap().check();
        let allocated = info(
            r#"{"id":"a","status":{"state":"Allocated","new":1},"createdAt":"2026-01-02T03:04:05.123456789+02:00","x":[]}"#,
        )
        .unwrap();
        assert_eq!(allocated.state, SandboxState::Other("Allocated".into()));
        assert!(!allocated.state.is_terminal());
        assert_eq!(allocated.created_at.unwrap().nanosecond(), 123_456_789);
        assert_eq!(info(r#"{"id":"../a","status":{"state":"Running"}}"#).unwrap_err().code(), "protocol_unsupported");
    }
}
