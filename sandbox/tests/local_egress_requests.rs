//! The way out of a sandbox: requests that are made to be read in two ways, in another name, or never to end.
#![cfg(feature = "testing")]

#[cfg(test)]
mod local_support;

use local_support::Host;
use local_support::origin::{GET, Origin, allow, attempts, open, python};
use serde_json::json;

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
/// Python that sends bytes in the same way, and prints whether words came back.
const BODY: &str = r#"
import socket, sys
for text in sys.argv[1:]:
    connection = socket.create_connection(("127.0.0.1", 3128), 20)
    connection.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
    answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 "), answer
    print("words", len(answer.partition(b"\r\n\r\n")[2]) > 0)
"#;

#[tokio::test]
async fn requests_that_could_be_two_are_refused() {
    let origin = Origin::hello();
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
    // A browser gets no words that it would show as the page.
    let asked_by = |field: &str| format!(r"GET http://...../ HTTP/1.1\r\nHost: .....\r\n{field}\r\n");
    let (plain, page) = (asked_by(""), asked_by(r"Upgrade-Insecure-Requests: 1\r\n"));
    let lengths = python(&sandbox, BODY, &[&plain, &page]).await;
    assert_eq!(lengths, ["words True", "words False"]);
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
import socket, ssl, sys
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
connection = socket.create_connection(("127.127.255.255", 3128), 20)
connection.settimeout(20)
connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
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
    assert!(tried.iter().all(|attempt| attempt["via"] == "127.127.255.255" && attempt["method"] == "CONNECT"));
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
    let origin = Origin::hello();
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
