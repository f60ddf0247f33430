//! A Connection is one OpenSandbox server and what this client may do with it.
//!
//! Rule: every address that a server names is checked against the connection that asked for it. Nothing is read from
//! the environment, and no proxy but the server's own is used.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::error::Error;
use super::output::OutputWire;

/// How long to wait for what.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// For a TCP and TLS connection.
    pub connect: Duration,
    /// Without a byte in either direction while one is due: the head of an answer, the rest of a body.
    pub idle: Duration,
    /// For a whole ordinary call, its repetitions included.
    pub request: Duration,
    /// For a create, which may pull an image.
    pub create: Duration,
    /// For a whole upload or download.
    pub transfer: Duration,
    /// Without a frame on a command's stream before the command's status is asked. The server sends one every 3 s.
    pub silence: Duration,
    /// For a command to end after it was interrupted. The server itself takes up to 3 s from the first signal to the last.
    pub interrupt_grace: Duration,
    /// How long to read on after a command's terminal event for output that was sent late. The server holds the
    /// connection open for a second without a reason, so the end of the body is never waited for.
    pub tail: Duration,
    /// For a killed sandbox to be gone.
    pub destroy: Duration,
    /// For a sandbox to be seen paused or resumed.
    pub pause: Duration,
    /// For a server that is away to come back while a background command is followed.
    pub away: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            idle: Duration::from_secs(15),
            request: Duration::from_secs(30),
            create: Duration::from_secs(300),
            transfer: Duration::from_secs(3600),
            silence: Duration::from_secs(15),
            interrupt_grace: Duration::from_secs(6),
            tail: Duration::ZERO,
            destroy: Duration::from_secs(30),
            pause: Duration::from_secs(120),
            away: Duration::from_secs(120),
        }
    }
}

/// Whether plain HTTP may leave the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plaintext {
    /// Only to loopback.
    #[default]
    LoopbackOnly,
    /// To every allowed host: keys and code are readable on the way.
    Allowed,
}

/// How execd inside a sandbox is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Route {
    /// At the address that the server names; the API key is not sent there.
    #[default]
    Direct,
    /// At an address of the server's gateway, which must name the sandbox and the port in one of the three ways that
    /// gateways have: first label of the host, last segments of the path, or a header. The API key is not sent there.
    Gateway,
    /// Through the Lifecycle server, which needs the API key.
    ServerProxy,
}

/// Whether others use the server, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Nobody else.
    #[default]
    Own,
    /// Others as well: each create asks for secure access, and no endpoint is used without its token.
    Shared,
}

/// What the server is known to run sandboxes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Containers, virtual machines, or nobody knows.
    #[default]
    Unknown,
    /// gVisor, in which the servers' network policies do not hold: a create with one is refused.
    Gvisor,
}

/// One OpenSandbox server.
#[derive(Clone)]
pub struct Connection {
    /// `http(s)://host[:port][/prefix]`, with or without a final `/v1`.
    pub base_url: Url,
    /// Sent to this server only. Empty for a server without a key.
    pub api_key: SecretString,
    /// Further hosts that endpoints may have: exact names, or `*.name` for every name below it.
    pub endpoint_hosts: Vec<String>,
    /// Which ports endpoints may have beside the server's own address; any port when there is none.
    pub endpoint_ports: Vec<RangeInclusive<u16>>,
    /// With which of these an endpoint's path must begin; any plain path will do when there is none.
    pub endpoint_paths: Vec<String>,
    /// Whether plain HTTP may leave the machine.
    pub plaintext: Plaintext,
    /// Whether others use the server, too.
    pub sharing: Sharing,
    /// What the server runs sandboxes in.
    pub isolation: Isolation,
    /// How execd is reached.
    pub route: Route,
    /// How this server's commands send output, when that is known beforehand; otherwise each sandbox is probed once.
    pub output_wire: Option<OutputWire>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("base_url", &self.base_url.origin().ascii_serialization())
            .field("endpoint_hosts", &self.endpoint_hosts)
            .field("plaintext", &self.plaintext)
            .field("route", &self.route)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection with default settings.
    #[must_use]
    pub fn new(base_url: Url, api_key: SecretString) -> Self {
        Self {
            base_url,
            api_key,
            endpoint_hosts: Vec::new(),
            endpoint_ports: Vec::new(),
            endpoint_paths: Vec::new(),
            sharing: Sharing::default(),
            isolation: Isolation::default(),
            plaintext: Plaintext::default(),
            route: Route::default(),
            output_wire: None,
            timeouts: Timeouts::default(),
        }
    }

    /// Whether keys, code and output leave the machine unencrypted, which an operator must be warned of.
    #[must_use]
    pub fn is_readable_on_the_way(&self) -> bool {
        self.base_url.scheme() == "http"
            && (self.base_url.host().is_some_and(|host| !is_loopback(&host)) || self.plaintext == Plaintext::Allowed)
    }

