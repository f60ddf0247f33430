//! The registry holds every sandbox of this runtime, and starts and ends them.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use time::OffsetDateTime;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::catalogue::Mount;
use super::cgroup::{Ground, Group};
use super::channel::Channel;
use super::egress::{self, Egress, Names, Policy};
use super::error::{ApiError, Error};
use super::execd;
use super::executable::Executable;
use super::protocol::Program;
use super::sandbox::{self, Parts, Profile, Sandbox};
use super::spawn::{Recipe, Spawned, Spawner};
use super::state_dir::{Record, StateDir};
use super::{clock, ids};

/// How long bubblewrap and the init may take.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// What keeps a container alive elsewhere needs no process here.
const IDLE_ENTRYPOINTS: [&[&str]; 3] = [&["tail", "-f", "/dev/null"], &["sleep", "infinity"], &["tail"]];

pub struct Registry {
    sandboxes: Mutex<HashMap<String, Arc<Sandbox>>>,
    spawner: Spawner,
    state: StateDir,
    ground: Ground,
    executable: Executable,
    names: Names,
    /// Set once every sandbox is to end: one that is being made then ends as soon as it is there.
    closing: CancellationToken,
    pub tasks: TaskTracker,
}

/// A checked wish for a sandbox.
#[derive(Debug)]
pub struct Order {
    pub profile: Profile,
    pub mounts: Vec<Mount>,
    pub environment: BTreeMap<String, String>,
    /// Without one, not even an empty one, there is no way out at all.
    pub policy: Option<Policy>,
    pub metadata: BTreeMap<String, String>,
    pub expires_at: Option<OffsetDateTime>,
}

/// A sandbox whose init has answered.
struct Raised {
    channel: Channel,
    spawned: Spawned,
    pidfd: AsyncFd<OwnedFd>,
    listener: Option<TcpListener>,
}

impl Registry {
    pub fn new(state: StateDir, ground: Ground) -> Result<Self, Error> {
        let executable = Executable::locate(&state.name()).map_err(Error::io("cannot provide the init's program"))?;
        let spawner = Spawner::start()?;
        let (sandboxes, closing, tasks) = (Mutex::default(), CancellationToken::new(), TaskTracker::new());
        Ok(Self { sandboxes, spawner, state, ground, executable, names: Names::new(), closing, tasks })
    }

