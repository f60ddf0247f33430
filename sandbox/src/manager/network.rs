//! From what a profile may reach to what a server is told, and which servers cannot hold it.
//!
//! Rule: nothing is left to a server's default. A network that is to be closed is written out whole; a server that cannot
//! close it is refused before anything is made there.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use domain::resource::{EgressEnforcement, SandboxNetwork, SandboxProfileSpec, SandboxTier, SecureRuntime};
use domain::sandbox::{CallMark, EgressAttempt, EgressAttempts, EgressVerdict, SandboxError, SandboxTarget, Setting};

use super::failure::failure;
use crate::opensandbox::{
    self, Attempt, Attempts, EgressAction, EgressRule, EgressStatus, NetworkPolicy, PolicyRoute, Sandbox, SandboxInfo,
};
use crate::public_network::closed_blocks;

/// Names inside clusters and clouds, which are no public network either.
const INNER_NAMES: [&str; 5] = ["localhost", "*.internal", "*.local", "*.svc", "kubernetes.default"];

const PROXY_EXTENSION: &str = "vitrine.proxy";
const PROXY_BASE: &str = "http://127.0.0.1:";

/// The policy of a new sandbox. None only where leaving it out closes what is to be closed.
pub(super) fn policy(
    target: &SandboxTarget,
    profile: &SandboxProfileSpec,
) -> Result<Option<NetworkPolicy>, SandboxError> {
    match (target.tier, profile.network) {
        // The local runtime has no network but what a policy opens.
        (SandboxTier::Local, SandboxNetwork::None) => Ok(None),
        (SandboxTier::Local, _) => Ok(Some(written_out(profile))),
        (SandboxTier::Remote, network) => {
            let is_sent = is_sent(target, network)?;
            Ok(is_sent.then(|| written_out(profile)))
        }
    }
}

/// Whether the policy is sent: a cluster's own rule takes none.
fn is_sent(target: &SandboxTarget, network: SandboxNetwork) -> Result<bool, SandboxError> {
    let is_gvisor = target.secure_runtime == SecureRuntime::Gvisor;
    match (target.egress, network) {
        (None, _) => Err(refused(
            "egress_not_declared",
            "the sandbox connection does not say what keeps sandboxes from the network; publish a version of it with egress",
        )),
        (Some(EgressEnforcement::Sidecar), _) if is_gvisor => Err(refused(
            "spec_refused",
            "egress: the sidecar cannot run in gVisor; choose a server with Kata, or the network PUBLIC on one whose \
             cluster closes the private ranges",
        )),
        (Some(EgressEnforcement::Sidecar), _) => Ok(true),
        (Some(EgressEnforcement::Cni), SandboxNetwork::Public) => Ok(false),
        (Some(EgressEnforcement::Cni), SandboxNetwork::None | SandboxNetwork::Hosts) => Err(refused(
            "spec_refused",
            "network: a rule of the cluster leaves the public network open; choose the network PUBLIC, or a server with \
             the egress sidecar",
        )),
    }
}

fn written_out(profile: &SandboxProfileSpec) -> NetworkPolicy {
    match profile.network {
        SandboxNetwork::None => NetworkPolicy::deny_all(),
        SandboxNetwork::Hosts => NetworkPolicy::allow_only(profile.network_hosts.iter().map(String::as_str)),
        SandboxNetwork::Public => {
            let closed = closed_blocks().chain(INNER_NAMES.map(str::to_owned));
            NetworkPolicy { default_action: EgressAction::Allow, egress: closed.map(EgressRule::deny).collect() }
        }
    }
}

/// Asks the server what holds in a new sandbox. A policy that is not the one that was sent, or that stops names only, is
/// none: programs may connect to any address.
pub(super) async fn verify(remote: &Sandbox, sent: &NetworkPolicy) -> Result<(), SandboxError> {
    let holds = remote.network_policy(PolicyRoute::Sidecar).await.map_err(|error| failure(&error))?;
    judge(&holds, sent)
}

fn judge(holds: &EgressStatus, sent: &NetworkPolicy) -> Result<(), SandboxError> {
    if !closes_all_of(&holds.policy, sent) {
        return Err(refused(
            "egress_not_deny_default",
            "the server does not hold the network policy that it was given; look at its [egress] settings",
        ));
    }
    match holds.enforcement {
        opensandbox::EgressEnforcement::DnsAndPackets => Ok(()),
        opensandbox::EgressEnforcement::Dns => Err(refused(
            "egress_mode_insufficient",
            "the server stops names and no addresses; set [egress] mode = \"dns+nft\" there",
        )),
    }
}

/// Whether a policy has the default and every rule of the one that was sent, in their order. What a server adds may only
/// close more.
fn closes_all_of(holds: &NetworkPolicy, sent: &NetworkPolicy) -> bool {
    let mut wanted = sent.egress.iter().peekable();
    let is_rule_fine =
        |rule: &EgressRule| wanted.next_if(|next| *next == rule).is_some() || rule.action == EgressAction::Deny;
    holds.default_action == sent.default_action && holds.egress.iter().all(is_rule_fine) && wanted.next().is_none()
}

