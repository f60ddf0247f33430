use proptest::prelude::*;

use super::super::connection::{Plaintext, Sharing};
use super::*;

fn connection(base: &str) -> Connection {
    let mut connection = Connection::new(Url::parse(base).unwrap(), "the-api-key".to_owned().into());
    connection.endpoint_hosts = vec!["*.gw.example".into(), "box.example".into()];
    connection
}

fn check(base: &str, endpoint: &str) -> Result<String, &'static str> {
    check_with(&connection(base), endpoint, &[]).map(|endpoint| endpoint.base.to_string()).map_err(|error| error.code())
}

fn check_with(connection: &Connection, endpoint: &str, headers: &[(&str, &str)]) -> Result<Endpoint, Error> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let wanted = Wanted { sandbox_id: "ab", port: 44772, needs_secure_access: false };
    Endpoint::check(connection, &EndpointAnswer { endpoint: endpoint.to_owned(), headers: Some(headers) }, wanted)
}

const LOCAL: &str = "http://127.0.0.1:8080";
const REMOTE: &str = "https://api.example";

#[test]
fn accepts_the_forms_that_servers_send() {
    for (base, endpoint, url) in [
        (LOCAL, "127.0.0.1:44772", "http://127.0.0.1:44772/"),
        (LOCAL, "127.0.0.1:9/proxy/44772", "http://127.0.0.1:9/proxy/44772"),
        (LOCAL, "localhost:9", "http://localhost:9/"),
        (LOCAL, "[::1]:9/x", "http://[::1]:9/x"),
        (REMOTE, "api.example/v1/sandboxes/ab/proxy/44772", "https://api.example/v1/sandboxes/ab/proxy/44772"),
        (REMOTE, "id-44772.gw.example", "https://id-44772.gw.example/"),
        (REMOTE, "box.example:8443/id/44772/", "https://box.example:8443/id/44772/"),
    ] {
        assert_eq!(check(base, endpoint).as_deref(), Ok(url), "{endpoint}");
    }
}

#[test]
fn refuses_every_other_form() {
    for endpoint in [
        "",
        "http://127.0.0.1:9",
        "httpbin.example",
        "user@api.example",
        "user:pw@api.example",
        "api.example@evil.example",
        "evil.example",
        "gw.example",
        "xgw.example",
        "a.gw.example.evil.example",
        "api.example:0",
        "api.example:65536",
        "api.example:",
        "api.example:080",
        "api.example:+80",
        "api.example:80:80",
        "api.example/a?b",
        "api.example/a#b",
        "api.example/../x",
        "api.example/a/./b",
        "api.example/%2e%2e/x",
        "api.example//evil.example",
        "api.example\\evil.example",
        "api.example /x",
        "api.example\r\nHost: evil",
        "api.example/\u{202e}x",
        "API.example",
        "аpi.example",
        "127.0.0.1:9",
        "localhost",
        "[::1]:9",
        "[::1",
        "[::1]9",
        "169.254.169.254",
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "127.1",
        "-a.gw.example",
        ".gw.example",
        "a..gw.example",
    ] {
        assert_eq!(check(REMOTE, endpoint), Err("endpoint_refused"), "{endpoint}");
    }
}

#[test]
fn never_allows_a_metadata_address_even_by_name() {
    let mut connection = connection(REMOTE);
    for host in [
        "169.254.169.254",
        "100.100.100.200",
        "0.0.0.0",
        "metadata.google.internal",
        "[fe80::1]",
        "[::]",
        "[fd00:ec2::254]",
        "[::ffff:a9fe:a9fe]",
        "[::ffff:7f00:1]",
    ] {
        connection.endpoint_hosts = vec![host.into()];
        connection.check().unwrap();
        assert_eq!(check_with(&connection, host, &[]).unwrap_err().code(), "endpoint_refused", "{host}");
    }
}

#[test]
fn allows_loopback_only_from_loopback() {
    assert!(check(LOCAL, "127.0.0.2:9").is_ok());
    assert_eq!(check("https://10.0.0.1", "127.0.0.1:9"), Err("endpoint_refused"));
}

