use super::*;
use crate::ids::ResourceId;
use crate::resource::SandboxCredential;

fn sound_profile() -> SandboxProfileSpec {
    SandboxProfileSpec {
        connection_id: ResourceId::from_bits(1),
        image: "vitrine/code".to_owned(),
        cpu_millis: 1000,
        memory_bytes: 64 * MEBIBYTE,
        disk_bytes: 64 * MEBIBYTE,
        pids: 64,
        ttl_seconds: 600,
        idle_ttl_seconds: Some(60),
        network: SandboxNetwork::Hosts,
        network_hosts: vec!["api.example.com".to_owned(), "*.xn--bcher-kva.example".to_owned()],
        user: Some("nobody".to_owned()),
        environment: [("RUST_LOG".to_owned(), "info".to_owned())].into(),
        credentials: vec![SandboxCredential {
            credential_id: ResourceId::from_bits(2),
            name: "TOKEN".to_owned(),
            ttl_seconds: 300,
        }],
        command_timeout_ms: 60_000,
    }
}

fn sound_connection() -> SandboxConnectionSpec {
    SandboxConnectionSpec {
        tier: SandboxTier::Remote,
        base_url: "https://sandboxes.example".to_owned(),
        credential_id: None,
        allow_plaintext: false,
        endpoint_hosts: Vec::new(),
        route: SandboxRoute::Gateway,
        secure_access: true,
        secure_runtime: SecureRuntime::Kata,
        egress: Some(EgressEnforcement::Sidecar),
    }
}

fn shown(faults: Vec<InvalidInput>) -> Vec<String> {
    faults.iter().map(|fault| format!("{} {}", fault.path.join("."), fault.code)).collect()
}

fn faults_of(change: impl FnOnce(&mut SandboxProfileSpec)) -> Vec<String> {
    let mut spec = sound_profile();
    change(&mut spec);
    shown(profile(&spec))
}

fn faults_of_connection(change: impl FnOnce(&mut SandboxConnectionSpec)) -> Vec<String> {
    let mut spec = sound_connection();
    change(&mut spec);
    shown(connection(&spec))
}

#[test]
fn what_is_sound_passes() {
    assert_eq!(faults_of(|_| {}), Vec::<String>::new());
    assert_eq!(faults_of_connection(|_| {}), Vec::<String>::new());
}

#[test]
fn a_host_is_a_name_and_never_an_address() {
    for bad in [
        "",
        "localhost",
        "API.example.com",
        "10.0.0.1",
        "0x7f.1",
        "[::1]",
        "::1",
        "a..b",
        "-a.example",
        "a-.example",
        "*",
        "*.",
        "*.com",
        "a.*.example",
        "https://a.example",
        "a.example:443",
        "a.example/",
        "a.example.",
        "ü.example",
        "user@a.example",
        "1.2.3.0/24",
    ] {
        let faults = faults_of(|spec| spec.network_hosts = vec![bad.to_owned()]);
        assert_eq!(faults, ["spec.networkHosts.0 MALFORMED"], "{bad}");
    }
}

#[test]
fn hosts_belong_to_the_network_of_hosts() {
    assert_eq!(faults_of(|spec| spec.network_hosts.clear()), ["spec.networkHosts MISSING"]);
    for network in [SandboxNetwork::None, SandboxNetwork::Public] {
        assert_eq!(faults_of(|spec| spec.network = network), ["spec.networkHosts CONFLICTING"]);
    }
    let many = (0..65).map(|n| format!("h{n}.example.com")).collect();
    assert_eq!(faults_of(|spec| spec.network_hosts = many), ["spec.networkHosts TOO_MANY"]);
    let twice = faults_of(|spec| spec.network_hosts.push("api.example.com".to_owned()));
    assert_eq!(twice, ["spec.networkHosts.2 DUPLICATE"]);
}

