//! A server on loopback that a sandbox is let through to, and what goes with that.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::{Host, Sandbox, body};

const CERTIFICATE: &[u8] = include_bytes!("../../../infra/tests/model/self_signed.pem");
const PRIVATE_KEY: &[u8] = include_bytes!("../../../infra/tests/model/self_signed_key.pem");

/// Python that prints the status and the body of a GET, or the reason by which the proxy refused it.
pub const GET: &str = r#"
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

/// A server on loopback and the heads of the requests that it got.
pub struct Origin {
    pub at: SocketAddr,
    pub seen: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Answers every request with `response`, once its head and its body of a stated length were there.
    pub fn answering(response: &'static str) -> Self {
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
    pub fn echoing() -> Self {
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
    pub fn upgrading() -> Self {
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

    pub fn serving(serve: impl Fn(std::net::TcpStream, &Mutex<Vec<String>>) + Send + Sync + 'static) -> Self {
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

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub fn last(&self) -> String {
        self.seen.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// Answers with the word `origin`.
    pub fn hello() -> Self {
        Self::answering("HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\norigin")
    }
}

pub async fn open(host: &Host, rules: Value) -> Sandbox {
    host.sandbox(json!({ "networkPolicy": { "defaultAction": "deny", "egress": rules } })).await
}

pub async fn python(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> Vec<String> {
    let argv: Vec<&str> = ["python3", "-c", program].iter().chain(arguments).copied().collect();
    let run = sandbox.execute(json!({ "argv": argv })).await;
    assert_eq!(run.exit, 0, "{}", run.stderr);
    run.stdout.lines().map(str::to_owned).collect()
}

pub async fn attempts(host: &Host, sandbox: &Sandbox, after: u64) -> Value {
    let (url, token) = host.egress(sandbox).await;
    let request = host.client.get(format!("{url}/vitrine/attempts?after={after}"));
    body(request.header("OPENSANDBOX-EGRESS-AUTH", token).send().await.unwrap()).await.1
}

pub fn allow(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "action": "allow", "target": name })).collect()
}
