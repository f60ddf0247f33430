use super::*;
use crate::ids::ResourceId;

fn sound_connection() -> SandboxConnectionSpec {
    SandboxConnectionSpec {
        tier: SandboxTier::Remote,
        base_url: "https://sandboxes.example".to_owned(),
        credential_id: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
        endpoint_ports: Vec::new(),
        endpoint_paths: Vec::new(),
        route: SandboxRoute::Gateway,
        secure_access: true,
        secure_runtime: SecureRuntime::Kata,
        egress: Some(EgressEnforcement::Sidecar),
    }
}

fn shown(spec: &SandboxConnectionSpec) -> Vec<String> {
    connection(spec).iter().map(|fault| format!("{} {}", fault.path.join("."), fault.code)).collect()
}

fn faults_of(change: impl FnOnce(&mut SandboxConnectionSpec)) -> Vec<String> {
    let mut spec = sound_connection();
    change(&mut spec);
    shown(&spec)
}

#[test]
fn what_is_sound_passes() {
    assert_eq!(faults_of(|_| {}), Vec::<String>::new());
}

#[test]
fn an_address_that_cannot_lead_to_a_server_is_refused() {
    for good in [
        "https://sandboxes.example",
        "https://sandboxes.example:8443/prefix/v1",
        "https://10.1.2.3",
        "https://[fd00::1]:8443",
        "http://localhost:8080",
        "http://127.0.0.2",
        "http://[::1]:1",
    ] {
        assert_eq!(faults_of(|spec| spec.base_url = good.to_owned()), Vec::<String>::new(), "{good}");
    }
    for bad in [
        "",
        "sandboxes.example",
        "https://",
        "https:///v1",
        "https://:8080",
        "ftp://sandboxes.example",
        "HTTPS:sandboxes.example",
        "https://sandboxes.example:99999",
        "https://sandboxes.example:0",
        "https://sandboxes.example:a",
        "https://user@sandboxes.example",
        "https://user:word@sandboxes.example",
        "https://sandboxes.example?key=1",
        "https://sandboxes.example/#v1",
        "https://sand boxes.example",
        " https://sandboxes.example",
        "https://sandboxes.example\n",
        "https://sandboxes.example\\v1",
        "https://[::1",
        "https://300.1.2.3",
        "local",
        "local:8080",
    ] {
        assert_eq!(faults_of(|spec| spec.base_url = bad.to_owned()), ["spec.baseUrl MALFORMED"], "{bad:?}");
    }
}

#[test]
fn plain_http_beyond_loopback_is_refused_before_it_is_stored() {
    for url in ["http://sandboxes.example", "http://10.0.0.1:8080", "http://[fd00::1]", "http://localhost.example"] {
        assert_eq!(faults_of(|spec| spec.base_url = url.to_owned()), ["spec.baseUrl PLAINTEXT_REFUSED"], "{url}");
        let allowed = |spec: &mut SandboxConnectionSpec| {
            spec.base_url = url.to_owned();
            spec.allow_plaintext = true;
        };
        assert_eq!(faults_of(allowed), Vec::<String>::new(), "{url}");
    }
}

#[test]
fn a_host_of_endpoints_is_a_host_and_nothing_else() {
    for good in ["box.example", "*.box.example", "gateway", "Box.example", "10.1.2.3", "[fd00::1]", "a_b.example"] {
        let faults = faults_of(|spec| spec.endpoint_hosts = vec![good.to_owned()]);
        assert_eq!(faults, Vec::<String>::new(), "{good}");
    }
    for bad in [
        "",
        " ",
        "box.example ",
        "box .example",
        "https://box.example",
        "box.example:8080",
        "10.1.2.3:8080",
        "[fd00::1]:8080",
        "fd00::1",
        "box.example/v1",
        "user@box.example",
        "*",
        "*.",
        "*box.example",
        "a.*.example",
        "*.*.example",
        "*.10.1.2.3",
        "10.1.2",
        "0x7f.1",
        "box.example.",
        "box..example",
        "b\u{f6}x.example",
        "box\n.example",
    ] {
        let faults = faults_of(|spec| spec.endpoint_hosts = vec!["a.example".to_owned(), bad.to_owned()]);
        assert_eq!(faults, ["spec.endpointHosts.1 MALFORMED"], "{bad:?}");
    }
    let twice = faults_of(|spec| spec.endpoint_hosts = vec!["a.example".to_owned(); 2]);
    assert_eq!(twice, ["spec.endpointHosts.1 DUPLICATE"]);
    let many = (0..65).map(|n| format!("h{n}.example")).collect();
    assert_eq!(faults_of(|spec| spec.endpoint_hosts = many), ["spec.endpointHosts TOO_MANY"]);
}

#[test]
fn a_port_of_endpoints_is_a_number_or_a_range() {
    for good in ["1", "443", "65535", "40000-60000", "8080-8080"] {
        assert_eq!(faults_of(|spec| spec.endpoint_ports = vec![good.to_owned()]), Vec::<String>::new(), "{good}");
    }
    for bad in
        ["", "0", "65536", "080", "+80", "-80", "80-", "a", "80 ", "9-8", "1-65536", "1-2-3", "80,81", "*", "\u{663}"]
    {
        let faults = faults_of(|spec| spec.endpoint_ports = vec!["443".to_owned(), bad.to_owned()]);
        assert_eq!(faults, ["spec.endpointPorts.1 MALFORMED"], "{bad:?}");
    }
    let twice = faults_of(|spec| spec.endpoint_ports = vec!["443".to_owned(); 2]);
    assert_eq!(twice, ["spec.endpointPorts.1 DUPLICATE"]);
    let many = (1..=65).map(|port| port.to_string()).collect();
    assert_eq!(faults_of(|spec| spec.endpoint_ports = many), ["spec.endpointPorts TOO_MANY"]);
    assert_eq!(port_range("40000-60000"), Some(40_000..=60_000));
}

