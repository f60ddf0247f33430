//! The way out of a sandbox: what a policy opens, and that nothing else is reached by any trick.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use local_support::{Host, Sandbox, body, until};
use reqwest::{Method, StatusCode};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

const CERTIFICATE: &[u8] = include_bytes!("../../infra/tests/model/self_signed.pem");
const PRIVATE_KEY: &[u8] = include_bytes!("../../infra/tests/model/self_signed_key.pem");

/// Python that prints the status and the body of a GET, or the reason by which the proxy refused it.
const GET: &str = r#"
import sys, urllib.request, urllib.error
for url in sys.argv[1:]:
    try:
        answer = urllib.request.urlopen(url, timeout=20)
        print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers.get("x-vitrine-egress", "origin"))
    except OSError as error:
        print("failed", error)
"#;

/// Python that sends raw bytes to the proxy and prints the first line of what comes back and how often an origin spoke.
const RAW: &str = r#"
import socket, sys
for text in sys.argv[1:]:
    connection = socket.create_connection(("127.0.0.1", 3128), 20)
    connection.settimeout(20)
    connection.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
    answer = b""
    try:
        while chunk := connection.recv(65536):
            answer += chunk
    except OSError:
        pass
    print(answer.split(b"\r\n")[0].decode(), answer.count(b"origin"))
"#;

/// A server on loopback and the heads of the requests that it got.
#[cfg(test)]
struct Origin {
    at: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

#[cfg(test)]
impl Origin {
    /// Answers every request with `response`, once its head and its body of a stated length were there.
    fn answering(response: &'static str) -> Self {
        Self::serving(move |mut stream, seen| {
            let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
            let is_whole = |received: &[u8]| {
                let text = String::from_utf8_lossy(received);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if head.contains("transfer-encoding: chunked") {
                    return body.ends_with("0\r\n\r\n");
                }
                body.len() >= length.map_or(0, |length| length.parse().unwrap())
            };
            while !is_whole(&received) {
                match stream.read(&mut buffer) {
                    Ok(read) if read > 0 => received.extend_from_slice(&buffer[..read]),
                    _ => break,
                }
            }
            seen.lock().unwrap().push(String::from_utf8_lossy(&received).into_owned());
            let _ = stream.write_all(response.as_bytes());
        })
    }

    /// Gives every byte back.
    fn echoing() -> Self {
        Self::serving(|mut stream, seen| {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                seen.lock().unwrap().push(format!("{} bytes", read));
                if stream.write_all(&buffer[..read]).is_err() {
                    return;
                }
            }
        })
    }