#[test]
fn refuses_plaintext_off_the_machine() {
    assert_eq!(check(LOCAL, "box.example"), Err("plaintext_refused"));
    let mut open = connection(LOCAL);
    open.plaintext = Plaintext::Allowed;
    assert!(check_with(&open, "box.example", &[]).is_ok());
    let mut remote = connection("http://10.0.0.1");
    assert_eq!(remote.check().unwrap_err().code(), "plaintext_refused");
    remote.plaintext = Plaintext::Allowed;
    assert!(remote.check().is_ok());
}

#[test]
fn takes_only_headers_from_the_list() {
    let local = connection(LOCAL);
    let good = [("X-EXECD-ACCESS-TOKEN", "tok"), ("OpenSandbox-Ingress-To", "id-44772")];
    let endpoint = check_with(&local, "127.0.0.1:9", &good).unwrap();
    assert_eq!(endpoint.headers().get("x-execd-access-token").unwrap(), "tok");
    assert!(!format!("{endpoint:?} {:?}", endpoint.headers()).contains("tok\""));
    for bad in [
        ("Host", "evil"),
        ("Authorization", "x"),
        ("Cookie", "x"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("OPEN-SANDBOX-API-KEY", "x"),
        ("X-EXECD-ACCESS-TOKEN", "the-api-key"),
        ("OPENSANDBOX-EGRESS-AUTH", "Bearer the-api-key"),
        ("X-EXECD-ACCESS-TOKEN", "a\r\nHost: evil"),
        ("X-EXECD-ACCESS-TOKEN", ""),
        ("X-EXECD-ACCESS-TOKEN\r\nHost", "evil"),
    ] {
        assert_eq!(check_with(&local, "127.0.0.1:9", &[bad]).unwrap_err().code(), "endpoint_refused", "{bad:?}");
    }
}

#[test]
fn sends_the_key_only_to_the_own_origin_and_only_through_the_proxy() {
    let has_key = |connection: &Connection, endpoint: &str| {
        check_with(connection, endpoint, &[]).unwrap().headers().contains_key(API_KEY_HEADER)
    };
    let mut local = connection(LOCAL);
    assert!(!has_key(&local, "127.0.0.1:8080/proxy/44772"), "direct");
    local.route = Route::ServerProxy;
    assert!(has_key(&local, "127.0.0.1:8080/sandboxes/a/proxy/44772"), "own origin");
    assert!(!has_key(&local, "127.0.0.1:8081/sandboxes/a/proxy/44772"), "other port");
    assert!(!has_key(&local, "localhost:8080/sandboxes/a/proxy/44772"), "other name");
}

#[test]
fn bounds_the_number_of_headers_s7() {
    let local = connection(LOCAL);
    let twice = [("X-EXECD-ACCESS-TOKEN", "one"), ("x-execd-access-token", "two")];
    assert_eq!(check_with(&local, "127.0.0.1:9", &twice).unwrap_err().code(), "endpoint_refused");
    let names: Vec<String> = (0..9).map(|number| format!("X-{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    assert!(check_with(&local, "127.0.0.1:9", &many).unwrap_err().to_string().contains("too many"));
    let long = "x".repeat(4097);
    let long = [("X-EXECD-ACCESS-TOKEN", long.as_str())];
    assert_eq!(check_with(&local, "127.0.0.1:9", &long).unwrap_err().code(), "endpoint_refused");
}

#[test]
fn wants_the_token_of_secure_access_on_a_shared_server() {
    let mut shared = connection(REMOTE);
    shared.sharing = Sharing::Shared;
    assert_eq!(check_with(&shared, "box.example", &[]).unwrap_err().code(), "secure_access_missing");
    assert!(check_with(&shared, "box.example", &[("OpenSandbox-Secure-Access", "token")]).is_ok());
    let wanted = Wanted { sandbox_id: "ab", port: 44772, needs_secure_access: true };
    let answer = EndpointAnswer { endpoint: "box.example".into(), headers: None };
    assert_eq!(Endpoint::check(&connection(REMOTE), &answer, wanted).unwrap_err().code(), "secure_access_missing");
}

#[test]
fn takes_only_ports_and_paths_of_the_connection_s6() {
    let mut strict = connection(REMOTE);
    strict.endpoint_ports = vec![8000..=8443, 9000..=9000];
    strict.endpoint_paths = vec!["/v1/sandboxes/".into(), "/box".into()];
    // The first and the last are at the server's own address, whose port is no further one.
    for good in [
        "api.example/box",
        "api.example:8443/box/1",
        "box.example:9000/box",
        "api.example:443/v1/sandboxes/ab/proxy/44772",
    ] {
        assert!(check_with(&strict, good, &[]).is_ok(), "{good}");
    }
    for bad in [
        "api.example",
        "api.example/",
        "api.example/boxes",
        "api.example:80/box",
        "api.example:8444/box",
        "api.example:3306/box",
        "box.example/box",
        "box.example:443/box",
        "box.example:9001/box",
    ] {
        assert_eq!(check_with(&strict, bad, &[]).unwrap_err().code(), "endpoint_refused", "{bad}");
    }
    strict.endpoint_paths = vec!["box".into()];
    assert_eq!(strict.check().unwrap_err().code(), "connection_invalid");
    strict.endpoint_paths = Vec::new();
    strict.endpoint_ports = vec![0..=443];
    assert_eq!(strict.check().unwrap_err().code(), "connection_invalid");
}

#[test]
fn takes_a_gateway_only_when_it_names_the_sandbox_and_the_port() {
    let mut gateway = connection(REMOTE);
    gateway.route = Route::Gateway;
    let ingress = |value: &'static str| [("OpenSandbox-Ingress-To", value)];
    for good in
        ["ab-44772.gw.example", "ab-44772-zz9-0123456k.gw.example", "box.example/ab/44772", "box.example/x/ab/44772"]
    {
        let endpoint = check_with(&gateway, good, &[]).unwrap();
        assert!(!endpoint.headers().contains_key(API_KEY_HEADER), "{good}");
    }
    assert!(check_with(&gateway, "box.example", &ingress("ab-44772")).is_ok());
    for bad in
        ["cd-44772.gw.example", "ab-447720.gw.example", "ab-8080.gw.example", "box.example/cd/44772", "box.example"]
    {
        assert_eq!(check_with(&gateway, bad, &[]).unwrap_err().code(), "endpoint_refused", "{bad}");
    }
    assert_eq!(check_with(&gateway, "box.example", &ingress("cd-44772")).unwrap_err().code(), "endpoint_refused");
}

#[test]
fn says_when_traffic_is_readable_on_the_way() {
    let mut connection = connection("http://10.0.0.1");
    assert!(connection.is_readable_on_the_way());
    connection.base_url = Url::parse("https://10.0.0.1").unwrap();
    connection.plaintext = Plaintext::Allowed;
    assert!(!connection.is_readable_on_the_way());
    connection.base_url = Url::parse("http://127.0.0.1").unwrap();
    assert!(connection.is_readable_on_the_way(), "endpoints may be elsewhere");
    connection.plaintext = Plaintext::LoopbackOnly;
    assert!(!connection.is_readable_on_the_way());
}

#[test]
fn joins_paths() {
    let endpoint = check_with(&connection(LOCAL), "127.0.0.1:9/proxy/44772/", &[]).unwrap();
    assert_eq!(endpoint.join(&["files", "info"]).unwrap().path(), "/proxy/44772/files/info");
    for base in [LOCAL, "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"] {
        assert_eq!(connection(base).lifecycle_url(&["sandboxes"]).unwrap().path(), "/v1/sandboxes", "{base}");
        assert_eq!(connection(base).version_url().unwrap().path(), "/version", "{base}");
    }
}

proptest! {
    #[test]
    fn dials_only_allowed_hosts(endpoint in "[a-z0-9.@:/\\\\\\[\\]%#? \r\n-]{0,40}", prefix in "(api\\.example|)") {
        let connection = connection(REMOTE);
        if let Ok(endpoint) = check_with(&connection, &format!("{prefix}{endpoint}"), &[]) {
            let host = endpoint.base.host_str().unwrap();
            prop_assert!(host == "api.example" || host == "box.example" || host.ends_with(".gw.example"), "{}", host);
        }
    }
}
