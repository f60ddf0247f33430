use proptest::prelude::*;

use super::super::connection::Plaintext;
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
    Endpoint::check(connection, &EndpointAnswer { endpoint: endpoint.to_owned(), headers: Some(headers) })
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
fn joins_paths() {
    let endpoint = check_with(&connection(LOCAL), "127.0.0.1:9/proxy/44772/", &[]).unwrap();
    assert_eq!(endpoint.join(&["files", "info"]).unwrap().path(), "/proxy/44772/files/info");
    for base in [LOCAL, "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"] {
        assert_eq!(connection(base).lifecycle_url(&["sandboxes"]).unwrap().path(), "/v1/sandboxes", "{base}");
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