    /// A WebSocket server behind TLS, as far as it is seen from outside: it upgrades, then gives every byte back.
    fn upgrading() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
        let key = PrivateKeyDer::from_pem_slice(PRIVATE_KEY).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        let config = Arc::new(config);
        Self::serving(move |stream, seen| {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            let mut buffer = [0; 4096];
            let Ok(read @ 1..) = stream.read(&mut buffer) else { return };
            seen.lock().unwrap().push(String::from_utf8_lossy(&buffer[..read]).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n");
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                if stream.write_all(&buffer[..read]).is_err() {
                    return;
                }
            }
        })
    }

    fn serving(serve: impl Fn(std::net::TcpStream, &Mutex<Vec<String>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (at, seen) = (listener.local_addr().unwrap(), Arc::default());
        let (own, serve) = (Arc::clone(&seen), Arc::new(serve));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (seen, serve) = (Arc::clone(&own), Arc::clone(&serve));
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { at, seen }
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    fn last(&self) -> String {
        self.seen.lock().unwrap().last().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
fn hello() -> Origin {
    Origin::answering("HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\norigin")
}

#[cfg(test)]
async fn open(host: &Host, rules: Value) -> Sandbox {
    host.sandbox(json!({ "networkPolicy": { "defaultAction": "deny", "egress": rules } })).await
}

#[cfg(test)]
async fn python(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Vec<String> {
    let argv: Vec<&str> = ["python3", "-c", program].iter().chain(arguments).copied().collect();
    let run = sandbox.execute(json!({ "argv": argv })).await;
    assert_eq!(run.exit, 0, "{}", run.stderr);
    run.stdout.lines().map(str::to_owned).collect()
}

#[cfg(test)]
async fn attempts(host: &Host, sandbox: &Sandbox, after: u64) -> Value {
    let (url, token) = host.egress(sandbox).await;
    let request = host.client.get(format!("{url}/vitrine/attempts?after={after}"));
    body(request.header("OPENSANDBOX-EGRESS-AUTH", token).send().await.unwrap()).await.1
}

#[cfg(test)]
fn allow(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "action": "allow", "target": name })).collect()
}

#[tokio::test]
async fn listed_hosts_are_reached_and_others_are_not() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("allowed.test={0},a.wild.test={0},wild.test={0}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test", "*.wild.test"])).await;
    let urls = ["http://allowed.test/x?y", "http://a.wild.test/", "http://wild.test/", "http://denied.test/"];
    assert_eq!(python(&sandbox, GET, &urls).await, ["200 origin", "200 origin", "403 not_listed", "403 not_listed"]);
    assert_eq!(origin.count(), 2);
    assert!(origin.seen.lock().unwrap()[0].starts_with("GET /x?y HTTP/1.1\r\nhost: allowed.test\r\n"));
    let curl = sandbox.run("curl -sS -m 20 -H Expect: -F f=@/etc/passwd http://allowed.test/up").await;
    assert_eq!((curl.stdout.as_str(), curl.exit), ("origin", 0), "{}", curl.stderr);
    let chunked = "curl -sS -m 20 -H Transfer-Encoding:chunked -d some http://allowed.test/up";
    assert_eq!(sandbox.run(chunked).await.stdout, "origin");
    assert!(origin.last().ends_with("\r\n\r\n4\r\nsome\r\n0\r\n\r\n"), "{}", origin.last());
}

