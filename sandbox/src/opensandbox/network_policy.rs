//! A Network Policy says which hosts the programs of a sandbox may reach.
//!
//! Rule: what is not sent is open. A policy is therefore always written out whole, default and list alike: servers take
//! a missing policy for an open network, and read `{}` now as everything and now as nothing.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Host;

use super::error::Error;

const MAX_RULES: usize = 4096;
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EgressAction {
    /// It is let through.
    Allow,
    /// It is refused.
    Deny,
}

impl EgressAction {
    /// The word of the protocol.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// Everything but a plain `allow` is a denial, a missing word included.
    fn from_wire(word: Option<&str>) -> Self {
        if word.is_some_and(|word| word.eq_ignore_ascii_case("allow")) { Self::Allow } else { Self::Deny }
    }
}

/// What becomes of connections to some hosts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EgressRule {
    /// What becomes of them.
    pub action: EgressAction,
    /// A host name, `*.name` for every name below it but not itself, an IP address, or a CIDR block. Servers compare
    /// addresses and blocks only in their stricter mode.
    pub target: String,
}

impl EgressRule {
    /// A rule that lets connections through.
    #[must_use]
    pub fn allow(target: impl Into<String>) -> Self {
        Self { action: EgressAction::Allow, target: target.into() }
    }

    /// A rule that refuses connections.
    #[must_use]
    pub fn deny(target: impl Into<String>) -> Self {
        Self { action: EgressAction::Deny, target: target.into() }
    }

    pub(super) fn to_json(&self) -> Result<Value, Error> {
        if !is_target(&self.target) {
            return Err(Error::invalid(
                "target of an egress rule is neither a host name, `*.name`, an address nor a block",
            ));
        }
        Ok(json!({ "action": self.action.as_str(), "target": self.target }))
    }
}

/// Which hosts may be reached. The first rule that covers a host decides; the default decides about the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// What becomes of a connection that no rule covers.
    pub default_action: EgressAction,
    /// The rules, in order.
    pub egress: Vec<EgressRule>,
}

impl NetworkPolicy {
    /// No host at all.
    #[must_use]
    pub fn deny_all() -> Self {
        Self { default_action: EgressAction::Deny, egress: Vec::new() }
    }

    /// These hosts and no others.
    #[must_use]
    pub fn allow_only<S: Into<String>>(targets: impl IntoIterator<Item = S>) -> Self {
        Self { default_action: EgressAction::Deny, egress: targets.into_iter().map(EgressRule::allow).collect() }
    }

    pub(super) fn to_json(&self) -> Result<Value, Error> {
        if self.egress.len() > MAX_RULES {
            return Err(Error::invalid(format!("network policy has more than {MAX_RULES} rules")));
        }
        let egress = self.egress.iter().map(EgressRule::to_json).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({ "defaultAction": self.default_action.as_str(), "egress": egress }))
    }
}

/// A policy as servers say it: `egress` may be missing or null, and so may the default, which then denies.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPolicy {
    default_action: Option<String>,
    egress: Option<Vec<RawRule>>,
}

#[derive(Deserialize)]
struct RawRule {
    action: Option<String>,
    target: String,
}

impl RawPolicy {
    pub fn into_policy(self) -> NetworkPolicy {
        let egress = self
            .egress
            .unwrap_or_default()
            .into_iter()
            .map(|rule| EgressRule { action: EgressAction::from_wire(rule.action.as_deref()), target: rule.target });
        NetworkPolicy {
            default_action: EgressAction::from_wire(self.default_action.as_deref()),
            egress: egress.collect(),
        }
    }
}

fn is_target(target: &str) -> bool {
    if let Some((address, bits)) = target.split_once('/') {
        let max_bits = match Host::parse(&bracketed(address)) {
            Ok(Host::Ipv4(ip)) if ip.to_string() == address => 32,
            Ok(Host::Ipv6(_)) => 128,
            Ok(Host::Domain(_) | Host::Ipv4(_)) | Err(_) => return false,
        };
        return bits.parse::<u8>().is_ok_and(|bits| bits <= max_bits);
    }
    if target.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    let name = target.strip_prefix("*.").unwrap_or(target);
    let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(is_byte)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= MAX_NAME_BYTES && name.split('.').all(is_label)
}

fn bracketed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_a_policy_out_whole_row_62() {
        assert_eq!(NetworkPolicy::deny_all().to_json().unwrap(), json!({"defaultAction": "deny", "egress": []}));
        let policy = NetworkPolicy {
            default_action: EgressAction::Allow,
            egress: vec![EgressRule::deny("10.0.0.0/8"), EgressRule::allow("*.example.com")],
        };
        let expected = json!({
            "defaultAction": "allow",
            "egress": [{"action": "deny", "target": "10.0.0.0/8"}, {"action": "allow", "target": "*.example.com"}],
        });
        assert_eq!(policy.to_json().unwrap(), expected);
    }

    #[test]
    fn refuses_targets_that_are_no_hosts() {
        for bad in
            ["", "*", "*.", "a..b", "a b", "http://a", "a:80", "a/b", "10.0.0.0/33", "*.*.a", "-a", "ä", "::1/129"]
        {
            assert!(EgressRule::allow(bad).to_json().is_err(), "{bad}");
        }
        for good in ["a", "a.example", "*.a.example", "1.2.3.4", "::1", "10.0.0.0/8", "fd00::/8", "_dmarc.example"] {
            assert!(EgressRule::allow(good).to_json().is_ok(), "{good}");
        }
    }

    #[test]
    fn reads_what_servers_leave_out_as_denial_w29() {
        let read = |text: &str| serde_json::from_str::<RawPolicy>(text).unwrap().into_policy();
        for text in ["{}", r#"{"egress":null}"#, r#"{"egress":[],"defaultAction":null}"#, r#"{"defaultAction":"?"}"#] {
            assert_eq!(read(text), NetworkPolicy::deny_all(), "{text}");
        }
        let rule =
            read(r#"{"egress":[{"target":"a"},{"target":"b","action":"allow","new":1}],"defaultAction":"allow"}"#);
        assert_eq!(rule.egress, [EgressRule::deny("a"), EgressRule::allow("b")]);
        assert_eq!(rule.default_action, EgressAction::Allow);
    }
}
