//! CONNECT: the client gets a tunnel, and the origin its bytes once the first of them is a ClientHello for that host.

use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::attempts::Reason;
use super::client_hello;
use super::host::{Host, name};
use super::meter::{Pulse, Traffic, copy};

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
/// How long the ClientHello may take.
const HELLO_TIME: Duration = Duration::from_secs(10);

/// The client's side of a connection.
pub struct Client<'a> {
    pub reader: BufReader<ReadHalf<'a>>,
    pub writer: WriteHalf<'a>,
}

/// Tells the client that the tunnel stands and passes its ClientHello on when it names the host.
pub async fn open(client: &mut Client<'_>, origin: &mut TcpStream, host: &Host) -> Result<(), Reason> {
    client.writer.write_all(ESTABLISHED).await.map_err(|_| Reason::Malformed)?;
    let hello = match timeout(HELLO_TIME, client_hello::read(&mut client.reader)).await {
        Ok(Ok(hello)) => hello,
        Ok(Err(_)) | Err(_) => return Err(Reason::SniMismatch),
    };
    let is_same = match (host, &hello.name) {
        (Host::Name(wanted), Some(given)) => !given.ends_with('.') && name(given).as_ref() == Some(wanted),
        (Host::Name(_), None) | (Host::Address(_), Some(_)) => false,
        // There is no such thing as a server name for an address.
        (Host::Address(_), None) => true,
    };
    if !is_same {
        let _ = client.writer.write_all(&client_hello::ALERT).await;
        return Err(Reason::SniMismatch);
    }
    origin.write_all(&hello.bytes).await.map_err(|_| Reason::Unreachable)
}

/// Moves bytes both ways until both sides have ended.
pub async fn run(client: &mut Client<'_>, origin: &mut TcpStream, traffic: &Traffic, pulse: &Pulse) {
    let (mut from_origin, mut to_origin) = origin.split();
    let up = copy(&mut client.reader, &mut to_origin, &traffic.sent, pulse);
    let down = copy(&mut from_origin, &mut client.writer, &traffic.received, pulse);
    let _ = tokio::try_join!(up, down);
}