#[tokio::test]
async fn without_a_policy_there_is_no_way_out_at_all() {
    let host = Host::start();
    let sandbox = host.sandbox(json!({})).await;
    let (_, shown) = host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await;
    assert!(shown["extensions"].get("vitrine.proxy").is_none());
    let program = "import socket\nprint(socket.socket().connect_ex(('127.0.0.1', 3128)), open('/proc/net/route').read().count('\\n'), open('/proc/net/tcp').read().count(':0C38'))";
    let refused = rustix::io::Errno::CONNREFUSED.raw_os_error();
    assert_eq!(python(&sandbox, program, &[]).await, [format!("{refused} 1 0")]);
    assert!(!sandbox.run("env").await.stdout.to_lowercase().contains("proxy"));
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    assert_eq!(host.get(&path).await.0, StatusCode::CONFLICT);
    let (_, endpoint) = host.get(&format!("/v1/sandboxes/{}/endpoints/18080", sandbox.id)).await;
    let url = format!("http://{}/policy", endpoint["endpoint"].as_str().unwrap());
    let answer = host.client.get(url).header("X-EXECD-ACCESS-TOKEN", &sandbox.token).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn with_a_policy_there_is_no_other_way_out() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("allowed.test={}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let (_, shown) = host.get(&format!("/v1/sandboxes/{}", sandbox.id)).await;
    assert_eq!(shown["extensions"]["vitrine.proxy"], "http://127.0.0.1:3128");
    let program = format!(
        "import socket\ns = socket.socket()\ns.settimeout(5)\nprint(s.connect_ex(('1.1.1.1', 443)), socket.socket().connect_ex(('127.0.0.1', {})))\ntry:\n socket.getaddrinfo('allowed.test', 80)\n print('resolved')\nexcept OSError:\n print('no names')",
        origin.at.port()
    );
    let codes = [rustix::io::Errno::NETUNREACH, rustix::io::Errno::CONNREFUSED].map(|code| code.raw_os_error());
    assert_eq!(python(&sandbox, &program, &[]).await, [format!("{} {}", codes[0], codes[1]), "no names".to_owned()]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn closed_addresses_stay_closed_whatever_the_policy_says() {
    let origin = hello();
    let names = format!(
        "private.test=!10.0.0.1:80,meta.test=!169.254.169.254:80,mixed.test={0}+!192.168.0.1:80,mapped.test=![::ffff:127.0.0.1]:80,loop.test=!{0},self.test=!0.0.0.0:80",
        origin.at
    );
    let host = Host::start_with_hosts(&names);
    let metadata =
        ["169.254.169.254", "100.100.100.200", "127.0.0.1", "fd00:ec2::254", "::ffff:127.0.0.1", "10.0.0.0/8"];
    let rules = allow(&[&["*.test"], metadata.as_slice()].concat());
    let sandbox = open(&host, rules).await;
    let urls = [
        "http://private.test/",
        "http://meta.test/latest/meta-data/",
        "http://mixed.test/",
        "http://mapped.test/",
        "http://loop.test/",
        "http://self.test/",
        "http://169.254.169.254/latest/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:127.0.0.1]/",
        "http://10.0.0.1/",
        &format!("http://127.0.0.1:{}/", origin.at.port()),
    ];
    // The addresses of the sandbox's own loopback are left to the sandbox by NO_PROXY, so the variable goes.
    let program = format!("import os\nfor n in ('no_proxy', 'NO_PROXY'): os.environ.pop(n)\n{GET}");
    assert_eq!(python(&sandbox, &program, &urls).await, vec!["403 private_address"; urls.len()]);
    let tricks = ["http://0x7f.1/", "http://2130706433/", "http://127.1/"];
    assert_eq!(python(&sandbox, &program, &tricks).await, ["400 malformed"; 3]);
    assert_eq!(origin.count(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_leads_nowhere_new() {
    let (first, second) = (hello(), hello());
    let host = Host::start_with_hosts(&format!("rebind.test={}|!{}", first.at, second.at));
    let sandbox = open(&host, allow(&["rebind.test"])).await;
    let urls = ["http://rebind.test/", "http://rebind.test/"];
    assert_eq!(python(&sandbox, GET, &urls).await, ["200 origin", "403 private_address"]);
    assert_eq!((first.count(), second.count()), (1, 0), "the address that was checked is the one that is used");
}

#[tokio::test]
async fn a_redirect_is_judged_anew() {
    let denied = hello();
    let to_denied =
        "HTTP/1.1 302 Found\r\nlocation: http://denied.test/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let origin = Origin::answering(to_denied);
    let host = Host::start_with_hosts(&format!("allowed.test={},denied.test={}", origin.at, denied.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    assert_eq!(python(&sandbox, GET, &["http://allowed.test/"]).await, ["403 not_listed"]);
    assert_eq!((origin.count(), denied.count()), (1, 0));
    let (_, tried) = (0, attempts(&host, &sandbox, 0).await);
    let verdicts: Vec<_> = tried["attempts"].as_array().unwrap().iter().map(|a| (&a["host"], &a["verdict"])).collect();
    assert_eq!(verdicts, [(&json!("allowed.test"), &json!("allowed")), (&json!("denied.test"), &json!("denied"))]);
}

#[tokio::test]
async fn requests_that_could_be_two_are_refused() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("allowed.test={0},denied.test={0}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let bad = [
        r"GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n",
        r"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nHost: denied.test\r\n\r\n",
        r"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nX: y\nHost: denied.test\r\n\r\n",
        r"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n Host: denied.test\r\n\r\n",
        r"GET http://allowed.test@denied.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        r"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
        r"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        r"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    ];
    assert_eq!(python(&sandbox, RAW, &bad).await, vec!["HTTP/1.1 400 Bad Request 0"; bad.len()]);
    assert_eq!(origin.count(), 0);
    // A second request behind the first stays here, whether the first has a body or not.
    let second = r"GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
    let good = [
        format!(r"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nConnection: keep-alive\r\n\r\n{second}"),
        format!(r"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 2\r\n\r\nab{second}"),
        format!(
            r"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n{second}"
        ),
    ];
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    assert_eq!(python(&sandbox, RAW, &good).await, ["HTTP/1.1 200 OK 1"; 3]);
    assert!(origin.seen.lock().unwrap().iter().all(|head| !head.contains("denied.test")));
    assert!(origin.seen.lock().unwrap().iter().all(|head| head.contains("connection: close")));
    let bad_chunk = r"POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n0\r\n\r\n";
    assert_eq!(python(&sandbox, RAW, &[bad_chunk]).await, [" 0"]);
}

/// Python that opens a tunnel to its first argument, sends a ClientHello that names the second one, cut into records
/// of so many bytes as the third says, and prints what came of it.
const TUNNEL: &str = r#"
import base64, socket, ssl, sys
target, name, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context()
context.check_hostname = False
outgoing = ssl.MemoryBIO()
if name == "plain":
    hello = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
else:
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=None if name == "none" else name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    record = outgoing.read()
    parts = [record[5:][at:at + size] for at in range(0, len(record) - 5, size)]
    hello = b"".join(record[:3] + len(part).to_bytes(2, "big") + part for part in parts)
connection = socket.create_connection(("127.0.0.1", 3128), 20)
connection.settimeout(20)
user = base64.b64encode(b"tcl_7:x").decode()
connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {user}\r\n\r\n".encode())
status = b""
while not status.endswith(b"\r\n\r\n"):
    chunk = connection.recv(1)
    if not chunk:
        break
    status += chunk
status = status.split(b" ")[1].decode()
if status == "200":
    connection.sendall(hello)
    answer = b""
    try:
        while len(answer) < len(hello):
            chunk = connection.recv(65536)
            if not chunk:
                break
            answer += chunk
    except OSError:
        pass
    status += " echoed" if answer == hello else f" alert {answer[-1]}" if answer[:1] == b"\x15" else " closed"
print(status)
"#;

#[tokio::test]
async fn tls_must_name_the_host_of_the_tunnel() {
    let origin = Origin::echoing();
    let host = Host::start_with_hosts(&format!("allowed.test={0},also.test={0}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test", "also.test"])).await;
    for (name, size, expected) in [
        ("allowed.test", "100000", "200 echoed"),
        ("ALLOWED.test", "7", "200 echoed"),
        ("also.test", "100000", "200 alert 112"),
        ("denied.test", "50", "200 alert 112"),
        ("none", "100000", "200 alert 112"),
        ("plain", "0", "200 closed"),
    ] {
        let before = origin.count();
        assert_eq!(python(&sandbox, TUNNEL, &["allowed.test:443", name, size]).await, [expected], "{name}");
        assert_eq!(origin.count() > before, expected.ends_with("echoed"), "{name}: what the origin got");
    }
    assert_eq!(python(&sandbox, TUNNEL, &["denied.test:443", "denied.test", "99999"]).await, ["403"]);
    let tried = attempts(&host, &sandbox, 0).await;
    let tried = tried["attempts"].as_array().unwrap();
    let reasons: Vec<_> = tried.iter().map(|attempt| attempt["reason"].as_str().unwrap_or("-")).collect();
    let mismatch = "sni_mismatch";
    assert_eq!(reasons, ["-", "-", mismatch, mismatch, mismatch, mismatch, "not_listed"]);
    assert!(tried.iter().all(|attempt| attempt["user"] == "tcl_7" && attempt["method"] == "CONNECT"));
}

#[tokio::test]
async fn a_websocket_passes_through_a_tunnel() {
    let origin = Origin::upgrading();
    let host = Host::start_with_hosts(&format!("allowed.test={}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let program = r#"
import socket, ssl
connection = socket.create_connection(("127.0.0.1", 3128), 20)
connection.sendall(b"CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n")
assert b" 200 " in connection.recv(4096)
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
inner = context.wrap_socket(connection, server_hostname="allowed.test")
inner.sendall(b"GET /chat HTTP/1.1\r\nHost: allowed.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
print(inner.recv(4096).split(b"\r\n")[0].decode())
for text in (b"first", b"second"):
    inner.sendall(text)
    print(inner.recv(4096).decode())
"#;
    let lines = python(&sandbox, program, &[]).await;
    assert_eq!(lines, ["HTTP/1.1 101 Switching Protocols", "first", "second"]);
    assert!(origin.last().contains("Upgrade: websocket"));
}

#[tokio::test]
async fn a_slow_head_is_cut_and_holds_nobody_up() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("allowed.test={}", origin.at));
    let sandbox = open(&host, allow(&["allowed.test"])).await;
    let neighbour = open(&host, allow(&["allowed.test"])).await;
    // More connections than a sandbox may have, each with a letter now and then.
    let program = r#"
import socket, time
slow = [socket.create_connection(("127.0.0.1", 3128), 30) for _ in range(80)]
print("open", flush=True)
answers, end = set(), time.monotonic() + 30
for each in slow:
    each.settimeout(0.01)
while len(answers) < 64 and time.monotonic() < end:
    for each in slow:
        try:
            each.sendall(b"G")
            if (answer := each.recv(4096)) or True:
                answers.add(each.fileno())
        except TimeoutError:
            pass
        except OSError:
            answers.add(each.fileno())
print(len(answers) >= 64)
"#;
    let mut response = sandbox.start(json!({ "argv": ["python3", "-c", program] })).await;
    let mut seen = String::new();
    while !seen.contains("open") {
        seen.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert_eq!(python(&neighbour, GET, &["http://allowed.test/"]).await, ["200 origin"]);
    assert!(response.text().await.unwrap().contains("True"), "slow connections are cut");
    assert_eq!(python(&sandbox, GET, &["http://allowed.test/"]).await, ["200 origin"]);
}

#[tokio::test]
async fn attempts_are_told_with_their_user_and_a_cursor() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("allowed.test={},none.test=!,dead.test=127.0.0.1:1", origin.at));
    let sandbox = open(&host, allow(&["allowed.test", "none.test", "dead.test"])).await;
    let urls = ["http://allowed.test/", "http://none.test/", "http://dead.test/", "http://denied.test:81/"];
    let program = GET.replace("import sys", "import os\nfor n in ('http_proxy', 'HTTP_PROXY'): os.environ[n] = 'http://tcl_42:x@127.0.0.1:3128'\nimport sys");
    let answers = python(&sandbox, &program, &urls).await;
    assert_eq!(answers, ["200 origin", "502 not_resolved", "502 unreachable", "403 not_listed"]);
    let tried = attempts(&host, &sandbox, 0).await;
    let all = tried["attempts"].as_array().unwrap();
    assert_eq!((all.len(), &tried["next"]), (4, &json!(4)));
    assert!(all.iter().all(|attempt| attempt["user"] == "tcl_42" && attempt["at"].is_string()));
    let last = &all[3];
    assert_eq!(
        (&last["sequence"], &last["method"], &last["host"], &last["port"], &last["verdict"], &last["reason"]),
        (&json!(4), &json!("HTTP"), &json!("denied.test"), &json!(81), &json!("denied"), &json!("not_listed"))
    );
    assert_eq!(attempts(&host, &sandbox, 3).await["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(attempts(&host, &sandbox, 4).await["next"], 4);
    assert!(tried["bytes"]["received"].as_u64().unwrap() > 6);
}

/// Row 61.
#[tokio::test]
async fn the_policy_is_shown_and_changed_while_the_sandbox_runs() {
    let origin = hello();
    let host = Host::start_with_hosts(&format!("a.test={0},b.test={0}", origin.at));
    let sandbox = host.sandbox(json!({ "networkPolicy": {} })).await;
    let (url, token) = host.egress(&sandbox).await;
    let call = async |method: Method, request: Value| {
        let call = host.client.request(method, format!("{url}/policy")).header("OPENSANDBOX-EGRESS-AUTH", &token);
        let call = if request.is_null() { call } else { call.json(&request) };
        body(call.send().await.unwrap()).await
    };
    let reaches = async |name: &str| python(&sandbox, GET, &[&format!("http://{name}/")]).await[0].starts_with("200");
    let (status, shown) = call(Method::GET, Value::Null).await;
    assert_eq!((status, &shown["status"], &shown["mode"]), (StatusCode::OK, &json!("ok"), &json!("deny_all")));
    assert_eq!(shown["policy"], json!({ "egress": null, "defaultAction": "deny" }));
    assert!(!reaches("a.test").await);
    let (_, patched) = call(Method::PATCH, allow(&["a.test"])).await;
    assert_eq!((&patched["mode"], patched.get("policy")), (&json!("enforcing"), None));
    assert!(reaches("a.test").await);
    call(Method::PATCH, json!([{ "action": "deny", "target": "A.test" }, { "action": "allow", "target": "b.test" }]))
        .await;
    assert!(!reaches("a.test").await && reaches("b.test").await);
    let (_, shown) = call(Method::GET, Value::Null).await;
    let targets: Vec<_> = shown["policy"]["egress"].as_array().unwrap().iter().map(|rule| &rule["target"]).collect();
    assert_eq!(targets, [&json!("a.test"), &json!("b.test")]);
    assert!(call(Method::DELETE, json!(["b.test"])).await.1.get("reason").is_none());
    assert!(call(Method::DELETE, json!(["b.test"])).await.1["reason"].is_string());
    assert!(!reaches("b.test").await);
    let (_, put) = call(Method::PUT, json!({ "defaultAction": "allow" })).await;
    assert_eq!(put["mode"], "allow_all");
    assert!(reaches("b.test").await);
    assert_eq!(call(Method::POST, Value::Null).await.1["mode"], "deny_all");
    for (method, request, expected) in [
        (Method::PATCH, json!([]), StatusCode::BAD_REQUEST),
        (Method::PATCH, json!([{ "action": "maybe", "target": "a.test" }]), StatusCode::BAD_REQUEST),
        (Method::PUT, json!({ "egress": 7 }), StatusCode::BAD_REQUEST),
        (Method::DELETE, json!([]), StatusCode::BAD_REQUEST),
        (Method::OPTIONS, Value::Null, StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let (status, text) = call(method, request.clone()).await;
        assert!(status == expected && text.is_string(), "{request} {status} {text}");
    }
    for wrong in ["", "wrong", &sandbox.token] {
        let answer = host.client.get(format!("{url}/policy")).header("OPENSANDBOX-EGRESS-AUTH", wrong);
        let answer = body(answer.send().await.unwrap()).await;
        assert_eq!(answer, (StatusCode::UNAUTHORIZED, json!("unauthorized")));
    }
    assert_eq!(host.client.get(format!("{url}/healthz")).send().await.unwrap().text().await.unwrap(), "ok");
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    assert_eq!(host.get(&path).await.1["mode"], "deny_all");
    let put = host.request(Method::PUT, &path).json(&json!({ "egress": allow(&["a.test"]) }));
    assert_eq!(put.send().await.unwrap().status(), StatusCode::OK);
    assert!(reaches("a.test").await);
    assert_eq!(host.get(&format!("/v1/sandboxes/{}/proxy/18080/policy", sandbox.id)).await.1["mode"], "enforcing");
}

#[tokio::test]
async fn a_connection_that_the_policy_forbids_later_is_cut() {
    let origin = Origin::serving(|mut stream, seen| {
        seen.lock().unwrap().push("opened".to_owned());
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nbegun");
        // Until the proxy lets go.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let host = Host::start_with_hosts(&format!("a.test={}", origin.at));
    let sandbox = open(&host, allow(&["a.test"])).await;
    let command = json!({ "command": "curl -sN http://a.test/ > got; echo over >> got", "background": true });
    sandbox.start(command).await.text().await.unwrap();
    until("the response has begun", async || sandbox.run("cat got").await.stdout == "begun").await;
    let path = format!("/v1/sandboxes/{}/networkpolicy", sandbox.id);
    host.request(Method::PUT, &path).json(&json!({})).send().await.unwrap();
    until("the connection is cut", async || sandbox.run("cat got").await.stdout == "begunover\n").await;
}