/// Where programs of a sandbox reach the filtering proxy, as the local runtime tells it.
pub(super) fn proxy(info: &SandboxInfo) -> Option<String> {
    let proxy = info.extensions.get(PROXY_EXTENSION)?;
    // It becomes a variable of every program: only what can be nothing else is taken.
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    proxy.strip_prefix(PROXY_BASE).is_some_and(is_port).then(|| proxy.clone())
}

/// What programs tried to reach behind this place.
pub(super) async fn attempts(remote: &Sandbox, after: u64) -> Result<EgressAttempts, SandboxError> {
    let Attempts { attempts, next } = remote.egress_attempts(after).await.map_err(|error| failure(&error))?;
    let attempts = attempts.into_iter().map(|Attempt { via, host, port, is_allowed, reason }| EgressAttempt {
        call: via.and_then(mark_of),
        host,
        port,
        verdict: if is_allowed { EgressVerdict::Allowed } else { EgressVerdict::Denied },
        reason,
    });
    Ok(EgressAttempts { attempts: attempts.collect(), next })
}

/// The variables that programs of a call get from the profile, from its credentials, and for the proxy. Each call has an
/// address of its own for the proxy, so that whose an attempt is shows for programs, too, that know no user of a proxy.
pub(super) fn environment(setting: &Setting, proxy: Option<&str>) -> BTreeMap<String, String> {
    let mut environment = setting.environment.clone();
    if let Some(port) = proxy.and_then(|proxy| proxy.strip_prefix(PROXY_BASE)) {
        let address = setting.call.map_or(Ipv4Addr::LOCALHOST, |call| address_of(CallMark::of(call)));
        let url = format!("http://{address}:{port}");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            environment.insert(name.to_owned(), url.clone());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            environment.insert(name.to_owned(), String::new());
        }
    }
    environment
}

/// Every address of 127.0.0.0/8 is the sandbox's own loopback. One of a call is odd and within 127.64.0.0/10, and so
/// never 127.0.0.1, nor a broadcast address.
const CALL_ADDRESSES: u32 = 0x7f40_0001;

fn address_of(mark: CallMark) -> Ipv4Addr {
    Ipv4Addr::from_bits(CALL_ADDRESSES | mark.bits() << 1)
}

fn mark_of(address: Ipv4Addr) -> Option<CallMark> {
    let mark = CallMark::new((address.to_bits() & !CALL_ADDRESSES) >> 1);
    (address_of(mark) == address).then_some(mark)
}

/// Nothing was asked of the server: what is wanted cannot be had there.
pub(super) fn refused(code: &'static str, why: &str) -> SandboxError {
    SandboxError { code, message: why.to_owned(), sandbox_lost: false }
}

#[cfg(test)]
mod tests {
    use domain::ids::ResourceId;
    use domain::testing::{plain_profile, plain_target};

    use super::*;

    const NETWORKS: [SandboxNetwork; 3] = [SandboxNetwork::None, SandboxNetwork::Hosts, SandboxNetwork::Public];

