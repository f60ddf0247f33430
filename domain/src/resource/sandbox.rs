//! A SandboxConnection is a server that runs sandboxes; a SandboxProfile says what a sandbox is and what it may reach.
//!
//! Members that came later have a default that stands for what was true before, so that every stored version can be read.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::ids::ResourceId;

/// Where a sandbox connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SandboxTier {
    /// The local runtime of this installation.
    Local,
    /// An OpenSandbox server elsewhere.
    Remote,
}

/// How the programs of a sandbox's server are reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SandboxRoute {
    /// At the address of the sandbox itself.
    #[default]
    Direct,
    /// Through the gateway of a cluster.
    Gateway,
    /// Through the lifecycle server.
    ServerProxy,
}

impl SandboxRoute {
    /// Whether nothing was said about it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the operator declares that a server runs sandboxes with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SecureRuntime {
    /// Containers on the host's kernel.
    #[default]
    Runc,
    /// gVisor, a kernel in user space. The egress sidecar cannot run in it.
    Gvisor,
    /// Kata, a virtual machine for each sandbox.
    Kata,
}

impl SecureRuntime {
    /// Whether nothing was said about it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What keeps the programs of a server's sandboxes from the network, as its operator attests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EgressEnforcement {
    /// A sidecar in each sandbox, which follows a policy of host names.
    Sidecar,
    /// One rule of the cluster's network for all sandboxes: the public network is open, private and metadata ranges are
    /// closed. It knows no host names.
    Cni,
}

/// An OpenSandbox server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxConnectionSpec {
    /// Local or remote. The local tier's address and key are the running process's own.
    pub tier: SandboxTier,
    /// Base URL of the Lifecycle API; `local:` for the local tier.
    pub base_url: String,
    /// The credential that is sent as `OPEN-SANDBOX-API-KEY`.
    pub credential_id: Option<ResourceId>,
    /// Allows plain HTTP beyond loopback; shown as a warning.
    pub allow_plaintext: bool,
    /// Further hosts that an endpoint may name; `*.` at the start matches subdomains.
    pub endpoint_hosts: Vec<String>,
    /// Ports that an endpoint may have beside the server's own address: each a number, or a range such as `40000-60000`.
    /// Any port when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoint_ports: Vec<String>,
    /// With which of these an endpoint's path must begin, in whole segments. Any path when there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoint_paths: Vec<String>,
    /// How its sandboxes are reached.
    #[serde(default, skip_serializing_if = "SandboxRoute::is_default")]
    pub route: SandboxRoute,
    /// Whether each sandbox gets a key of its own, which its endpoint then requires. For servers that others use too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secure_access: bool,
    /// What it runs sandboxes with.
    #[serde(default, skip_serializing_if = "SecureRuntime::is_default")]
    pub secure_runtime: SecureRuntime,
    /// What keeps its sandboxes from the network. A remote server without a word here runs nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<EgressEnforcement>,
}

/// The ports that an entry of [`SandboxConnectionSpec::endpoint_ports`] names; None when it names none.
pub fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |digits: &str| {
        let is_plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let ports = port(first)?..=port(last)?;
    (!ports.is_empty()).then_some(ports)
}

/// Something about a connection that its operator allowed and whoever uses it must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionWarning {
    /// Stable code.
    pub code: &'static str,
    /// What it means, and how to be rid of it.
    pub message: &'static str,
}

impl SandboxConnectionSpec {
    /// What whoever uses it must see.
    pub fn warnings(&self) -> Vec<ConnectionWarning> {
        let is_remote = self.tier == SandboxTier::Remote;
        let warnings = [
            (
                self.allow_plaintext,
                "PLAINTEXT_ALLOWED",
                "Keys, programs and their output may cross the network in the clear. Give the server TLS and set allowPlaintext to false.",
            ),
            (
                is_remote && !self.secure_access,
                "SECURE_ACCESS_OFF",
                "A sandbox may reach the command interface of another sandbox of this server. On a server that others use too, set secureAccess.",
            ),
            (
                is_remote && self.egress == Some(EgressEnforcement::Cni),
                "EGRESS_BY_CLUSTER",
                "Egress is one rule for all sandboxes of the cluster and knows no host names. Choose a server with the egress sidecar for networks NONE and HOSTS.",
            ),
        ];
        let given = warnings.into_iter().filter(|(is_given, ..)| *is_given);
        given.map(|(_, code, message)| ConnectionWarning { code, message }).collect()
    }
}

/// What a sandbox may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SandboxNetwork {
    /// Nothing.
    None,
    /// The hosts that are listed, and nothing else.
    Hosts,
    /// The public network; private, metadata and cluster ranges are closed.
    Public,
}

/// A credential that programs of a sandbox may use, for the time of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxCredential {
    /// The credential.
    pub credential_id: ResourceId,
    /// Name of its file; the variable `<name>_FILE` holds the file's path.
    pub name: String,
    /// Seconds after which the file is removed, also when the call still runs.
    pub ttl_seconds: u32,
}

impl SandboxCredential {
    /// The variable that holds the path of its file.
    pub fn variable(&self) -> String {
        format!("{}_FILE", self.name)
    }
}

/// Image, limits, network and lifetime of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxProfileSpec {
    /// The server that runs it.
    pub connection_id: ResourceId,
    /// Image name.
    pub image: String,
    /// Thousandths of a processor.
    pub cpu_millis: u32,
    /// Memory of all processes together. A runtime that keeps the workspace in memory bounds both as one sum.
    pub memory_bytes: u64,
    /// Size of `/workspace`.
    pub disk_bytes: u64,
    /// Processes at one time.
    pub pids: u32,
    /// Seconds after which the sandbox is removed, whatever it does.
    pub ttl_seconds: u32,
    /// Seconds without a tool call after which it is removed; None for no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ttl_seconds: Option<u32>,
    /// What it may reach.
    pub network: SandboxNetwork,
    /// The hosts of [`SandboxNetwork::Hosts`]; `*.` at the start matches every name below, and not the name itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_hosts: Vec<String>,
    /// Name or number of the user that programs run as; None for the image's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Variables that every program gets. They are no place for secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Credentials that every program gets as files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<SandboxCredential>,
    /// Time limit of one command.
    pub command_timeout_ms: u32,
}

impl SandboxProfileSpec {
    /// The resources that it names.
    pub fn uses(&self) -> impl Iterator<Item = ResourceId> + '_ {
        let credentials = self.credentials.iter().map(|named| named.credential_id);
        std::iter::once(self.connection_id).chain(credentials)
    }
}
