//! A CutProxy stands in front of a sandbox server and cuts its connections when a test wants it. Where the server names its
//! own address, the proxy names itself, so that all calls come this way.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::Result;

/// The proxy; it ends when it is dropped.
pub struct CutProxy {
    /// Where it is reached.
    pub url: String,
    gate: Arc<Gate>,
    _stop: DropGuard,
}

struct Gate {
    is_open: AtomicBool,
    has_refused: AtomicBool,
    /// Cuts the connections that there are.
    cut: Mutex<CancellationToken>,
}

impl CutProxy {
    /// In front of the server with this URL.
    pub async fn start(url: &str) -> Result<Self> {
        let target = url.strip_prefix("http://").ok_or("no address")?.trim_end_matches('/').to_owned();
        let listener = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            // One address is replaced by the other in what is said, and lengths must stay as they are.
            if listener.local_addr()?.to_string().len() == target.len() {
                break listener;
            }
        };
        let own = listener.local_addr()?.to_string();
        let gate = Gate {
            is_open: AtomicBool::new(true),
            has_refused: AtomicBool::new(false),
            cut: Mutex::new(CancellationToken::new()),
        };
        let (gate, stop) = (Arc::new(gate), CancellationToken::new());
        let proxy = Self { url: format!("http://{own}"), gate: Arc::clone(&gate), _stop: stop.clone().drop_guard() };
        let tasks = TaskTracker::new();
        let serve = serve(listener, gate, tasks.clone(), target, own);
        tasks.spawn(async move { stop.run_until_cancelled(serve).await });
        Ok(proxy)
    }

    /// Cuts what there is, and everything that comes.
    pub fn refuse(&self) {
        self.gate.has_refused.store(false, Ordering::SeqCst);
        self.gate.is_open.store(false, Ordering::SeqCst);
        std::mem::take(&mut *self.gate.cut.lock().unwrap_or_else(PoisonError::into_inner)).cancel();
    }

    /// Whether somebody came since and was refused.
    pub fn has_refused(&self) -> bool {
        self.gate.has_refused.load(Ordering::SeqCst)
    }

    /// Lets them in again.
    pub fn accept(&self) {
        self.gate.is_open.store(true, Ordering::SeqCst);
    }
}

async fn serve(listener: TcpListener, gate: Arc<Gate>, tasks: TaskTracker, target: String, own: String) {
    while let Ok((client, _)) = listener.accept().await {
        if !gate.is_open.load(Ordering::SeqCst) {
            gate.has_refused.store(true, Ordering::SeqCst);
            continue;
        }
        let cut = gate.cut.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (target, own) = (target.clone(), own.clone());
        tasks.spawn(async move { cut.run_until_cancelled(pass(client, &target, &own)).await });
    }
}

async fn pass(mut client: TcpStream, target: &str, own: &str) -> std::io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    let (mut from_client, mut from_server) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => match read? {
                0 => return Ok(()),
                count => server.write_all(&replaced(&from_client[..count], own, target)).await?,
            },
            read = server.read(&mut from_server) => match read? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => client.write_all(&replaced(&from_server[..count], target, own)).await?,
            },
        }
    }
}

fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..=bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from.as_bytes()) {
            bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        }
    }
    bytes
}
