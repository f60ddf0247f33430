//! What the server says about itself, and which servers this client speaks with.
//!
//! Rule: a server is asked for its version before its first use, once per client. A version outside [`SUPPORTED`] is
//! refused by name; a server without the route is one of before it had it, which is supported.

use std::fmt;

use http::Method;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::client::Client;
use super::connection::is_loopback;
use super::error::Error;
use super::transport::Shape;

/// The versions and modes that this client was tested with. The table of documented compatibility repeats it.
pub const SUPPORTED: Supported = Supported {
    server: VersionRange {
        from: Version { major: 1, minor: 1, patch: 1 },
        below: Version { major: 1, minor: 2, patch: 0 },
    },
    server_without_version: "0.1.14",
    output_wires: &["kept", "stripped"],
    egress_enforcement: &["dns", "dns+nft"],
    egress_modes: &["allow_all", "deny_all", "enforcing"],
};

/// What this client speaks with.
#[derive(Debug, Clone, Copy)]
pub struct Supported {
    /// Lifecycle servers that say their version.
    pub server: VersionRange,
    /// The newest server that does not say its version.
    pub server_without_version: &'static str,
    /// How commands may send their output: with line terminators, or without.
    pub output_wires: &'static [&'static str],
    /// How a network policy may be enforced.
    pub egress_enforcement: &'static [&'static str],
    /// What a network policy may be summed up as.
    pub egress_modes: &'static [&'static str],
}

/// Versions from one on, and below another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// The first that belongs to it.
    pub from: Version,
    /// The first that does not.
    pub below: Version,
}

impl VersionRange {
    /// Whether it holds `version`.
    #[must_use]
    pub fn contains(&self, version: Version) -> bool {
        self.from <= version && version < self.below
    }
}

/// A version of a server. What follows the three numbers, such as `rc1`, is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl Version {
    /// Reads `1.2.3`, `v1.2.3`, `1.2` and the like.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts = text.splitn(3, '.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse::<u32>().ok()
        });
        let (major, minor) = (parts.next()??, parts.next()??);
        let patch = parts.next().map_or(Some(0), |patch| patch)?;
        Some(Self { major, minor, patch })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What the server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKind {
    /// An OpenSandbox server of this version.
    OpenSandbox(Version),
    /// An OpenSandbox server of before servers said their version.
    Unversioned,
    /// The runtime that belongs to this program.
    Local,
}

#[derive(Deserialize)]
struct RawVersion {
    version: String,
    runtime: Option<String>,
}

impl Shape for RawVersion {
    const MEMBERS: &'static [&'static str] = &["version", "runtime"];
}

impl Client {
    /// What the server says about itself; asked once. Every other call asks it first, but for a get and a kill, which
    /// must work whatever has become of the server.
    pub async fn server_kind(&self) -> Result<&ServerKind, Error> {
        let cell: &OnceCell<ServerKind> = self.kind();
        cell.get_or_try_init(|| self.ask_version()).await
    }

    async fn ask_version(&self) -> Result<ServerKind, Error> {
        let call = self.plain_call(Method::GET, self.connection().version_url()?, None);
        let answer = match self.transport().repeat(&call).await {
            Ok(answer) => answer,
            Err(Error::NotFound(_)) => return Ok(ServerKind::Unversioned),
            Err(error) => return Err(error),
        };
        let raw: RawVersion = answer.object("version of the server", self.unknown())?;
        // Only what runs on this machine can be ours.
        let is_here = self.connection().base_url.host().is_some_and(|host| is_loopback(&host));
        if is_here && raw.runtime.as_deref() == Some("local") {
            return Ok(ServerKind::Local);
        }
        match Version::parse(&raw.version) {
            Some(version) if SUPPORTED.server.contains(version) => Ok(ServerKind::OpenSandbox(version)),
            Some(version) => {
                let VersionRange { from, below } = SUPPORTED.server;
                Err(Error::protocol(format!("server version {version} is not from {from} to below {below}")))
            }
            None => Err(Error::protocol("version of the server is no version")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        let text = |text: &str| Version::parse(text).map(|version| version.to_string());
        for (given, read) in [
            ("1.1.1", "1.1.1"),
            ("v0.1.14", "0.1.14"),
            ("1.2", "1.2.0"),
            ("1.1.1rc2", "1.1.1"),
            ("1.1.1.dev3+g12", "1.1.1"),
            ("1.10.0-beta", "1.10.0"),
        ] {
            assert_eq!(text(given).as_deref(), Some(read), "{given}");
        }
        for bad in ["", "1", "x.y", "1..2", "1.2.x", "-1.2.3", "99999999999.1.1"] {
            assert_eq!(text(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_range_ends_before_its_end() {
        let contains = |text: &str| SUPPORTED.server.contains(Version::parse(text).unwrap());
        assert!(contains("1.1.1") && contains("1.1.99"));
        assert!(!contains("1.1.0") && !contains("1.2.0") && !contains("2.0.0") && !contains("0.1.14"));
    }
}