    /// Refuses settings with which no call could be safe.
    pub(super) fn check(&self) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::ConnectionInvalid(why.to_owned()));
        let url = &self.base_url;
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("base_url is neither http nor https");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("base_url has user information");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("base_url has a query or fragment");
        }
        if http::HeaderValue::from_str(self.api_key.expose_secret()).is_err() {
            return refuse("api_key has characters that no header can hold");
        }
        if let Some(pattern) = self.endpoint_hosts.iter().find(|pattern| !is_host_pattern(pattern)) {
            return Err(Error::ConnectionInvalid(format!("endpoint host {pattern:?} is not `name` or `*.name`")));
        }
        if self.endpoint_ports.iter().any(|ports| ports.is_empty() || *ports.start() == 0) {
            return refuse("an entry of endpoint_ports is not a range within 1 to 65535");
        }
        if self.endpoint_paths.iter().any(|path| !path.starts_with('/')) {
            return refuse("an entry of endpoint_paths does not begin with `/`");
        }
        let Some(host) = url.host() else { return refuse("base_url has no host") };
        self.check_plaintext(&host)
    }

    /// Refuses plain HTTP to `host` unless it is loopback or allowed.
    pub(super) fn check_plaintext(&self, host: &Host<&str>) -> Result<(), Error> {
        if self.base_url.scheme() == "https" || self.plaintext == Plaintext::Allowed || is_loopback(host) {
            return Ok(());
        }
        Err(Error::PlaintextRefused { host: host.to_string() })
    }

    /// Whether an endpoint may have this host.
    pub(super) fn is_allowed(&self, host: &Host<&str>) -> bool {
        let name = host.to_string().to_ascii_lowercase();
        let own = self.base_url.host();
        if own.as_ref().is_some_and(|own| own.to_string().eq_ignore_ascii_case(&name)) {
            return true;
        }
        if is_loopback(host) {
            return own.as_ref().is_some_and(is_loopback);
        }
        if is_never_an_endpoint(host) {
            return false;
        }
        self.endpoint_hosts.iter().any(|pattern| matches_pattern(&pattern.to_ascii_lowercase(), &name))
    }

    /// Whether the endpoint with this address may have its port.
    pub(super) fn has_allowed_port(&self, url: &Url) -> bool {
        self.endpoint_ports.is_empty()
            || self.is_own_origin(url)
            || url
                .port_or_known_default()
                .is_some_and(|port| self.endpoint_ports.iter().any(|ports| ports.contains(&port)))
    }

    /// Whether `url` is the server's own origin, the only one that may see the API key.
    pub(super) fn is_own_origin(&self, url: &Url) -> bool {
        url.origin() == self.base_url.origin()
    }

    /// `{base}/version`, beside the version of the API.
    pub(super) fn version_url(&self) -> Result<Url, Error> {
        let mut url = self.base_url.clone();
        let has_version = url.path().trim_end_matches('/').ends_with("/v1");
        {
            let refused = |()| Error::ConnectionInvalid("base_url cannot have a path".into());
            let mut path = url.path_segments_mut().map_err(refused)?;
            path.pop_if_empty();
            if has_version {
                path.pop();
            }
            path.push("version");
        }
        Ok(url)
    }

    /// `{base}/v1/{segments}`.
    pub(super) fn lifecycle_url(&self, segments: &[&str]) -> Result<Url, Error> {
        let mut url = self.base_url.clone();
        let has_version = url.path().trim_end_matches('/').ends_with("/v1");
        url.path_segments_mut()
            .map_err(|()| Error::ConnectionInvalid("base_url cannot have a path".into()))?
            .pop_if_empty()
            .extend((!has_version).then_some("v1"))
            .extend(segments);
        Ok(url)
    }
}

pub(super) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.eq_ignore_ascii_case("localhost"),
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

fn is_never_an_endpoint(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => name.eq_ignore_ascii_case("metadata.google.internal"),
        Host::Ipv4(ip) => is_closed_address((*ip).into()),
        Host::Ipv6(ip) => is_closed_address((*ip).into()) || ip.to_canonical().is_loopback(),
    }
}

/// Addresses where metadata services, neighbours or everybody listen, and no sandbox does.
pub(super) fn is_closed_address(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            ip.is_link_local()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_broadcast()
                || ip.octets() == [100, 100, 100, 200]
        }
        IpAddr::V6(ip) => {
            ip.is_unicast_link_local()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254]
        }
    }
}

fn is_host_pattern(pattern: &str) -> bool {
    let name = pattern.strip_prefix("*.").unwrap_or(pattern);
    !name.contains('*') && Host::parse(name).is_ok()
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        // The dot stays: `*.example.com` covers neither `example.com` nor `badexample.com`.
        Some(suffix) => name.len() > suffix.len() && name.ends_with(suffix),
        None => pattern == name,
    }
}
