//! An Endpoint is the address of one port of one sandbox, with the headers that open it.
//!
//! Rule: the server's answer is untrusted text. It becomes an Endpoint only when it is `host[:port][/path]` on a host
//! that the connection allows, with headers from a closed list. Paths are joined to it, never put in its place.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use serde::Deserialize;
use std::collections::BTreeMap;
use url::{Host, Url};

use super::connection::{Connection, Route, Sharing};
use super::error::Error;
use super::transport::Shape;

const MAX_ENDPOINT_BYTES: usize = 1024;
const MAX_HEADER_VALUE_BYTES: usize = 4096;
const MAX_HEADERS: usize = 8;
const SECURE_ACCESS_HEADER: HeaderName = HeaderName::from_static("opensandbox-secure-access");
const INGRESS_HEADER: HeaderName = HeaderName::from_static("opensandbox-ingress-to");
/// The only headers that a server may ask us to send to a sandbox.
const ALLOWED_HEADERS: [&str; 4] =
    ["x-execd-access-token", "opensandbox-egress-auth", "opensandbox-secure-access", "opensandbox-ingress-to"];
pub(super) const API_KEY_HEADER: HeaderName = HeaderName::from_static("open-sandbox-api-key");

/// The server's answer to an endpoint lookup.
#[derive(Deserialize)]
pub(super) struct EndpointAnswer {
    pub endpoint: String,
    #[serde(default)]
    pub headers: Option<BTreeMap<String, String>>,
}

impl Shape for EndpointAnswer {
    const MEMBERS: &'static [&'static str] = &["endpoint", "headers"];
}

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub sandbox_id: &'a str,
    pub port: u16,
    pub needs_secure_access: bool,
}

/// A checked address. Its `Debug` shows the origin and the names of the headers.
#[derive(Clone)]
pub struct Endpoint {
    base: Url,
    headers: HeaderMap,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("origin", &self.base.origin().ascii_serialization())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl Endpoint {
    /// Checks what the server said.
    pub(super) fn check(connection: &Connection, answer: &EndpointAnswer, wanted: Wanted<'_>) -> Result<Self, Error> {
        let base = check_address(connection, &answer.endpoint)?;
        let key = connection.api_key.expose_secret();
        let headers = check_headers(answer, key)?;
        let needs_secure_access = wanted.needs_secure_access || connection.sharing == Sharing::Shared;
        if needs_secure_access && !headers.contains_key(SECURE_ACCESS_HEADER) {
            return Err(Error::SecureAccessMissing);
        }
        if connection.route == Route::Gateway && !names(&base, &headers, wanted) {
            return refuse("address of the gateway does not name the sandbox and the port");
        }
        let mut headers = headers;
        if connection.route == Route::ServerProxy && connection.is_own_origin(&base) && !key.is_empty() {
            headers.insert(API_KEY_HEADER, secret_value(key)?);
        }
        Ok(Self { base, headers })
    }

    /// The address without a trailing slash, for a caller that opens its own connection (a WebSocket, a browser).
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.base
    }

    /// The headers that every request to it needs; their values are marked sensitive.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The address with `segments` joined to its path.
    pub(super) fn join(&self, segments: &[&str]) -> Result<Url, Error> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Error::EndpointRefused("address cannot have a path".into()))?
            .pop_if_empty()
            .extend(segments);
        Ok(url)
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, Error> {
    Err(Error::EndpointRefused(why.into()))
}

fn check_address(connection: &Connection, address: &str) -> Result<Url, Error> {
    if address.is_empty() || address.len() > MAX_ENDPOINT_BYTES {
        return refuse("address is empty or too long");
    }
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    let (host, port) = split_authority(authority)?;
    check_path(path)?;
    if !connection.is_allowed(&host) {
        return refuse(format!("host {host} is not allowed on this connection"));
    }
    connection.check_plaintext(&host)?;
    let allowed_paths = &connection.endpoint_paths;
    if !allowed_paths.is_empty() && !allowed_paths.iter().any(|allowed| is_below(path, allowed)) {
        return refuse("path is not allowed on this connection");
    }

    let scheme = connection.base_url.scheme();
    let port_text = port.map(|port| format!(":{port}")).unwrap_or_default();
    let Ok(url) = Url::parse(&format!("{scheme}://{host}{port_text}{path}")) else {
        return refuse("address cannot be read");
    };
    // What will be dialled must be what was checked, however the address was written.
    let default_port = if scheme == "https" { 443 } else { 80 };
    let is_same = url.host().is_some_and(|dialled| dialled == host)
        && url.port_or_known_default() == Some(port.unwrap_or(default_port))
        && url.path() == if path.is_empty() { "/" } else { path }
        && url.username().is_empty()
        && url.password().is_none();
    if !is_same {
        return refuse("address means something else than it says");
    }
    if connection.has_allowed_port(&url) { Ok(url) } else { refuse("port is not allowed on this connection") }
}

