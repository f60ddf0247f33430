//! HTTPS to a server whose certificate nobody vouches for.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use domain::model_call::{FinishReason, ModelCallEnd, ModelFailureKind, ModelRuntime, ReplyMode};
use infra::model::{CallLimits, OpenAiCompatible};
use reqwest::{Certificate, Client};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::provider::{Pieces, adapter, context, request};

const CERTIFICATE: &[u8] = include_bytes!("self_signed.pem");
const KEY: &[u8] = include_bytes!("self_signed_key.pem");
const WHOLE: &str = r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

/// Serves one connection; gives the bytes of the request that it read.
fn serve_once() -> (SocketAddr, JoinHandle<Vec<u8>>) {
    infra::http::install_crypto_provider();
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), socket);
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        while !received.ends_with(b"}") {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => received.extend_from_slice(&buffer[..count]),
                Ok(_) | Err(_) => return received,
            }
        }
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", WHOLE.len());
        stream.write_all(format!("{head}{WHOLE}").as_bytes()).unwrap();
        stream.flush().unwrap();
        received
    });
    (address, serving)
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent() {
    let (address, serving) = serve_once();
    let request = request(&format!("https://{address}/v1"), ReplyMode::Stream);
    let outcome = adapter(CallLimits::default()).call(&context(), &request, &Pieces::default()).await;
    let ModelCallEnd::Failed(failure) = &outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(failure.kind, ModelFailureKind::Unreachable, "{failure}");
    assert!(failure.message.contains("certificate"), "{failure}");
    assert!(!outcome.was_sent);
    assert!(serving.join().unwrap().is_empty(), "no byte of the request, and so no key, has left");
}

/// The server is a right one: who trusts its certificate is answered.
#[tokio::test]
async fn the_same_server_answers_who_trusts_it() {
    let (address, serving) = serve_once();
    let trusted = Certificate::from_pem(CERTIFICATE).unwrap();
    let client = Client::builder().tls_certs_only([trusted]).no_proxy().build().unwrap();
    let request = request(&format!("https://{address}/v1"), ReplyMode::Complete);
    let adapter = OpenAiCompatible::new(client, CallLimits::default());
    let outcome = adapter.call(&context(), &request, &Pieces::default()).await;
    assert_eq!(outcome.end, ModelCallEnd::Finished(FinishReason::Stop));
    assert_eq!(outcome.reply.text, "ok");
    assert!(serving.join().unwrap().starts_with(b"POST /v1/chat/completions"));
}
