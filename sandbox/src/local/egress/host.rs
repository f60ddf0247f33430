//! A Host is what a request wants to reach: a name or an address, in one spelling.
//!
//! Rule: what a resolver or a library might read differently than the policy does is neither. A name that ends in a
//! number is such: the system's resolver takes `127.1` and `0x7f.1` for addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// In lower case, without a dot at its end.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads a name, a dotted IPv4 address, or an IPv6 address in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        name(text).map(Self::Name)
    }

    /// Reads `host:port`, with the port left out where there is a default.
    pub fn parse_authority(text: &str, default_port: Option<u16>) -> Option<(Self, u16)> {
        let is_port_there = text.rfind(':').is_some_and(|colon| text.rfind(']').is_none_or(|end| end < colon));
        let (host, port) = match text.rsplit_once(':').filter(|_| is_port_there) {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port.parse().ok()?),
            Some(_) => return None,
            None => (text, default_port?),
        };
        Some((Self::parse(host)?, port)).filter(|_| port > 0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(formatter, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]"),
        }
    }
}

/// The one spelling of a name, or `None` for what is no name.
pub fn name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL_BYTES
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = name.rsplit('.').next()?.to_ascii_lowercase();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (name.len() <= MAX_NAME_BYTES && name.split('.').all(is_label) && !is_number).then(|| name.to_ascii_lowercase())
}
