//! Taking connections from a sandbox and answering each of them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::attempts::{Reason, Wish};
use super::head::{Head, Malformed};
use super::meter::Pulse;
use super::request::{self, Kind, Request};
use super::tunnel::{self, Client};
use super::{Egress, destination, forward};

/// How long the head of a request may take, from the first moment of the connection.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// No connection lives longer.
const TOTAL_TIME: Duration = Duration::from_secs(6 * 60 * 60);
/// After a failed accept, so that a lack of descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A client may take so long to read the end of what it is told.
const FAREWELL_TIME: Duration = Duration::from_secs(2);

/// Serves a sandbox's connections until the sandbox ends.
pub async fn serve(egress: Arc<Egress>, listener: TcpListener, ended: CancellationToken, tasks: TaskTracker) {
    let accept = async {
        loop {
            let Ok(slot) = Arc::clone(&egress.connections).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (egress, ended) = (Arc::clone(&egress), ended.clone());
                    tasks.spawn(async move {
                        let _slot = slot;
                        tokio::select! {
                            _ = timeout(TOTAL_TIME, answer(&egress, stream)) => {}
                            () = ended.cancelled() => {}
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(error = %error, "cannot take a connection from a sandbox");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = ended.cancelled() => {}
    }
}

async fn answer(egress: &Egress, mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let Ok(SocketAddr::V4(via)) = stream.local_addr() else { return };
    let via = *via.ip();
    let (reader, writer) = stream.split();
    let mut client = Client { reader: BufReader::new(reader), writer };
    let head = match timeout(HEAD_TIME, Head::read(&mut client.reader)).await {
        Ok(Ok(Some(head))) => head,
        Ok(Ok(None)) => return,
        Ok(Err(malformed)) => return deny(egress, &mut client, Wish::unreadable(via), Refusal::of(malformed)).await,
        Err(_) => {
            let refusal = Refusal { status: "408 Request Timeout", ..Refusal::of(Malformed("the head took too long")) };
            return deny(egress, &mut client, Wish::unreadable(via), refusal).await;
        }
    };
    let wish = request::wish(&head, via);
    let wanted = match Request::of(&head) {
        Ok(wanted) => wanted,
        Err(malformed) => return deny(egress, &mut client, wish, Refusal::of(malformed).to(&head)).await,
    };
    match reach(egress, &wanted).await {
        Ok(origin) => exchange(egress, client, origin, wanted, wish).await,
        Err(reason) => deny(egress, &mut client, wish, Refusal::because(reason).to(&head)).await,
    }
}

async fn reach(egress: &Egress, wanted: &Request) -> Result<TcpStream, Reason> {
    let policy = egress.policy();
    if !policy.allows(&wanted.host, wanted.port) {
        return Err(Reason::NotListed);
    }
    let origin = destination::connect(&egress.names, &policy, &wanted.host, wanted.port).await?;
    let _ = origin.set_nodelay(true);
    Ok(origin)
}

/// Moves the bytes of an allowed request until it ends, stands still, or the policy no longer allows it.
async fn exchange(egress: &Egress, mut client: Client<'_>, mut origin: TcpStream, wanted: Request, wish: Wish) {
    let pulse = Pulse::new();
    let work = async {
        match &wanted.kind {
            Kind::Tunnel => match tunnel::open(&mut client, &mut origin, &wanted.host).await {
                Ok(()) => {
                    egress.attempts.add(wish, None);
                    tunnel::run(&mut client, &mut origin, &egress.traffic, &pulse).await;
                }
                Err(reason) => egress.attempts.add(wish, Some(reason)),
            },
            Kind::Exchange { head, body } => {
                egress.attempts.add(wish, None);
                if forward::run(&mut client, &mut origin, head, *body, &egress.traffic, &pulse).await.is_ok() {
                    part(&mut client).await;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = pulse.stopped() => {}
        () = forbidden(egress, &wanted) => {}
    }
}

/// Returns once the policy has changed to one that does not allow the request.
async fn forbidden(egress: &Egress, wanted: &Request) {
    let mut policy = egress.policy.subscribe();
    let is_forbidden = |policy: &Arc<super::Policy>| !policy.allows(&wanted.host, wanted.port);
    if policy.wait_for(is_forbidden).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// How a request is refused.
struct Refusal {
    status: &'static str,
    reason: Reason,
    message: &'static str,
}

impl Refusal {
    fn of(Malformed(message): Malformed) -> Self {
        Self { status: "400 Bad Request", reason: Reason::Malformed, message }
    }

    fn because(reason: Reason) -> Self {
        let (status, message) = match reason {
            Reason::NotListed => ("403 Forbidden", "the network policy of this sandbox does not allow this host"),
            Reason::PrivateAddress => ("403 Forbidden", "the address of this host is not public"),
            Reason::SniMismatch => ("403 Forbidden", "TLS names another host than the request"),
            Reason::NotResolved => ("502 Bad Gateway", "the name of this host has no address"),
            Reason::Unreachable => ("502 Bad Gateway", "nobody answers at the address of this host"),
            Reason::Malformed => ("400 Bad Request", "the request cannot be read"),
        };
        Self { status, reason, message }
    }

    /// As the sender of this request takes it. A browser shows a message as if it were the page; without one it says that it
    /// has none.
    fn to(self, head: &Head) -> Self {
        let is_for_page = head.all("upgrade-insecure-requests").next().is_some();
        if is_for_page { Self { message: "", ..self } } else { self }
    }
}

async fn deny(egress: &Egress, client: &mut Client<'_>, wish: Wish, refusal: Refusal) {
    egress.attempts.add(wish, Some(refusal.reason));
    let line_end = if refusal.message.is_empty() { "" } else { "\n" };
    let text = format!(
        "HTTP/1.1 {}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nx-vitrine-egress: {}\r\nconnection: close\r\n\r\n{}{line_end}",
        refusal.status,
        refusal.message.len() + line_end.len(),
        refusal.reason.text(),
        refusal.message
    );
    if let Ok(Ok(())) = timeout(FAREWELL_TIME, client.writer.write_all(text.as_bytes())).await {
        part(client).await;
    }
}

/// Ends a connection whose last byte was written: what is not read before the end would take that along with it.
async fn part(client: &mut Client<'_>) {
    let farewell = async {
        client.writer.shutdown().await?;
        let mut rest = [0; 4096];
        while client.reader.read(&mut rest).await? > 0 {}
        Ok::<_, std::io::Error>(())
    };
    let _ = timeout(FAREWELL_TIME, farewell).await;
}
