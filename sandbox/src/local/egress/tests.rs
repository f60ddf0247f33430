//! Rules, names, addresses, heads and hellos, each without a network.

use std::net::{IpAddr, Ipv4Addr};

use tokio::io::BufReader;

use super::client_hello;
use super::head::{Head, Malformed};
use super::host::Host;
use super::policy::{Policy, PolicyError, PolicyView, Rule, RuleView};
use super::request::{Kind, Request, wish};
use crate::public_network::is_public;

fn policy(default: &str, rules: &[(&str, &str)]) -> Policy {
    let rules = rules.iter().map(|(action, target)| rule(action, target)).collect();
    Policy::parse(&PolicyView { egress: Some(rules), default_action: Some(default.to_owned()) }).unwrap()
}

fn rule(action: &str, target: &str) -> RuleView {
    RuleView { action: Some(action.to_owned()), target: target.to_owned() }
}

fn allows(policy: &Policy, host: &str, port: u16) -> bool {
    policy.allows(&Host::parse(host).unwrap(), port)
}

#[test]
fn the_first_rule_that_matches_decides() {
    let policy = policy("deny", &[("deny", "bad.example.com"), ("allow", "*.Example.com"), ("allow", "one.test")]);
    for (host, expected) in [
        ("a.example.com", true),
        ("a.b.example.com", true),
        ("A.EXAMPLE.COM.", true),
        ("example.com", false),
        ("notexample.com", false),
        ("bad.example.com", false),
        ("one.test", true),
        ("two.test", false),
        ("93.184.216.34", false),
    ] {
        assert_eq!(allows(&policy, host, 443), expected, "{host}");
    }
    assert!(allows(&policy, "one.test", 8443), "a listed host is open on every port");
}

#[test]
fn what_is_left_out_denies() {
    for text in ["{}", r#"{"egress":null}"#, r#"{"egress":[]}"#, r#"{"egress":[{"target":"a.test"}]}"#] {
        let view: PolicyView = serde_json::from_str(text).unwrap();
        assert!(!allows(&Policy::parse(&view).unwrap(), "a.test", 443), "{text}");
    }
}

#[test]
fn a_default_of_allow_opens_the_web_and_no_more() {
    let policy = policy("allow", &[("deny", "bad.test"), ("deny", "93.184.0.0/16")]);
    assert!(allows(&policy, "any.test", 443) && allows(&policy, "any.test", 80));
    assert!(!allows(&policy, "any.test", 22) && !allows(&policy, "bad.test", 443) && !allows(&policy, "8.8.8.8", 443));
    assert!(!allows(&policy, "intranet", 443) && !allows(&policy, "localhost", 80));
    assert!(policy.denies_address("93.184.216.34".parse().unwrap()));
    assert!(!policy.denies_address("8.8.8.8".parse().unwrap()));
}

#[test]
fn addresses_are_listed_one_by_one_or_as_networks() {
    let policy = policy("deny", &[("allow", "93.184.216.34"), ("allow", "2606:2800::/32")]);
    assert!(allows(&policy, "93.184.216.34", 443) && allows(&policy, "[2606:2800::1]", 443));
    assert!(!allows(&policy, "93.184.216.35", 443) && !allows(&policy, "[2607::1]", 443));
}

#[test]
fn rules_are_merged_and_removed_by_target() {
    let first = policy("deny", &[("allow", "a.test"), ("allow", "b.test")]);
    let merged = first.merged(vec![Rule::parse(&rule("deny", "B.test")).unwrap()]).unwrap();
    let targets: Vec<_> = merged.view().egress.unwrap().into_iter().map(|rule| rule.target).collect();
    assert_eq!(targets, ["b.test", "a.test"]);
    assert!(!allows(&merged, "b.test", 443) && allows(&merged, "a.test", 443));
    let (left, removed) = merged.without(&["A.test".to_owned(), "none.test".to_owned()]);
    assert_eq!((removed, left.mode()), (1, "enforcing"));
    assert_eq!(policy("allow", &[]).mode(), "allow_all");
    assert_eq!(Policy::default().mode(), "deny_all");
    assert_eq!(Policy::default().view().egress, Some(Vec::new()));
}

