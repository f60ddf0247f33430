//! Starting and stopping the local runtime.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::serve::ListenerExt;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::unix::AsyncFd;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::cgroup::{Cgroups, Ground};
use super::delegation::Family;
use super::error::Error;
use super::registry::Registry;
use super::sandbox::watch_process;
use super::server::{self, Shared};
use super::spawn::PROGRAM_PATH;
use super::state_dir::StateDir;

/// How to start the local runtime.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// A loopback address; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The key of the Lifecycle API. Must not be empty.
    pub api_key: SecretString,
    /// A directory of this runtime alone.
    pub state_dir: PathBuf,
    pub cgroups: Cgroups,
    /// The parent process. When it ends, the runtime stops in order, as on a shutdown. Where control groups of version 2
    /// need it, it is moved into another group together with the runtime.
    pub die_with_parent: Option<u32>,
}

/// A runtime that listens but does not answer yet.
pub struct Runtime {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
    parent: Option<AsyncFd<std::os::fd::OwnedFd>>,
}

/// Takes the state directory, cleans what a killed runtime has left in it, and listens.
pub async fn bind(options: RuntimeOptions) -> Result<Runtime, Error> {
    if !options.listen.ip().is_loopback() {
        return Err(Error::NotLoopback(options.listen));
    }
    if options.api_key.expose_secret().is_empty() {
        return Err(Error::EmptyKey);
    }
    if !PROGRAM_PATH.split(':').any(|path| Path::new(path).join("bwrap").exists()) {
        return Err(Error::NoBubblewrap);
    }
    raise_open_files();
    let parent = options.die_with_parent.map(watch_parent).transpose()?;
    let prepare = move || {
        let state = StateDir::open(&options.state_dir)?;
        let starter = options.die_with_parent.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let family = Family { own: rustix::process::getpid(), starter };
        let ground = Ground::detect(options.cgroups, &state.name(), family);
        if !ground.bounds_processes() && !counts_processes_by_namespace() {
            return Err(Error::NoProcessLimit);
        }
        ground.remove_leftovers();
        Registry::new(state, ground)
    };
    let prepared = tokio::task::spawn_blocking(prepare).await;
    let registry = prepared.map_err(|error| Error::io("preparation failed")(std::io::Error::other(error)))??;
    let listener = TcpListener::bind(options.listen).await.map_err(Error::io("cannot listen"))?;
    let address = listener.local_addr().map_err(Error::io("cannot listen"))?;
    let shared = Arc::new(Shared { registry: Arc::new(registry), api_key: options.api_key, address });
    Ok(Runtime { listener, address, shared, parent })
}

impl Runtime {
    /// The base URL of both APIs, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.shared.registry)
    }

    /// The limits that this host lets the runtime enforce.
    pub fn enforced(&self) -> Vec<&'static str> {
        self.shared.registry.enforced()
    }

    /// Answers until `shutdown` or the end of the parent, then ends every sandbox and removes what they had.
    pub async fn serve(self, shutdown: CancellationToken) -> Result<(), Error> {
        let Self { listener, shared, parent, .. } = self;
        let registry = Arc::clone(&shared.registry);
        // Events are small and wanted at once.
        let listener = listener.tap_io(|connection| {
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(error = %error, "cannot switch off delays of a connection");
            }
        });
        let stop = CancellationToken::new();
        let server =
            axum::serve(listener, server::router(shared)).with_graceful_shutdown(stop.clone().cancelled_owned());
        let server = async { server.await };
        tokio::pin!(server);
        tokio::select! {
            outcome = &mut server => outcome.map_err(Error::io("the server failed"))?,
            () = shutdown.cancelled() => {}
            () = ended(parent) => tracing::info!("the parent process has ended"),
        }
        stop.cancel();
        registry.close().await;
        // Streams have ended with their sandboxes; an idle connection is not worth waiting for.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(500), server).await;
        Ok(())
    }
}

/// Each sandbox has a few descriptors here; how many there may be is then for whoever has set the hard limit.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Whether the kernel counts the processes of a user separately in each user namespace, as Linux 5.14 and later do.
/// Started by root, every sandbox has a user of its own, and then any kernel will do.
fn counts_processes_by_namespace() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|text| text.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    rustix::process::geteuid().is_root() || version >= (5, 14)
}

fn watch_parent(pid: u32) -> Result<AsyncFd<std::os::fd::OwnedFd>, Error> {
    let watch = watch_process(pid).map_err(|_| Error::ParentGone(pid))?;
    let actual = rustix::process::getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    // Compared after the descriptor was opened, so that a number that was given away meanwhile is noticed.
    if actual == Some(pid) { Ok(watch) } else { Err(Error::ParentGone(pid)) }
}

async fn ended(parent: Option<AsyncFd<std::os::fd::OwnedFd>>) {
    match parent {
        Some(parent) => {
            let _ = parent.readable().await;
        }
        None => std::future::pending().await,
    }
}