#[test]
fn lifetimes_users_and_variables_have_bounds() {
    assert_eq!(faults_of(|spec| spec.idle_ttl_seconds = Some(4)), ["spec.idleTtlSeconds OUT_OF_RANGE"]);
    assert_eq!(faults_of(|spec| spec.idle_ttl_seconds = Some(601)), ["spec.idleTtlSeconds OUT_OF_RANGE"]);
    for bad in ["", "Root", "a b", "4294967296", "-1", "a;id"] {
        assert_eq!(faults_of(|spec| spec.user = Some(bad.to_owned())), ["spec.user MALFORMED"], "{bad}");
    }
    for (name, code) in [
        ("PATH", "RESERVED"),
        ("https_proxy", "RESERVED"),
        ("LD_PRELOAD", "RESERVED"),
        ("EXECD_ACCESS_TOKEN", "RESERVED"),
        ("1A", "MALFORMED"),
        ("A-B", "MALFORMED"),
        ("", "MALFORMED"),
    ] {
        let faults = faults_of(|spec| spec.environment = [(name.to_owned(), String::new())].into());
        assert_eq!(faults, [format!("spec.environment.{name} {code}")]);
    }
    let faults = faults_of(|spec| spec.environment = [("A".to_owned(), "a\nb".to_owned())].into());
    assert_eq!(faults, ["spec.environment.A MALFORMED"]);
}

#[test]
fn credentials_have_a_name_of_their_own_and_a_short_life() {
    for bad in ["", "token", "1A", "A-B", "../A", "LD_X"] {
        let faults = faults_of(|spec| spec.credentials[0].name = bad.to_owned());
        assert_eq!(faults, ["spec.credentials.0.name MALFORMED"], "{bad}");
    }
    let twice = faults_of(|spec| spec.credentials.push(spec.credentials[0].clone()));
    assert_eq!(twice, ["spec.credentials.1.name DUPLICATE"]);
    let hidden = faults_of(|spec| spec.environment = [("TOKEN_FILE".to_owned(), String::new())].into());
    assert_eq!(hidden, ["spec.credentials.0.name DUPLICATE"]);
    let long = faults_of(|spec| spec.credentials[0].ttl_seconds = 3601);
    assert_eq!(long, ["spec.credentials.0.ttlSeconds OUT_OF_RANGE"]);
}

/// What seed 003 refuses when it reads its tiers: neither mechanism, and the sidecar under gVisor.
#[test]
fn a_server_says_what_keeps_its_sandboxes_from_the_network() {
    assert_eq!(faults_of_connection(|spec| spec.egress = None), ["spec.egress EGRESS_NOT_DECLARED"]);
    let gvisor = |spec: &mut SandboxConnectionSpec| spec.secure_runtime = SecureRuntime::Gvisor;
    assert_eq!(faults_of_connection(gvisor), ["spec.egress EGRESS_IMPOSSIBLE"]);
    let attested = |spec: &mut SandboxConnectionSpec| {
        spec.secure_runtime = SecureRuntime::Gvisor;
        spec.egress = Some(EgressEnforcement::Cni);
    };
    assert_eq!(faults_of_connection(attested), Vec::<String>::new());
}

#[test]
fn a_key_for_each_sandbox_needs_a_gateway() {
    let direct = |spec: &mut SandboxConnectionSpec| spec.route = SandboxRoute::Direct;
    assert_eq!(faults_of_connection(direct), ["spec.secureAccess SECURE_ACCESS_UNREACHABLE"]);
}

#[test]
fn nothing_is_declared_of_the_local_runtime() {
    let faults = faults_of_connection(|spec| spec.tier = SandboxTier::Local);
    assert_eq!(
        faults,
        [
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

/// Specifications as the first releases stored them.
#[test]
fn what_older_versions_stored_is_read_and_written_as_it_was() {
    let profile = r#"{"connectionId":"ID","image":"vitrine/code","cpuMillis":1000,"memoryBytes":1,"diskBytes":1,"pids":64,"ttlSeconds":900,"network":"NONE","commandTimeoutMs":60000}"#;
    let profile = profile.replace("ID", &ResourceId::from_bits(1).to_string());
    let read: SandboxProfileSpec = serde_json::from_str(&profile).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), profile);
    let connection = r#"{"tier":"REMOTE","baseUrl":"https://a.example","credentialId":null,"allowPlaintext":false,"endpointHosts":[]}"#;
    let read: SandboxConnectionSpec = serde_json::from_str(connection).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), connection);
}
