//! From a host to a connection with it.
//!
//! Rule: a name is resolved once, every address of it is checked, and the connection goes to an address that was
//! checked, never to the name. One address that is closed closes the name. What is reached in the end is checked
//! again, so that neither a resolver nor a route leads back to this machine.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::attempts::Reason;
use super::host::Host;
use super::policy::Policy;
#[cfg(feature = "testing")]
use super::test_hosts::TestHosts;
use crate::public_network::is_public;

const RESOLVE_TIME: Duration = Duration::from_secs(10);
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
const MAX_TRIED: usize = 4;

/// How names become addresses: by the system's resolver.
#[derive(Clone, Debug, Default)]
pub struct Names {
    #[cfg(feature = "testing")]
    test_hosts: TestHosts,
}

/// An address that a name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    pub at: SocketAddr,
    /// Set by tests, whose servers are on loopback; there is no other way to set it.
    pub is_exempt: bool,
}

impl Names {
    /// The resolver of this process.
    pub fn new() -> Self {
        Self {
            #[cfg(feature = "testing")]
            test_hosts: TestHosts::from_environment(),
        }
    }

    async fn resolve(&self, host: &Host, port: u16) -> io::Result<Vec<Found>> {
        let name = match host {
            Host::Address(address) => return Ok(vec![Found { at: (*address, port).into(), is_exempt: false }]),
            Host::Name(name) => name,
        };
        #[cfg(feature = "testing")]
        if let Some(found) = self.test_hosts.resolve(name, port) {
            return Ok(found);
        }
        // With a dot at its end it is the whole name: no search list of this host makes another one of it.
        let addresses = tokio::net::lookup_host((format!("{name}."), port)).await?;
        Ok(addresses.map(|at| Found { at, is_exempt: false }).collect())
    }
}

/// Connects to a host that the policy allows.
pub async fn connect(names: &Names, policy: &Policy, host: &Host, port: u16) -> Result<TcpStream, Reason> {
    let found = timeout(RESOLVE_TIME, names.resolve(host, port)).await;
    let found = found.ok().and_then(Result::ok).filter(|found| !found.is_empty()).ok_or(Reason::NotResolved)?;
    if found.iter().any(|found| !found.is_exempt && !is_public(found.at.ip())) {
        return Err(Reason::PrivateAddress);
    }
    if found.iter().any(|found| policy.denies_address(found.at.ip())) {
        return Err(Reason::NotListed);
    }
    for found in found.into_iter().take(MAX_TRIED) {
        if let Ok(Ok(stream)) = timeout(CONNECT_TIME, TcpStream::connect(found.at)).await {
            return if is_where_it_should_be(&stream, found) { Ok(stream) } else { Err(Reason::PrivateAddress) };
        }
    }
    Err(Reason::Unreachable)
}

/// A connection whose two ends have one address has not left this machine.
fn is_where_it_should_be(stream: &TcpStream, found: Found) -> bool {
    let (Ok(peer), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return false };
    peer.ip() == found.at.ip() && (found.is_exempt || (is_public(peer.ip()) && own.ip() != peer.ip()))
}
