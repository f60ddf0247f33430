//! What a request to the proxy wants: a tunnel to a host, or a plain HTTP exchange with one.
//!
//! Rule: there is one answer to the question which host is meant. The target, the Host field and, later, TLS must say
//! the same; where the length of the body is told twice, or in a way that is not ours, the request is refused.

use std::net::Ipv4Addr;

use super::attempts::Wish;
use super::head::{Head, Malformed};
use super::host::Host;

/// Fields that speak to the next hop only.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Fields that the proxy writes itself.
const OWN: [&str; 2] = ["host", "content-length"];

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    pub host: Host,
    pub port: u16,
    pub kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// CONNECT: bytes both ways, TLS first.
    Tunnel,
    /// Plain HTTP: one request with its body, and its response.
    Exchange {
        /// The head as it goes to the origin.
        head: String,
        body: Body,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    Length(u64),
    Chunked,
}

/// What the log says about a request, as far as it can be told.
pub fn wish(head: &Head, via: Ipv4Addr) -> Wish {
    let is_tunnel = head.method == "CONNECT";
    let authority = if is_tunnel { Some(head.target.as_str()) } else { plain_target(&head.target).map(|(at, _)| at) };
    let found = authority.and_then(|text| Host::parse_authority(text, (!is_tunnel).then_some(80)));
    Wish {
        via,
        method: if is_tunnel { "CONNECT" } else { "HTTP" },
        host: found.as_ref().map(|(host, _)| host.to_string()).unwrap_or_default(),
        port: found.map_or(0, |(_, port)| port),
    }
}

impl Request {
    pub fn of(head: &Head) -> Result<Self, Malformed> {
        if head.method == "CONNECT" { Self::tunnel(head) } else { Self::exchange(head) }
    }

    fn tunnel(head: &Head) -> Result<Self, Malformed> {
        let (host, port) =
            Host::parse_authority(&head.target, None).ok_or(Malformed("CONNECT needs a target host:port"))?;
        if let Some(field) = head.only("host")?
            && Host::parse_authority(field, Some(port)) != Some((host.clone(), port))
        {
            return Err(HOSTS_DIFFER);
        }
        if head.all("transfer-encoding").next().is_some() || head.only("content-length")?.is_some_and(|n| n != "0") {
            return Err(Malformed("CONNECT has no body"));
        }
        Ok(Self { host, port, kind: Kind::Tunnel })
    }

    fn exchange(head: &Head) -> Result<Self, Malformed> {
        let (authority, path) =
            plain_target(&head.target).ok_or(Malformed("the target must begin with http://; use CONNECT for https"))?;
        let (host, port) =
            Host::parse_authority(authority, Some(80)).ok_or(Malformed("the target names no host, or holds more"))?;
        match head.only("host")? {
            Some(field) if Host::parse_authority(field, Some(80)) != Some((host.clone(), port)) => {
                return Err(HOSTS_DIFFER);
            }
            None if head.minor == 1 => return Err(Malformed("HTTP/1.1 needs the field Host")),
            _ => {}
        }
        let body = body(head)?;
        let head = origin_head(head, &host, port, &path, body);
        Ok(Self { host, port, kind: Kind::Exchange { head, body } })
    }
}

const HOSTS_DIFFER: Malformed = Malformed("the target and the field Host name different hosts");

/// Splits `http://authority/path?query`; the path is never empty.
fn plain_target(target: &str) -> Option<(&str, String)> {
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))?;
    let rest = &target[scheme.len()..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.contains('#') {
        return None;
    }
    Some((authority, if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }))
}

fn body(head: &Head) -> Result<Body, Malformed> {
    let encoding = head.only("transfer-encoding")?;
    let length = head.only("content-length")?;
    match (encoding, length) {
        (Some(_), Some(_)) => Err(Malformed("the length of the body is told twice")),
        (Some(encoding), None) if encoding.eq_ignore_ascii_case("chunked") && head.minor == 1 => Ok(Body::Chunked),
        (Some(_), None) => Err(Malformed("the only transfer encoding is chunked, with HTTP/1.1")),
        (None, Some(text)) => {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let length = is_number.then(|| text.parse().ok()).flatten();
            length.map(Body::Length).ok_or(Malformed("the length of the body is not a number"))
        }
        (None, None) => Ok(Body::Length(0)),
    }
}

/// The head for the origin: one exchange and no more, and nothing that is for the proxy alone.
fn origin_head(head: &Head, host: &Host, port: u16, path: &str, body: Body) -> String {
    let named: Vec<String> = head
        .all("connection")
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_dropped = |name: &str| HOP_BY_HOP.contains(&name) || OWN.contains(&name) || named.iter().any(|n| n == name);
    let authority = if port == 80 { host.to_string() } else { format!("{host}:{port}") };
    let mut text = format!("{} {path} HTTP/1.1\r\nhost: {authority}\r\n", head.method);
    for (name, value) in head.fields.iter().filter(|(name, _)| !is_dropped(name)) {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    match body {
        Body::Chunked => text.push_str("transfer-encoding: chunked\r\n"),
        Body::Length(0) if head.all("content-length").next().is_none() => {}
        Body::Length(length) => text.push_str(&format!("content-length: {length}\r\n")),
    }
    text.push_str("connection: close\r\n\r\n");
    text
}