    fn policy_of(
        tier: SandboxTier,
        (runtime, egress): (SecureRuntime, Option<EgressEnforcement>),
        network: SandboxNetwork,
    ) -> Result<Option<NetworkPolicy>, &'static str> {
        let plain = plain_target(tier, "https://sandboxes.example");
        let target = SandboxTarget { secure_runtime: runtime, egress, ..plain };
        let network_hosts = vec!["api.example.com".to_owned()];
        let profile = SandboxProfileSpec { network, network_hosts, ..plain_profile(ResourceId::from_bits(1)) };
        policy(&target, &profile).map_err(|error| error.code)
    }

    /// Row 62 and S16: a deny default is always sent, and read as one.
    #[test]
    fn a_closed_network_is_always_written_out() {
        for runtime in [SecureRuntime::Runc, SecureRuntime::Kata] {
            let sidecar = (runtime, Some(EgressEnforcement::Sidecar));
            let [none, hosts, public] =
                NETWORKS.map(|network| policy_of(SandboxTier::Remote, sidecar, network).unwrap());
            assert_eq!(none, Some(NetworkPolicy::deny_all()));
            assert_eq!(hosts, Some(NetworkPolicy::allow_only(["api.example.com"])));
            let public = public.unwrap();
            assert_eq!(public.default_action, EgressAction::Allow);
            assert!(public.egress.iter().all(|rule| rule.action == EgressAction::Deny));
            for closed in
                ["*.internal", "10.0.0.0/8", "169.254.0.0/16", "168.63.129.16/32", "2002::/16", "::/3", "8000::/1"]
            {
                assert!(public.egress.contains(&EgressRule::deny(closed)), "{closed} is open");
            }
        }
    }

    /// S15 and S16: gVisor with a closed or host-list network is refused; the open one on an attested cluster has no policy.
    #[test]
    fn a_cluster_rule_holds_the_public_network_alone() {
        for runtime in [SecureRuntime::Gvisor, SecureRuntime::Runc, SecureRuntime::Kata] {
            let cni = (runtime, Some(EgressEnforcement::Cni));
            let outcomes = NETWORKS.map(|network| policy_of(SandboxTier::Remote, cni, network));
            assert_eq!(outcomes, [Err("spec_refused"), Err("spec_refused"), Ok(None)]);
        }
    }

    #[test]
    fn a_server_that_cannot_hold_it_is_refused() {
        for network in NETWORKS {
            let gvisor = (SecureRuntime::Gvisor, Some(EgressEnforcement::Sidecar));
            assert_eq!(policy_of(SandboxTier::Remote, gvisor, network), Err("spec_refused"));
            let silent = (SecureRuntime::Kata, None);
            assert_eq!(policy_of(SandboxTier::Remote, silent, network), Err("egress_not_declared"));
        }
    }

    #[test]
    fn the_proxy_knows_the_call_by_its_address() {
        let call = domain::ids::ToolCallId::from_bits(7);
        let declared = ("RUST_LOG".to_owned(), "info".to_owned());
        let setting = Setting { call: Some(call), environment: [declared].into(), ..Setting::default() };
        let environment = environment(&setting, Some("http://127.0.0.1:3128"));
        assert_eq!(environment["HTTPS_PROXY"], "http://127.64.0.15:3128");
        assert_eq!((environment["NO_PROXY"].as_str(), environment["RUST_LOG"].as_str()), ("", "info"));
        assert!(!super::environment(&setting, None).contains_key("HTTP_PROXY"));
        for bits in [0, 1, 7, 0x1f_ffff] {
            let mark = CallMark::new(bits);
            assert_eq!(mark_of(address_of(mark)), Some(mark));
        }
        for other in ["127.0.0.1", "127.64.0.2", "127.128.0.1", "126.64.0.1", "10.64.0.1"] {
            assert_eq!(mark_of(other.parse().unwrap()), None, "{other}");
        }
    }

    /// Seed 003: a sidecar that allows, or that only answers names, is refused before anything runs.
    #[test]
    fn what_the_server_holds_must_be_what_was_sent() {
        use crate::opensandbox::EgressEnforcement::{Dns, DnsAndPackets};
        use crate::opensandbox::EgressMode;
        let judged = |sent: &NetworkPolicy, enforcement, policy: &NetworkPolicy| {
            let status = EgressStatus { mode: EgressMode::Enforcing, enforcement, policy: policy.clone() };
            judge(&status, sent).map_err(|error| error.code)
        };
        let (closed, listed) = (NetworkPolicy::deny_all(), NetworkPolicy::allow_only(["api.example.com"]));
        let open = NetworkPolicy { default_action: EgressAction::Allow, egress: Vec::new() };
        assert_eq!(judged(&closed, DnsAndPackets, &closed), Ok(()));
        assert_eq!(judged(&closed, Dns, &closed), Err("egress_mode_insufficient"));
        assert_eq!(judged(&closed, DnsAndPackets, &open), Err("egress_not_deny_default"));
        assert_eq!(judged(&listed, DnsAndPackets, &closed), Err("egress_not_deny_default"));
        let held = |rules: &[EgressRule]| NetworkPolicy { egress: rules.to_vec(), ..listed.clone() };
        let [allowed, other, denied] =
            [EgressRule::allow("api.example.com"), EgressRule::allow("evil.example"), EgressRule::deny("a.example")];
        for (rules, verdict) in [
            (vec![allowed.clone()], Ok(())),
            (vec![denied.clone(), allowed.clone(), denied.clone()], Ok(())),
            (vec![other.clone()], Err("egress_not_deny_default")),
            (vec![allowed.clone(), other.clone()], Err("egress_not_deny_default")),
            (vec![denied.clone()], Err("egress_not_deny_default")),
            (vec![EgressRule::deny("api.example.com")], Err("egress_not_deny_default")),
        ] {
            assert_eq!(judged(&listed, DnsAndPackets, &held(&rules)), verdict, "{rules:?}");
        }
        let two = held(&[denied.clone(), other.clone()]);
        assert_eq!(judged(&two, DnsAndPackets, &two), Ok(()));
        assert_eq!(judged(&two, DnsAndPackets, &held(&[other, denied])), Err("egress_not_deny_default"));
    }

    #[test]
    fn the_local_runtime_is_told_what_to_open() {
        let local = (SecureRuntime::Runc, None);
        let policies = NETWORKS.map(|network| policy_of(SandboxTier::Local, local, network).unwrap());
        assert_eq!(policies[0], None);
        assert_eq!(policies[1], Some(NetworkPolicy::allow_only(["api.example.com"])));
        assert!(policies[2].is_some());
    }
}