    /// The limits that hold for every sandbox of this runtime, each with a mechanism behind it.
    pub fn enforced(&self) -> Vec<&'static str> {
        let mut enforced = self.ground.enforced();
        enforced.extend(["network", "open_files", "file_size", "time"]);
        enforced
    }

    /// Why there are no control groups, or nothing.
    pub fn without_groups(&self) -> Option<&'static str> {
        self.ground.missing()
    }

    pub fn get(&self, id: &str) -> Option<Arc<Sandbox>> {
        self.lock().get(id).cloned()
    }

    pub fn find(&self, id: &str) -> Result<Arc<Sandbox>, ApiError> {
        self.get(id).ok_or_else(|| ApiError::unknown_sandbox(id))
    }

    /// All sandboxes, the newest first.
    pub fn all(&self) -> Vec<Arc<Sandbox>> {
        let mut all: Vec<_> = self.lock().values().cloned().collect();
        all.sort_by_key(|sandbox| std::cmp::Reverse(sandbox.profile.created_at));
        all
    }

    /// Starts a sandbox. A caller that goes away meanwhile leaves nothing half made, since a task of its own does it.
    pub async fn create(self: &Arc<Self>, order: Order) -> Result<Arc<Sandbox>, ApiError> {
        let registry = Arc::clone(self);
        let task = self.tasks.spawn(async move { registry.start(order).await });
        task.await.map_err(|error| ApiError::runtime(error.to_string()))?
    }

    /// Ends a sandbox and returns when nothing of it is left.
    pub async fn remove(&self, id: &str) -> Result<(), ApiError> {
        let sandbox = self.lock().remove(id).ok_or_else(|| ApiError::unknown_sandbox(id))?;
        sandbox.forgotten.cancel();
        sandbox.kill();
        sandbox.removed.cancelled().await;
        Ok(())
    }

    /// Ends every sandbox, those that are being made as well.
    pub async fn close(&self) {
        self.closing.cancel();
        let all: Vec<_> = self.lock().drain().map(|(_, sandbox)| sandbox).collect();
        for sandbox in &all {
            sandbox.forgotten.cancel();
            sandbox.kill();
        }
        for sandbox in all {
            sandbox.removed.cancelled().await;
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.ground.close();
    }

    async fn start(self: &Arc<Self>, order: Order) -> Result<Arc<Sandbox>, ApiError> {
        if self.closing.is_cancelled() {
            return Err(not_started(io::Error::other("the runtime is stopping")));
        }
        let id = order.profile.id.clone();
        let (token, egress_token) = (ids::token().map_err(not_started)?, ids::token().map_err(not_started)?);
        let directory = self.state.create(&id).map_err(not_started)?;
        let group = self.ground.create(&id, &order.profile.limits).map_err(|error| {
            let _ = std::fs::remove_dir(&directory);
            not_started(error)
        })?;
        let started = self.raise(&order, &group, &directory).await;
        let Raised { channel, spawned, pidfd, listener } = match started {
            Ok(raised) => raised,
            Err(error) => {
                let removal = tokio::task::spawn_blocking(move || {
                    group.remove();
                    let _ = std::fs::remove_dir_all(directory);
                });
                let _ = removal.await;
                return Err(error);
            }
        };
        let egress = order.policy.map(|policy| Arc::new(Egress::new(policy, egress_token.into(), self.names.clone())));
        let sandbox = Arc::new(Sandbox::new(Parts {
            egress: egress.clone(),
            token: token.into(),
            profile: order.profile,
            channel,
            directory,
            group,
            expires_at: order.expires_at,
            metadata: order.metadata,
            pidfd,
        }));
        self.lock().insert(id, Arc::clone(&sandbox));
        self.keep(Arc::clone(&sandbox), spawned);
        if let (Some(egress), Some(listener)) = (egress, listener) {
            self.tasks.spawn(egress::serve(egress, listener, sandbox.ended.clone(), self.tasks.clone()));
        }
        if self.closing.is_cancelled() {
            let _ = self.remove(sandbox.id()).await;
            return Err(not_started(io::Error::other("the runtime is stopping")));
        }
        self.start_entrypoint(&sandbox).await;
        Ok(sandbox)
    }

    async fn raise(&self, order: &Order, group: &Group, directory: &std::path::Path) -> Result<Raised, ApiError> {
        let proxy_port = order.policy.as_ref().map(|_| egress::PROXY_PORT);
        let recipe = Recipe {
            mounts: &order.mounts,
            limits: &order.profile.limits,
            environment: &order.environment,
            proxy_port,
            executable: self.executable.path(),
            group,
        };
        let mut spawned = self.spawner.spawn(&recipe).await.map_err(not_started)?;
        let prepared = async {
            let pidfd = sandbox::watch_child(&spawned.child)?;
            Record::of(spawned.child.id(), group.all_directories().map(Into::into).collect()).store(directory)?;
            let mut channel = Channel::new(spawned.control.try_clone()?)?;
            let ready = async {
                match proxy_port {
                    Some(port) => channel.ready_with_listener(port).await.map(Some),
                    None => channel.ready().await.map(|()| None),
                }
            };
            let listener = tokio::time::timeout(START_PATIENCE, ready).await??;
            Ok::<_, io::Error>((channel, pidfd, listener))
        };
        match prepared.await {
            Ok((channel, pidfd, listener)) => Ok(Raised { channel, spawned, pidfd, listener }),
            Err(error) => {
                let _ = spawned.child.kill();
                let _ = spawned.child.wait();
                let said = spawned.diagnostics();
                tracing::warn!(error = %error, sandbox.said = %said, "sandbox did not start");
                Err(not_started(io::Error::other(if said.is_empty() { error.to_string() } else { said })))
            }
        }
    }

    /// Spawns the keeper of a sandbox: it waits for death or expiry and cleans up.
    fn keep(self: &Arc<Self>, sandbox: Arc<Sandbox>, spawned: Spawned) {
        let registry = Arc::clone(self);
        self.tasks.spawn(async move {
            let Spawned { child, uid, control, .. } = spawned;
            drop(control);
            let burial = sandbox.bury(child, uid);
            tokio::pin!(burial);
            let is_buried = tokio::select! {
                () = &mut burial => true,
                () = sandbox.expired() => false,
            };
            if is_buried {
                // It was deleted, or it died: then it stays visible until somebody deletes it or its time is over.
                tokio::select! {
                    () = sandbox.forgotten.cancelled() => return,
                    () = sandbox.expired() => {}
                }
                registry.lock().remove(sandbox.id());
                return;
            }
            tracing::info!(sandbox.id = sandbox.id(), "sandbox expired");
            registry.lock().remove(sandbox.id());
            sandbox.kill();
            burial.await;
        });
    }

    async fn start_entrypoint(&self, sandbox: &Arc<Sandbox>) {
        let words: Vec<&str> = sandbox.profile.entrypoint.iter().map(String::as_str).collect();
        if words.is_empty() || IDLE_ENTRYPOINTS.contains(&words.as_slice()) {
            return;
        }
        let program = Program::Argv(sandbox.profile.entrypoint.clone());
        if let Err(error) = execd::start_entrypoint(sandbox, &self.tasks, program).await {
            tracing::warn!(sandbox.id = sandbox.id(), error = %error.message, "entrypoint did not start");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a sandbox that is made at this moment with this time to live expires.
pub fn expiry(timeout_s: Option<i64>) -> Option<OffsetDateTime> {
    timeout_s.map(|seconds| clock::now().saturating_add(time::Duration::seconds(seconds)))
}

fn not_started(error: io::Error) -> ApiError {
    let message = format!("the sandbox could not be started: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "LOCAL::SANDBOX_START_FAILED", message)
}
