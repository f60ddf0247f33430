//! A Policy says which hosts a sandbox may reach.
//!
//! Rule: the first rule whose target matches decides; where none does, the default action, which is to deny. A host
//! that only the default allows is a name, on the ports of the web. The ranges that are closed to everybody are no
//! matter of policy.

use std::collections::HashSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::host::{Host, name};
use crate::public_network::is_within;

/// More rules than this are refused.
pub const MAX_RULES: usize = 4096;
/// The ports that are open without a rule, where the default is to allow.
const WEB_PORTS: [u16; 2] = [80, 443];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Allow,
    #[default]
    Deny,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    default_action: Action,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    action: Action,
    /// As it was given, in lower case.
    target: String,
    matcher: Matcher,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Matcher {
    Name(String),
    /// Every name below this one, at any depth, and not itself.
    Below(String),
    Network(IpAddr, u32),
}

/// A policy on the wire. What is left out is what denies most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyView {
    pub egress: Option<Vec<RuleView>>,
    pub default_action: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleView {
    pub action: Option<String>,
    #[serde(default)]
    pub target: String,
}

/// Why a policy is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// An action that is neither of the two.
    #[error("action {0:?} is neither allow nor deny")]
    Action(String),
    /// A target that is no name, no `*.name`, no address and no network.
    #[error("target {0:?} is no host name, *.name, IP address or CIDR network")]
    Target(String),
    /// More rules than a policy may have.
    #[error("a policy has at most {MAX_RULES} rules")]
    TooMany,
}

impl Policy {
    pub fn parse(view: &PolicyView) -> Result<Self, PolicyError> {
        let rules = view.egress.as_deref().unwrap_or_default().iter().map(Rule::parse).collect::<Result<_, _>>()?;
        Self { default_action: action(view.default_action.as_deref())?, rules }.bounded()
    }

    /// The policy with further rules in front; the first rule of each target stays.
    pub fn merged(&self, rules: Vec<Rule>) -> Result<Self, PolicyError> {
        let mut seen = HashSet::new();
        let rules = rules.into_iter().chain(self.rules.iter().cloned());
        let rules = rules.filter(|rule| seen.insert(rule.target.clone())).collect();
        Self { default_action: self.default_action, rules }.bounded()
    }

    /// The policy without the rules of these targets, and how many there were.
    pub fn without(&self, targets: &[String]) -> (Self, usize) {
        let targets: HashSet<String> = targets.iter().map(|target| target.trim().to_ascii_lowercase()).collect();
        let rules: Vec<_> = self.rules.iter().filter(|rule| !targets.contains(&rule.target)).cloned().collect();
        let removed = self.rules.len() - rules.len();
        (Self { default_action: self.default_action, rules }, removed)
    }

    pub fn allows(&self, host: &Host, port: u16) -> bool {
        match self.rules.iter().find(|rule| rule.matches(host)) {
            Some(rule) => rule.action == Action::Allow,
            None => {
                // A name without a dot means something only on the network that this host is in.
                let is_public = matches!(host, Host::Name(name) if name.contains('.'));
                self.default_action == Action::Allow && is_public && WEB_PORTS.contains(&port)
            }
        }
    }

    /// Whether a rule denies the address behind a name that is allowed.
    pub fn denies_address(&self, address: IpAddr) -> bool {
        let host = Host::Address(address);
        self.rules.iter().find(|rule| rule.matches(&host)).is_some_and(|rule| rule.action == Action::Deny)
    }

    /// What the wire calls the mode of a policy.
    pub fn mode(&self) -> &'static str {
        match (self.rules.is_empty(), self.default_action) {
            (false, _) => "enforcing",
            (true, Action::Allow) => "allow_all",
            (true, Action::Deny) => "deny_all",
        }
    }

    pub fn view(&self) -> PolicyView {
        let text = |action| if action == Action::Allow { "allow" } else { "deny" };
        let view = |rule: &Rule| RuleView { action: Some(text(rule.action).to_owned()), target: rule.target.clone() };
        PolicyView {
            // An empty list and not null, which some clients cannot read.
            egress: Some(self.rules.iter().map(view).collect()),
            default_action: Some(text(self.default_action).to_owned()),
        }
    }

    fn bounded(self) -> Result<Self, PolicyError> {
        if self.rules.len() > MAX_RULES { Err(PolicyError::TooMany) } else { Ok(self) }
    }
}

impl Rule {
    pub fn parse(view: &RuleView) -> Result<Self, PolicyError> {
        let target = view.target.trim().to_ascii_lowercase();
        let matcher = Matcher::parse(&target).ok_or_else(|| PolicyError::Target(view.target.clone()))?;
        Ok(Self { action: action(view.action.as_deref())?, target, matcher })
    }

    fn matches(&self, host: &Host) -> bool {
        match (&self.matcher, host) {
            (Matcher::Name(own), Host::Name(name)) => own == name,
            (Matcher::Below(parent), Host::Name(name)) => {
                name.strip_suffix(parent.as_str()).is_some_and(|below| below.ends_with('.'))
            }
            (Matcher::Network(base, bits), Host::Address(address)) => is_within(*address, *base, *bits),
            (Matcher::Name(_) | Matcher::Below(_), Host::Address(_)) | (Matcher::Network(..), Host::Name(_)) => false,
        }
    }
}

impl Matcher {
    fn parse(target: &str) -> Option<Self> {
        if let Some(parent) = target.strip_prefix("*.") {
            return name(parent).map(Self::Below);
        }
        if let Ok(address) = target.parse::<IpAddr>() {
            return Some(Self::Network(address, if address.is_ipv4() { 32 } else { 128 }));
        }
        if let Some((base, bits)) = target.split_once('/') {
            let base: IpAddr = base.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= if base.is_ipv4() { 32 } else { 128 })?;
            return Some(Self::Network(base, bits));
        }
        name(target).map(Self::Name)
    }
}

fn action(text: Option<&str>) -> Result<Action, PolicyError> {
    match text.map(str::trim) {
        None | Some("") => Ok(Action::Deny),
        Some(text) if text.eq_ignore_ascii_case("allow") => Ok(Action::Allow),
        Some(text) if text.eq_ignore_ascii_case("deny") => Ok(Action::Deny),
        Some(text) => Err(PolicyError::Action(text.to_owned())),
    }
}
