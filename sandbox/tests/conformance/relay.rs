//! A Relay stands between a client and its server, and loses answers when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use url::Url;

pub struct Relay {
    /// Where the server is reached through it.
    pub url: Url,
    is_losing: Arc<AtomicBool>,
    _stop: DropGuard,
}

impl Relay {
    /// In front of a server that speaks plain HTTP.
    pub async fn to(server: &Url) -> Self {
        let address = server.socket_addrs(|| None).unwrap()[0];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = server.clone();
        url.set_ip_host(listener.local_addr().unwrap().ip()).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let (is_losing, stop) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let (losing, stopped, tasks) = (is_losing.clone(), stop.clone(), TaskTracker::new());
        tasks.clone().spawn(stop.clone().run_until_cancelled_owned(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let carried = carry(client, address, losing.clone());
                tasks.spawn(stopped.clone().run_until_cancelled_owned(carried));
            }
        }));
        Self { url, is_losing, _stop: stop.drop_guard() }
    }

    /// From now on the server gets what it is sent, and its answers break off before their first byte.
    pub fn lose_answers(&self) {
        self.is_losing.store(true, Ordering::SeqCst);
    }
}

async fn carry(client: TcpStream, server: SocketAddr, is_losing: Arc<AtomicBool>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = async {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
            if is_losing.load(Ordering::SeqCst) || to_client.write_all(&bytes[..count]).await.is_err() {
                break;
            }
        }
    };
    // Both ends are dropped with whichever is over first.
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        () = answers => {}
    }
}
