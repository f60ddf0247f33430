//! Rules that a sandbox connection must meet before it is stored: what passes can lead to a server.

use url::{Host, Url};

use super::sandbox::{EgressEnforcement, SandboxConnectionSpec, SandboxRoute, SandboxTier, SecureRuntime, port_range};
use super::validate::web_url;
use crate::error::InvalidInput;

/// Entries of a list of hosts, ports or paths at most.
const MAX_LISTED: usize = 64;

pub(super) fn connection(spec: &SandboxConnectionSpec) -> Vec<InvalidInput> {
    match spec.tier {
        SandboxTier::Local => local(spec),
        SandboxTier::Remote => remote(spec),
    }
}

/// The local runtime is what it is: nothing about it can be declared.
fn local(spec: &SandboxConnectionSpec) -> Vec<InvalidInput> {
    let declared = [
        ("credentialId", spec.credential_id.is_some()),
        ("allowPlaintext", spec.allow_plaintext),
        ("endpointHosts", !spec.endpoint_hosts.is_empty()),
        ("endpointPorts", !spec.endpoint_ports.is_empty()),
        ("endpointPaths", !spec.endpoint_paths.is_empty()),
        ("route", !spec.route.is_default()),
        ("secureAccess", spec.secure_access),
        ("secureRuntime", !spec.secure_runtime.is_default()),
        ("egress", spec.egress.is_some()),
    ];
    let rule = "is known of the local runtime; leave it out";
    declared
        .into_iter()
        .filter(|(_, is_declared)| *is_declared)
        .map(|(field, _)| InvalidInput::new(["spec", field], "CONFLICTING", rule))
        .collect()
}

fn remote(spec: &SandboxConnectionSpec) -> Vec<InvalidInput> {
    let mut faults: Vec<_> = base_url(spec).into_iter().chain(endpoints(spec)).collect();
    if spec.secure_access && spec.route == SandboxRoute::Direct {
        let rule = "needs a gateway in the cluster; set route to GATEWAY or SERVER_PROXY, or secureAccess to false";
        faults.push(InvalidInput::new(["spec", "secureAccess"], "SECURE_ACCESS_UNREACHABLE", rule));
    }
    // What is no URL may have been meant as the local runtime's, of which nothing is declared.
    let is_named = web_url(&spec.base_url).is_some();
    match (spec.egress, spec.secure_runtime) {
        (None, _) if !is_named => {}
        (None, _) => {
            let rule = "must say what keeps sandboxes of this server from the network: SIDECAR, or CNI when a rule of \
                        the cluster does";
            faults.push(InvalidInput::new(["spec", "egress"], "EGRESS_NOT_DECLARED", rule));
        }
        (Some(EgressEnforcement::Sidecar), SecureRuntime::Gvisor) => {
            let rule = "cannot be SIDECAR with gVisor, which has no network table for it; declare CNI, or choose a \
                        server with Kata";
            faults.push(InvalidInput::new(["spec", "egress"], "EGRESS_IMPOSSIBLE", rule));
        }
        (Some(EgressEnforcement::Sidecar), SecureRuntime::Runc | SecureRuntime::Kata)
        | (Some(EgressEnforcement::Cni), _) => {}
    }
    faults
}

fn base_url(spec: &SandboxConnectionSpec) -> Option<InvalidInput> {
    let fault = |code, rule: String| Some(InvalidInput::new(["spec", "baseUrl"], code, rule));
    let Some(url) = web_url(&spec.base_url) else {
        let rule = "must be an http or https URL with a port up to 65535 if any, without user, query or fragment, such \
                    as https://sandboxes.example; or local: for the local runtime";
        return fault("MALFORMED", rule.to_owned());
    };
    if url.scheme() == "https" || spec.allow_plaintext || is_loopback(&url) {
        return None;
    }
    let host = url.host_str().unwrap_or_default();
    let rule = format!(
        "plain HTTP to {host} is refused: keys and programs could be read on the way. Use https, or set allowPlaintext"
    );
    fault("PLAINTEXT_REFUSED", rule)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

fn endpoints(spec: &SandboxConnectionSpec) -> Vec<InvalidInput> {
    let hosts = Listed {
        field: "endpointHosts",
        is_sound: is_host_pattern,
        rule: "must be a host alone, such as box.example or 10.1.2.3, or *. before a name; leave out scheme, port and path",
        fewer: "hosts; use *.name for many below one name",
    };
    let ports = Listed {
        field: "endpointPorts",
        is_sound: |text| port_range(text).is_some(),
        rule: "must be a port from 1 to 65535, such as 8443, or a range of them, such as 40000-60000",
        fewer: "entries; use a range for ports that follow each other",
    };
    let paths = Listed {
        field: "endpointPaths",
        is_sound: is_path_prefix,
        rule: "must begin with / and be made of plain segments, such as /v1/sandboxes; leave out host, query and ..",
        fewer: "paths; name one that the others begin with",
    };
    let listed = [(hosts, &spec.endpoint_hosts), (ports, &spec.endpoint_ports), (paths, &spec.endpoint_paths)];
    listed.into_iter().flat_map(|(listed, entries)| listed.faults(entries)).collect()
}

/// A list of what endpoints may have.
struct Listed {
    field: &'static str,
    is_sound: fn(&str) -> bool,
    rule: &'static str,
    /// What there may be fewer of, and how.
    fewer: &'static str,
}

impl Listed {
    fn faults(&self, entries: &[String]) -> Vec<InvalidInput> {
        if entries.len() > MAX_LISTED {
            let rule = format!("must be at most {MAX_LISTED} {}", self.fewer);
            return vec![InvalidInput::new(["spec", self.field], "TOO_MANY", rule)];
        }
        let mut faults = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let place = index.to_string();
            let path = ["spec", self.field, place.as_str()];
            if !(self.is_sound)(entry) {
                faults.push(InvalidInput::new(path, "MALFORMED", self.rule));
            } else if entries[..index].contains(entry) {
                faults.push(InvalidInput::new(path, "DUPLICATE", "is listed twice; remove one"));
            }
        }
        faults
    }
}

/// A path of segments that mean themselves, as an endpoint has them.
fn is_path_prefix(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
    let Some(inner) = path.strip_prefix('/') else { return false };
    inner.is_empty() || inner.strip_suffix('/').unwrap_or(inner).split('/').all(is_segment)
}

/// A name, `*.` before a name, or an address: in the very form in which an endpoint names it.
fn is_host_pattern(pattern: &str) -> bool {
    let (text, is_wild) = pattern.strip_prefix("*.").map_or((pattern, false), |name| (name, true));
    match Host::parse(text) {
        // What the parser rewrites is a name in another spelling, and would never be met.
        Ok(Host::Domain(name)) => {
            let is_label = |label: &str| {
                let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                (1..=63).contains(&label.len()) && label.bytes().all(is_inner)
            };
            name.eq_ignore_ascii_case(text) && name.len() <= 253 && name.split('.').all(is_label)
        }
        Ok(address @ (Host::Ipv4(_) | Host::Ipv6(_))) => !is_wild && address.to_string() == text,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
