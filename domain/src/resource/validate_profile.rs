//! Rules that a sandbox profile must meet before it is stored: with what passes, a sandbox can be made and a program run.

use std::collections::BTreeSet;

use super::image_name::is_image_name;
use super::sandbox::{SandboxNetwork, SandboxProfileSpec};
use crate::error::InvalidInput;
use crate::sandbox::LONGEST_TTL;

const MEBIBYTE: u64 = 1024 * 1024;
/// The fewest processes with which a program of every language starts. Four stand around each program and keep what it
/// prints, two are the sandbox's own, Node alone has seven threads, and those of the last program may be ending.
pub const MIN_PIDS: u32 = 16;
/// Host names of a profile at most.
const MAX_HOSTS: usize = 64;
/// Variables of a profile at most.
const MAX_VARIABLES: usize = 64;
const MAX_VALUE_BYTES: usize = 4096;
/// Credentials of a profile at most.
const MAX_CREDENTIALS: usize = 16;
const SHORTEST_IDLE_SECONDS: u32 = 5;
/// What Vitrine or the server sets itself, and what would change which program runs.
const RESERVED_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "TMPDIR",
    "LANG",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "IFS",
    "ENV",
    "BASH_ENV",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
];
const RESERVED_PREFIXES: &[&str] = &["XDG_", "LD_", "OPENSANDBOX_", "OPEN_SANDBOX_", "EXECD_", "VITRINE_"];

pub(super) fn profile(spec: &SandboxProfileSpec) -> Vec<InvalidInput> {
    let ranges = [
        ("cpuMillis", u64::from(spec.cpu_millis), 10, 64_000),
        ("memoryBytes", spec.memory_bytes, 16 * MEBIBYTE, 1024 * 1024 * MEBIBYTE),
        ("diskBytes", spec.disk_bytes, MEBIBYTE, 1024 * 1024 * MEBIBYTE),
        ("pids", u64::from(spec.pids), u64::from(MIN_PIDS), 32_768),
        ("ttlSeconds", u64::from(spec.ttl_seconds), 60, LONGEST_TTL.as_secs()),
        ("commandTimeoutMs", u64::from(spec.command_timeout_ms), 100, 3_600_000),
    ];
    let mut faults: Vec<_> = ranges
        .into_iter()
        .filter(|(_, value, least, most)| value < least || value > most)
        .map(|(field, _, least, most)| {
            InvalidInput::new(["spec", field], "OUT_OF_RANGE", format!("must be from {least} to {most}"))
        })
        .collect();
    if !is_image_name(&spec.image) {
        let rule = "must be an image name of at most 255 bytes, in lower case but for its tag, such as vitrine/code or \
                    registry.example:5000/team/code:1.2";
        faults.push(InvalidInput::new(["spec", "image"], "MALFORMED", rule));
    }
    let idle = SHORTEST_IDLE_SECONDS..=spec.ttl_seconds;
    if spec.idle_ttl_seconds.is_some_and(|seconds| !idle.contains(&seconds)) {
        let rule = format!("must be from {SHORTEST_IDLE_SECONDS} to ttlSeconds, or be left out");
        faults.push(InvalidInput::new(["spec", "idleTtlSeconds"], "OUT_OF_RANGE", rule));
    }
    if spec.user.as_ref().is_some_and(|user| !is_user(user)) {
        let rule = "must be a user's name, such as nobody, or a number up to 2147483647";
        faults.push(InvalidInput::new(["spec", "user"], "MALFORMED", rule));
    }
    faults.extend(hosts(spec));
    faults.extend(environment(spec));
    faults.extend(credentials(spec));
    faults
}

fn hosts(spec: &SandboxProfileSpec) -> Vec<InvalidInput> {
    let fault = |code, rule: &str| vec![InvalidInput::new(["spec", "networkHosts"], code, rule)];
    match (spec.network, spec.network_hosts.len()) {
        (SandboxNetwork::Hosts, 0) => return fault("MISSING", "must name at least one host with network HOSTS"),
        (SandboxNetwork::Hosts, count) if count > MAX_HOSTS => {
            return fault(
                "TOO_MANY",
                &format!("must be at most {MAX_HOSTS} hosts; use *.name for many below one name"),
            );
        }
        (SandboxNetwork::None | SandboxNetwork::Public, 1..) => {
            return fault("CONFLICTING", "have a meaning with network HOSTS only; set that, or leave them out");
        }
        (SandboxNetwork::Hosts | SandboxNetwork::None | SandboxNetwork::Public, _) => {}
    }
    let mut faults = Vec::new();
    for (index, host) in spec.network_hosts.iter().enumerate() {
        let place = index.to_string();
        let path = ["spec", "networkHosts", place.as_str()];
        if !is_host(host) {
            let rule = "must be a DNS name in lower case with a dot in it, such as api.example.com, or *. before one; \
                        addresses are not allowed, since they would pass by the check of names";
            faults.push(InvalidInput::new(path, "MALFORMED", rule));
        } else if spec.network_hosts[..index].contains(host) {
            faults.push(InvalidInput::new(path, "DUPLICATE", "is listed twice; remove one"));
        }
    }
    faults
}

