//! A Sandbox is one bubblewrap and what the runtime knows about it.
//!
//! Rule: the host's traces of a sandbox (process, control groups, directory, user id) are removed by its keeper, one
//! task per sandbox, whatever the reason for its end.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use secrecy::SecretString;
use time::OffsetDateTime;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::cgroup::Group;
use super::channel::Channel;
use super::clock;
use super::egress::Egress;
use super::execd::{Commands, Kept, Sessions, Wire};
use super::limits::Limits;
use super::pause::Pause;
use super::spawn::UidLease;
use super::sys;
use super::wire::{Image, SandboxView, Status};

/// The facts of a sandbox that never change.
#[derive(Clone, Debug)]
pub struct Profile {
    pub id: String,
    pub image: Image,
    pub entrypoint: Vec<String>,
    pub limits: Limits,
    pub wire: Wire,
    pub extensions: BTreeMap<String, String>,
    pub created_at: OffsetDateTime,
}

pub struct Sandbox {
    pub profile: Profile,
    pub token: SecretString,
    pub channel: Channel,
    /// The way out; `None` for a sandbox without one.
    pub egress: Option<Arc<Egress>>,
    pub commands: Commands,
    /// Output whose text lost something.
    pub raw_output: Kept,
    pub sessions: Sessions,
    pub directory: PathBuf,
    pub group: Group,
    pub pause: Pause,
    /// Set when the sandbox is being killed or has died: nothing inside answers any more.
    pub ended: CancellationToken,
    /// Set when the registry has let go of it.
    pub forgotten: CancellationToken,
    /// Set when nothing of it is left on the host.
    pub removed: CancellationToken,
    expires_at: watch::Sender<Option<OffsetDateTime>>,
    metadata: Mutex<BTreeMap<String, String>>,
    ended_at: Mutex<Option<OffsetDateTime>>,
    pidfd: AsyncFd<OwnedFd>,
}

/// What a sandbox is made of once its init has answered.
pub struct Parts {
    pub profile: Profile,
    pub token: SecretString,
    pub channel: Channel,
    pub egress: Option<Arc<Egress>>,
    pub directory: PathBuf,
    pub group: Group,
    pub expires_at: Option<OffsetDateTime>,
    pub metadata: BTreeMap<String, String>,
    pub pidfd: AsyncFd<OwnedFd>,
}

impl Sandbox {
    pub fn new(parts: Parts) -> Self {
        Self {
            profile: parts.profile,
            token: parts.token,
            channel: parts.channel,
            egress: parts.egress,
            commands: Commands::default(),
            raw_output: Kept::default(),
            sessions: Sessions::default(),
            directory: parts.directory,
            group: parts.group,
            pause: Pause::default(),
            ended: CancellationToken::new(),
            forgotten: CancellationToken::new(),
            removed: CancellationToken::new(),
            expires_at: watch::Sender::new(parts.expires_at),
            metadata: Mutex::new(parts.metadata),
            ended_at: Mutex::new(None),
            pidfd: parts.pidfd,
        }
    }

    pub fn id(&self) -> &str {
        &self.profile.id
    }

    pub fn expires_at(&self) -> Option<OffsetDateTime> {
        *self.expires_at.borrow()
    }

    pub fn renew(&self, expires_at: OffsetDateTime) {
        self.expires_at.send_replace(Some(expires_at));
    }

    pub fn metadata(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `Failed` when the sandbox has died on its own; one that was deleted or expired is not found at all.
    pub fn state(&self) -> &'static str {
        match (self.ended.is_cancelled(), self.pause.is_on()) {
            (true, _) => "Failed",
            (false, true) => "Paused",
            (false, false) => "Running",
        }
    }

    /// Kills bubblewrap and with it everything inside.
    pub fn kill(&self) {
        self.ended.cancel();
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        if self.pause.is_on() {
            self.group.freezer.kill();
        }
    }

    /// Returns when the time to live is over. Renewals are followed.
    pub async fn expired(&self) {
        let mut changes = self.expires_at.subscribe();
        loop {
            let expires_at = *changes.borrow_and_update();
            let left = expires_at.map(|at| (at - clock::now()).try_into().unwrap_or(std::time::Duration::ZERO));
            match left {
                Some(std::time::Duration::ZERO) => return,
                // A timer per hour at most: time of day may be set while it runs.
                Some(left) => {
                    let nap = left.min(std::time::Duration::from_secs(3600));
                    let _ = tokio::time::timeout(nap, changes.changed()).await;
                }
                None => {
                    let _ = changes.changed().await;
                }
            }
        }
    }

    /// Waits for bubblewrap to end, then removes what the sandbox had on the host.
    pub async fn bury(&self, mut child: Child, uid: Option<UidLease>) {
        let _ = self.pidfd.readable().await;
        self.ended.cancel();
        *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock::now());
        let (group, directory) = (self.group.clone(), self.directory.clone());
        let removal = tokio::task::spawn_blocking(move || {
            let _ = child.wait();
            group.remove();
            let _ = std::fs::remove_dir_all(&directory);
        });
        let _ = removal.await;
        drop(uid);
        self.removed.cancel();
    }

    pub fn view(&self) -> SandboxView {
        let ended_at = *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        let (reason, message) = match self.state() {
            "Running" => ("SANDBOX_RUNNING", "The sandbox is running."),
            "Paused" => ("SANDBOX_PAUSED", "Everything in the sandbox stands still."),
            _ => ("SANDBOX_DIED", "The first process of the sandbox has ended."),
        };
        SandboxView {
            id: self.profile.id.clone(),
            status: Status {
                state: self.state(),
                reason,
                message,
                last_transition_at: clock::text(
                    ended_at.or(self.pause.changed_at()).unwrap_or(self.profile.created_at),
                ),
            },
            metadata: self.metadata().clone(),
            extensions: self.profile.extensions.clone(),
            expires_at: self.expires_at().map(clock::text),
            created_at: clock::text(self.profile.created_at),
            entrypoint: self.profile.entrypoint.clone(),
            image: Some(self.profile.image.clone()),
        }
    }
}

/// A descriptor of a child that becomes readable when it ends.
pub fn watch_child(child: &Child) -> io::Result<AsyncFd<OwnedFd>> {
    watch_process(child.id())
}

/// The same for any process.
pub fn watch_process(pid: u32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    sys::watch_pidfd(pidfd_open(pid, PidfdFlags::empty())?)
}