#[test]
fn wrong_rules_are_refused() {
    let parse = |action: &str, target: &str| {
        Policy::parse(&PolicyView { egress: Some(vec![rule(action, target)]), default_action: None })
    };
    assert!(matches!(parse("maybe", "a.test"), Err(PolicyError::Action(_))));
    for target in
        ["", "*", "*.", "a b", "http://a.test", "a.test:80", "a.*.test", "10.0.0.0/33", "ä.test", "*.10.0.0.1"]
    {
        assert!(matches!(parse("allow", target), Err(PolicyError::Target(_))), "{target}");
    }
    let many = (0..4097).map(|number| rule("allow", &format!("h{number}.test"))).collect();
    assert_eq!(Policy::parse(&PolicyView { egress: Some(many), default_action: None }), Err(PolicyError::TooMany));
}

#[test]
fn only_the_internet_is_public() {
    for (address, expected) in [
        ("8.8.8.8", true),
        ("2606:4700::1111", true),
        ("64:ff9b::808:808", true),
        ("::ffff:8.8.8.8", true),
        ("127.0.0.1", false),
        ("10.1.2.3", false),
        ("172.31.0.1", false),
        ("192.168.1.1", false),
        ("169.254.169.254", false),
        ("100.100.100.200", false),
        ("192.0.0.192", false),
        ("168.63.129.16", false),
        ("0.0.0.0", false),
        ("224.0.0.1", false),
        ("255.255.255.255", false),
        ("::", false),
        ("::1", false),
        ("::ffff:127.0.0.1", false),
        ("::ffff:169.254.169.254", false),
        ("::127.0.0.1", false),
        ("64:ff9b::a9fe:a9fe", false),
        ("64:ff9b::7f00:1", false),
        ("64:ff9b:1::808:808", false),
        ("2002:7f00:1::", false),
        ("2001:0:7f00:1::", false),
        ("2001:db8::1", false),
        ("fd00:ec2::254", false),
        ("fe80::1", false),
        ("ff02::1", false),
    ] {
        assert_eq!(is_public(address.parse::<IpAddr>().unwrap()), expected, "{address}");
    }
}

#[test]
fn a_host_has_one_spelling() {
    for text in
        ["127.1", "0x7f000001", "2130706433", "127.0.0.0x1", "a..b", "-a.test", "a_b.1", "[::1%1]", "a/b", "", "."]
    {
        assert_eq!(Host::parse(text), None, "{text}");
    }
    assert_eq!(Host::parse("A_b.Test."), Some(Host::Name("a_b.test".to_owned())));
    for (text, expected) in [
        ("a.test:8080", Some(8080)),
        ("a.test", Some(80)),
        ("[2606::1]:443", Some(443)),
        ("[2606::1]", Some(80)),
        ("a.test:0", None),
        ("a.test:+80", None),
        ("a.test:70000", None),
        ("user@a.test:80", None),
        ("a.test:80:80", None),
    ] {
        assert_eq!(Host::parse_authority(text, Some(80)).map(|(_, port)| port), expected, "{text}");
    }
}

async fn head(text: &str) -> Result<Head, Malformed> {
    Head::read(&mut BufReader::with_capacity(7, text.as_bytes())).await.map(Option::unwrap)
}