/// A DNS name with at least two labels, the last of which is no number: an address never passes.
fn is_host(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        matches!(bytes, [first, ..] if edge(*first))
            && bytes.last().is_some_and(|last| edge(*last))
            && bytes.len() <= 63
            && bytes.iter().all(|byte| edge(*byte) || *byte == b'-')
    };
    let is_name = labels.last().is_some_and(|last| !last.bytes().all(|byte| byte.is_ascii_digit()));
    name.len() <= 253 && labels.len() >= 2 && is_name && labels.iter().all(is_label)
}

fn is_user(user: &str) -> bool {
    if user.bytes().all(|byte| byte.is_ascii_digit()) {
        return user.parse::<i32>().is_ok();
    }
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
    let begins = user.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    begins && user.len() <= 32 && user.bytes().all(is_inner)
}

fn environment(spec: &SandboxProfileSpec) -> Vec<InvalidInput> {
    let mut faults = Vec::new();
    if spec.environment.len() > MAX_VARIABLES {
        let rule = format!("must be at most {MAX_VARIABLES} variables");
        faults.push(InvalidInput::new(["spec", "environment"], "TOO_MANY", rule));
    }
    for (name, value) in &spec.environment {
        let path = ["spec", "environment", name.as_str()];
        if !is_variable(name) {
            let rule = "must be a name of letters, digits and _ that begins with no digit, at most 128 long";
            faults.push(InvalidInput::new(path, "MALFORMED", rule));
        } else if is_reserved(name) {
            let rule = "is set by Vitrine or by the sandbox itself; choose another name";
            faults.push(InvalidInput::new(path, "RESERVED", rule));
        } else if value.len() > MAX_VALUE_BYTES || value.chars().any(char::is_control) {
            let rule = format!(
                "must have a value of at most {MAX_VALUE_BYTES} bytes without control characters; shorten it, or put it \
                 into an input file"
            );
            faults.push(InvalidInput::new(path, "MALFORMED", rule));
        }
    }
    faults
}

fn is_variable(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() <= 128 && name.bytes().all(is_inner) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

fn is_reserved(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    RESERVED_VARIABLES.contains(&upper.as_str()) || RESERVED_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
}

fn credentials(spec: &SandboxProfileSpec) -> Vec<InvalidInput> {
    let mut faults = Vec::new();
    if spec.credentials.len() > MAX_CREDENTIALS {
        let rule = format!("must be at most {MAX_CREDENTIALS} credentials");
        faults.push(InvalidInput::new(["spec", "credentials"], "TOO_MANY", rule));
    }
    let mut names = BTreeSet::new();
    for (index, credential) in spec.credentials.iter().enumerate() {
        let place = index.to_string();
        let name = ["spec", "credentials", place.as_str(), "name"];
        if !is_credential_name(&credential.name) || is_reserved(&credential.variable()) {
            let rule = "must be 1 to 63 capital letters, digits and _ that begin with a letter, such as GITHUB_TOKEN";
            faults.push(InvalidInput::new(name, "MALFORMED", rule));
        } else if !names.insert(&credential.name) || spec.environment.contains_key(&credential.variable()) {
            let rule = "must be unique, and NAME_FILE must not be in environment";
            faults.push(InvalidInput::new(name, "DUPLICATE", rule));
        }
        if !(10..=3600).contains(&credential.ttl_seconds) {
            let path = ["spec", "credentials", place.as_str(), "ttlSeconds"];
            faults.push(InvalidInput::new(path, "OUT_OF_RANGE", "must be from 10 to 3600"));
        }
    }
    faults
}

fn is_credential_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = name.starts_with(|first: char| first.is_ascii_uppercase());
    begins && name.len() <= 63 && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests;