#[test]
fn a_path_of_endpoints_is_made_of_plain_segments() {
    for good in ["/", "/proxy", "/v1/sandboxes/", "/a-b_c.d~e/F9"] {
        assert_eq!(faults_of(|spec| spec.endpoint_paths = vec![good.to_owned()]), Vec::<String>::new(), "{good}");
    }
    for bad in ["", "proxy", "//", "/a//b", "/..", "/a/./b", "/a b", "/%2e", "/a?b", "/a#b", "/\u{e9}", "/a\n"] {
        let faults = faults_of(|spec| spec.endpoint_paths = vec!["/box".to_owned(), bad.to_owned()]);
        assert_eq!(faults, ["spec.endpointPaths.1 MALFORMED"], "{bad:?}");
    }
    let twice = faults_of(|spec| spec.endpoint_paths = vec!["/box".to_owned(); 2]);
    assert_eq!(twice, ["spec.endpointPaths.1 DUPLICATE"]);
    let many = (0..65).map(|number| format!("/{number}")).collect();
    assert_eq!(faults_of(|spec| spec.endpoint_paths = many), ["spec.endpointPaths TOO_MANY"]);
}

/// Field, rule and fix: an error says all three.
#[test]
fn a_fault_says_how_to_mend_it() {
    let mut spec = sound_connection();
    for (url, fix) in [("http://a.example", "Use https, or set allowPlaintext"), ("ftp://a", "such as https://")] {
        spec.base_url = url.to_owned();
        let fault = connection(&spec).remove(0).to_string();
        assert!(fault.starts_with("spec.baseUrl: ") && fault.contains(fix), "{fault}");
    }
}

/// What seed 003 refuses when it reads its tiers: neither mechanism, and the sidecar under gVisor.
#[test]
fn a_server_says_what_keeps_its_sandboxes_from_the_network() {
    assert_eq!(faults_of(|spec| spec.egress = None), ["spec.egress EGRESS_NOT_DECLARED"]);
    let mistyped = |spec: &mut SandboxConnectionSpec| {
        spec.base_url = "locl:".to_owned();
        spec.egress = None;
    };
    assert_eq!(faults_of(mistyped), ["spec.baseUrl MALFORMED"], "what it should declare depends on what was meant");
    let gvisor = |spec: &mut SandboxConnectionSpec| spec.secure_runtime = SecureRuntime::Gvisor;
    assert_eq!(faults_of(gvisor), ["spec.egress EGRESS_IMPOSSIBLE"]);
    let attested = |spec: &mut SandboxConnectionSpec| {
        spec.secure_runtime = SecureRuntime::Gvisor;
        spec.egress = Some(EgressEnforcement::Cni);
    };
    assert_eq!(faults_of(attested), Vec::<String>::new());
}

#[test]
fn a_key_for_each_sandbox_needs_a_gateway() {
    let direct = |spec: &mut SandboxConnectionSpec| spec.route = SandboxRoute::Direct;
    assert_eq!(faults_of(direct), ["spec.secureAccess SECURE_ACCESS_UNREACHABLE"]);
}

#[test]
fn nothing_is_declared_of_the_local_runtime() {
    let faults = faults_of(|spec| {
        spec.tier = SandboxTier::Local;
        spec.credential_id = Some(ResourceId::from_bits(1));
        spec.allow_plaintext = true;
        spec.endpoint_hosts = vec!["a.example".to_owned()];
        spec.endpoint_ports = vec!["443".to_owned()];
        spec.endpoint_paths = vec!["/box".to_owned()];
    });
    assert_eq!(
        faults,
        [
            "spec.credentialId CONFLICTING",
            "spec.allowPlaintext CONFLICTING",
            "spec.endpointHosts CONFLICTING",
            "spec.endpointPorts CONFLICTING",
            "spec.endpointPaths CONFLICTING",
            "spec.route CONFLICTING",
            "spec.secureAccess CONFLICTING",
            "spec.secureRuntime CONFLICTING",
            "spec.egress CONFLICTING"
        ]
    );
}

#[test]
fn warnings_say_what_the_operator_allowed() {
    let mut spec = sound_connection();
    assert_eq!(spec.warnings(), []);
    spec.allow_plaintext = true;
    spec.secure_access = false;
    spec.egress = Some(EgressEnforcement::Cni);
    let codes: Vec<_> = spec.warnings().iter().map(|warning| warning.code).collect();
    assert_eq!(codes, ["PLAINTEXT_ALLOWED", "SECURE_ACCESS_OFF", "EGRESS_BY_CLUSTER"]);
}

/// A specification as the first releases stored it.
#[test]
fn what_older_versions_stored_is_read_and_written_as_it_was() {
    let connection = r#"{"tier":"REMOTE","baseUrl":"https://a.example","credentialId":null,"allowPlaintext":false,"endpointHosts":[]}"#;
    let read: SandboxConnectionSpec = serde_json::from_str(connection).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), connection);
}
