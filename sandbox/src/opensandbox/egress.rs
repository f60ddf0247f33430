//! The network policy of a sandbox that runs: read and changed at its egress sidecar or through the Lifecycle server.
//!
//! Rule: only a read tells what holds. The answer to a change carries no policy, and a change is sent once.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::error::Error;
use super::network_policy::{EgressRule, NetworkPolicy, RawPolicy};
use super::sandbox::{Port, Sandbox};
use super::transport::{Answer, Call, Shape};
use super::version::SUPPORTED;

/// The port of the egress sidecar in every sandbox that has a network policy.
pub const EGRESS_PORT: u16 = 18080;

/// Which way a network policy is read and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyRoute {
    /// At the sidecar, with the token of its endpoint.
    Sidecar,
    /// Through the server, which has the token. Servers of before 1.1.1 do not have it: `not_supported`.
    Lifecycle,
}

/// How a network policy is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EgressEnforcement {
    /// Names are not resolved. A connection to an address is not stopped.
    Dns,
    /// Names are not resolved, and packets to other addresses are dropped.
    DnsAndPackets,
}

/// What a network policy is summed up as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EgressMode {
    /// Everything is let through.
    AllowAll,
    /// Nothing is let through.
    DenyAll,
    /// There are rules.
    Enforcing,
}

/// The network policy that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressStatus {
    /// What it is summed up as.
    pub mode: EgressMode,
    /// How it is enforced.
    pub enforcement: EgressEnforcement,
    /// The policy.
    pub policy: NetworkPolicy,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEgress {
    mode: String,
    enforcement_mode: String,
    policy: RawPolicy,
}

impl Shape for RawEgress {
    const MEMBERS: &'static [&'static str] = &["status", "mode", "enforcementMode", "policy", "reason"];
}

impl RawEgress {
    fn check(self) -> Result<EgressStatus, Error> {
        let mode = match self.mode.as_str() {
            "allow_all" => EgressMode::AllowAll,
            "deny_all" => EgressMode::DenyAll,
            "enforcing" => EgressMode::Enforcing,
            _ => return Err(unknown("mode", SUPPORTED.egress_modes)),
        };
        let enforcement = match self.enforcement_mode.as_str() {
            "dns" => EgressEnforcement::Dns,
            "dns+nft" => EgressEnforcement::DnsAndPackets,
            _ => return Err(unknown("enforcementMode", SUPPORTED.egress_enforcement)),
        };
        Ok(EgressStatus { mode, enforcement, policy: self.policy.into_policy() })
    }
}

fn unknown(member: &str, known: &[&str]) -> Error {
    Error::protocol(format!("{member} of the network policy is none of {}", known.join(", ")))
}

impl Sandbox {
    /// The network policy that holds.
    pub async fn network_policy(&self, route: PolicyRoute) -> Result<EgressStatus, Error> {
        let place = self.policy_place(route).await?;
        let answer = self.transport().repeat(&place.call(self, Method::GET, None).await?).await;
        let answer = answer.map_err(|error| place.explain(error))?;
        answer.object::<RawEgress>("network policy", self.client().unknown())?.check()
    }

    /// Puts a policy in the place of the one that holds. Sent once.
    pub async fn replace_network_policy(&self, route: PolicyRoute, policy: &NetworkPolicy) -> Result<(), Error> {
        self.change_policy(route, Method::PUT, policy.to_json()?).await.map(drop)
    }

    /// Adds rules before those that hold; a rule for a target that has one takes its place. Sent once.
    pub async fn add_egress_rules(&self, route: PolicyRoute, rules: &[EgressRule]) -> Result<(), Error> {
        if rules.is_empty() {
            return Err(Error::invalid("no egress rule is given"));
        }
        let rules = rules.iter().map(EgressRule::to_json).collect::<Result<Value, _>>()?;
        self.change_policy(route, Method::PATCH, rules).await.map(drop)
    }

    /// Removes the rules for these targets; one that has none is as good as removed. Sent once.
    pub async fn remove_egress_rules(&self, route: PolicyRoute, targets: &[&str]) -> Result<(), Error> {
        if targets.is_empty() {
            return Err(Error::invalid("no target is given"));
        }
        self.change_policy(route, Method::DELETE, json!(targets)).await.map(drop)
    }

    async fn change_policy(&self, route: PolicyRoute, method: Method, body: Value) -> Result<Answer, Error> {
        let place = self.policy_place(route).await?;
        let call = place.call(self, method, Some(&body)).await?;
        let sent = self.transport().once(&call, "network policy", self.transport().timeouts.request).await;
        sent.map_err(|error| place.explain(error))
    }

    async fn policy_place(&self, route: PolicyRoute) -> Result<Place, Error> {
        Ok(match route {
            PolicyRoute::Sidecar => {
                let port = self.port(EGRESS_PORT).await?;
                Place::Sidecar(port.url(&["policy"])?, Box::new(port))
            }
            PolicyRoute::Lifecycle => {
                Place::Lifecycle(self.client().url(&["sandboxes", self.id(), "networkpolicy"])?)
            }
        })
    }
}

/// Where the policy is.
enum Place {
    Sidecar(Url, Box<Port>),
    Lifecycle(Url),
}

impl Place {
    async fn call<'a>(&'a self, sandbox: &'a Sandbox, method: Method, body: Option<&Value>) -> Result<Call<'a>, Error> {
        match (self, body) {
            (Self::Sidecar(url, port), Some(body)) => Ok(port.call_with(method, url.clone(), body)),
            (Self::Sidecar(url, port), None) => Ok(port.call(method, url.clone())),
            (Self::Lifecycle(url), body) => sandbox.client().call(method, url.clone(), body.cloned()).await,
        }
    }

    fn explain(&self, error: Error) -> Error {
        match self {
            Self::Lifecycle(_) => error.unless_supported("network policy"),
            Self::Sidecar(..) => error,
        }
    }
}