fn split_authority(authority: &str) -> Result<(Host<&str>, Option<u16>), Error> {
    let (name, port) = if let Some(rest) = authority.strip_prefix('[') {
        let Some((ip, after)) = rest.split_once(']') else { return refuse("IPv6 address is not closed") };
        let Ok(ip) = ip.parse() else { return refuse("IPv6 address cannot be read") };
        let port = if after.is_empty() { None } else { after.strip_prefix(':').or(Some("")) };
        (Host::Ipv6(ip), port)
    } else {
        let (name, port) = authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
        (check_name(name)?, port)
    };
    Ok((name, port.map(check_port).transpose()?))
}

fn check_name(name: &str) -> Result<Host<&str>, Error> {
    if let Ok(ip) = name.parse() {
        return Ok(Host::Ipv4(ip));
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // A last label of digits, or `0x…`, would be dialled as a number.
    let is_number = name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
    if name.len() > 253 || is_number || !name.split('.').all(is_label) {
        return refuse("host is not a plain lower-case name");
    }
    Ok(Host::Domain(name))
}

fn check_port(port: &str) -> Result<u16, Error> {
    let is_plain = !port.is_empty() && !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_plain => Ok(port),
        _ => refuse("port is not a number from 1 to 65535"),
    }
}

fn check_path(path: &str) -> Result<(), Error> {
    let is_segment = |segment: &str| {
        !matches!(segment, "." | "..")
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
    };
    let inner = path.strip_prefix('/').unwrap_or(path);
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let is_empty_inside = !inner.is_empty() && inner.split('/').any(str::is_empty);
    if is_empty_inside || !inner.split('/').all(is_segment) {
        return refuse("path has characters that no endpoint needs");
    }
    Ok(())
}

/// Whole segments only: `/a` covers `/a` and `/a/b`, not `/ab`.
fn is_below(path: &str, allowed: &str) -> bool {
    path.strip_prefix(allowed.trim_end_matches('/')).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a gateway's address leads to the sandbox and port that were asked for. What follows the two names is the
/// signature of a signed route.
fn names(base: &Url, headers: &HeaderMap, wanted: Wanted<'_>) -> bool {
    let Wanted { sandbox_id, port, .. } = wanted;
    let token = format!("{sandbox_id}-{port}").to_ascii_lowercase();
    let is_token = |text: &str| {
        text.to_ascii_lowercase().strip_prefix(&token).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let label = base.host_str().and_then(|host| host.split('.').next()).unwrap_or_default();
    let header = headers.get(INGRESS_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let path: Vec<&str> = base.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let is_path = path.windows(2).any(|pair| pair[0] == sandbox_id && pair[1] == port.to_string())
        || path.iter().any(|segment| is_token(segment));
    is_token(label) || is_token(header) || is_path
}

fn check_headers(answer: &EndpointAnswer, key: &str) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    let asked = answer.headers.iter().flatten();
    if asked.clone().count() > MAX_HEADERS {
        return refuse("server asks for too many headers");
    }
    for (name, value) in asked {
        // A server that hands our own key to a sandbox hands it to whatever runs there.
        if !key.is_empty() && value.contains(key) {
            return refuse("server asks to send the API key to a sandbox");
        }
        let (name, value) = check_header(name, value)?;
        if headers.insert(name, value).is_some() {
            return refuse("server asks for a header twice");
        }
    }
    Ok(headers)
}

fn check_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let lower = name.to_ascii_lowercase();
    let Some(allowed) = ALLOWED_HEADERS.iter().find(|allowed| **allowed == lower) else {
        return refuse("server asks for a header that is not on the list");
    };
    let is_plain = value.bytes().all(|byte| byte.is_ascii_graphic());
    if value.is_empty() || value.len() > MAX_HEADER_VALUE_BYTES || !is_plain {
        return refuse(format!("value of header {allowed} is not plain text"));
    }
    Ok((HeaderName::from_static(allowed), secret_value(value)?))
}

pub(super) fn secret_value(text: &str) -> Result<HeaderValue, Error> {
    let Ok(mut value) = HeaderValue::from_str(text) else { return refuse("header value cannot be sent") };
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