#[tokio::test]
async fn a_head_that_two_could_read_differently_is_refused() {
    for text in [
        "GET http://a.test/ HTTP/1.1\nHost: a.test\n\n",
        "GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n folded\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\nHost: b.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\rHost: b.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\0b\r\n\r\n",
        "GET  http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/2.0\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nNoColon\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test",
        "\r\nGET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "\nGET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        " GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "\r\n\r\n",
        "GET\thttp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1 \r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.10\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ http/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/\u{fc} HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/\x7f HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "G(T http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        " HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET  HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\n Host: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\n: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nH(st: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nH\u{f6}st: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\x7fb\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\x1bb\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: a\r\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\n\r\n\r\n",
    ] {
        assert!(head(text).await.is_err(), "{text:?}");
    }
    let exact = head("GET http://a.test/ HTTP/1.0\r\nX-A: \t a\tb \u{f6} \t\r\nEmpty:\r\n\r\n").await.unwrap();
    let fields = [("x-a", "a\tb \u{f6}"), ("empty", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!((exact.minor, exact.fields.as_slice()), (0, fields.as_slice()));
    let long = format!("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(head(&long).await, Err(Malformed("the head is too long")));
    let many = format!("GET http://a.test/ HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(101));
    assert!(head(&many).await.is_err());
}

#[tokio::test]
async fn a_request_names_one_host_and_one_length() {
    for text in [
        "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n",
        "GET http://a.test/ HTTP/1.1\r\n\r\n",
        "GET http://user@a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET http://a.test#x HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: +3\r\n\r\n",
        "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST http://a.test/ HTTP/1.0\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        "CONNECT a.test HTTP/1.1\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
    ] {
        assert!(Request::of(&head(text).await.unwrap()).is_err(), "{text:?}");
    }
}

#[tokio::test]
async fn what_is_for_the_proxy_stays_with_it() {
    let head = head(concat!(
        "GET http://A.test:8080?q HTTP/1.1\r\nHost: a.test:8080\r\nProxy-Authorization: Basic dGNsXzE6eA==\r\n",
        "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\nUpgrade: h2c\r\nTE: trailers\r\n\r\n"
    ))
    .await
    .unwrap();
    let wish = wish(&head, Ipv4Addr::LOCALHOST);
    assert_eq!((wish.method, wish.host.as_str(), wish.port), ("HTTP", "a.test", 8080));
    let Kind::Exchange { head, .. } = Request::of(&head).unwrap().kind else { panic!("not an exchange") };
    assert_eq!(head, "GET /?q HTTP/1.1\r\nhost: a.test:8080\r\nx-end: 2\r\nconnection: close\r\n\r\n");
}

/// A ClientHello with these extensions in records of `size` bytes.
fn hello(extensions: &[u8], size: usize) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 1, 1, 0]);
    body.extend(u16::try_from(extensions.len()).unwrap().to_be_bytes());
    body.extend(extensions);
    let mut message = vec![1, 0];
    message.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    message.extend(body);
    let record = |part: &[u8]| {
        let length = u16::try_from(part.len()).unwrap().to_be_bytes();
        [&[22, 3, 1], length.as_slice(), part].concat()
    };
    message.chunks(size).flat_map(record).collect()
}

fn sni(name: &str) -> Vec<u8> {
    let length = u16::try_from(name.len()).unwrap();
    let mut bytes = vec![0, 0];
    bytes.extend((length + 5).to_be_bytes());
    bytes.extend((length + 3).to_be_bytes());
    bytes.push(0);
    bytes.extend(length.to_be_bytes());
    bytes.extend(name.as_bytes());
    bytes
}

#[tokio::test]
async fn a_hello_is_read_however_it_is_split() {
    let other = [0, 23, 0, 0];
    for size in [1, 3, 50, 10_000] {
        let bytes = hello(&[other.as_slice(), &sni("a.test"), &other].concat(), size);
        let read = client_hello::read(&mut [&bytes[..], b"more"].concat().as_slice()).await.unwrap();
        assert_eq!((read.name.as_deref(), read.bytes), (Some("a.test"), bytes));
    }
    assert_eq!(client_hello::read(&mut hello(&other, 99).as_slice()).await.unwrap().name, None);
}

#[tokio::test]
async fn what_is_no_hello_is_refused() {
    let twice = hello(&[sni("a.test"), sni("b.test")].concat(), 999);
    let mut cut = hello(&sni("a.test"), 999);
    cut.truncate(20);
    let endless = [22, 3, 1, 0, 1, 1].repeat(20_000);
    let empty_record = [22, 3, 1, 0, 0];
    let bad_length = hello(&[0, 0, 0, 9, 0, 1], 999);
    for bytes in [twice, cut, endless, empty_record.to_vec(), bad_length, b"GET / HTTP/1.1\r\n\r\n".to_vec()] {
        assert!(client_hello::read(&mut bytes.as_slice()).await.is_err(), "{:?}", &bytes[..bytes.len().min(30)]);
    }
}
