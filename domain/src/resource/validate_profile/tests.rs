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

fn shown(faults: Vec<InvalidInput>) -> Vec<String> {
    faults.iter().map(|fault| format!("{} {}", fault.path.join("."), fault.code)).collect()
}

fn faults_of(change: impl FnOnce(&mut SandboxProfileSpec)) -> Vec<String> {
    let mut spec = sound_profile();
    change(&mut spec);
    shown(profile(&spec))
}

#[test]
fn what_is_sound_passes() {
    assert_eq!(faults_of(|_| {}), Vec::<String>::new());
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
fn a_profile_in_which_nothing_could_run_is_refused() {
    for pids in [0, 4, 6, MIN_PIDS - 1, 32_769] {
        assert_eq!(faults_of(|spec| spec.pids = pids), ["spec.pids OUT_OF_RANGE"], "{pids}");
    }
    assert_eq!(faults_of(|spec| spec.pids = MIN_PIDS), Vec::<String>::new());
    for image in ["", "vitrine /code", "Vitrine/Code", "a\n"] {
        assert_eq!(faults_of(|spec| spec.image = image.to_owned()), ["spec.image MALFORMED"], "{image:?}");
    }
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

/// A specification as the first releases stored it.
#[test]
fn what_older_versions_stored_is_read_and_written_as_it_was() {
    let profile = r#"{"connectionId":"ID","image":"vitrine/code","cpuMillis":1000,"memoryBytes":1,"diskBytes":1,"pids":64,"ttlSeconds":900,"network":"NONE","commandTimeoutMs":60000}"#;
    let profile = profile.replace("ID", &ResourceId::from_bits(1).to_string());
    let read: SandboxProfileSpec = serde_json::from_str(&profile).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), profile);
}
