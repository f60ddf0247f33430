//! The sandbox of a claim: made when the first tool needs it, shared by the tools of the run, removed at its end.
//!
//! One that is not the first of its execution gets the files of the newest checkpoint before a tool may use it.

use std::collections::BTreeMap;
use std::sync::{Mutex as Plain, PoisonError};
use std::time::Duration;

use futures_util::lock::Mutex;

use super::checkpoint::{self, Missed, Workspace};
use super::claim::{Claim, PinnedSandbox};
use super::halt::Halt;
use super::sandbox_idle::Usage;
use crate::access::AccessError;
use crate::artifact::{Artifact, ArtifactKind};
use crate::error::StoreError;
use crate::event::Event;
use crate::execution::{Change, IterationRecord, StopCause, StopCode};
use crate::ids::SandboxId;
use crate::sandbox::{
    KeptFile, LiveSandbox, NotCreated, Sandbox, SandboxError, SandboxRequest, SandboxState, Secrets, Setting,
    WorkspaceCheckpoint,
};
use crate::tool_call::{EgressLog, ToolCall, ToolCallState};

/// At most one live sandbox, and what is kept of its workspace.
#[derive(Default)]
pub struct SandboxSession {
    pub(super) live: Mutex<Option<(Sandbox, LiveSandbox)>>,
    pub(super) workspace: Mutex<Workspace>,
    /// Held by the tool that writes a file.
    pub(crate) writing: Mutex<()>,
    row: Plain<Row>,
    pub(super) usage: Usage,
    /// What was told of its programs' attempts to reach the network.
    pub(crate) egress: EgressLog,
    /// What was ever put into a sandbox of this claim.
    pub(super) secrets: Secrets,
}

/// The newest checkpoint as it is to be stored.
#[derive(Default)]
struct Row {
    newest: Option<WorkspaceCheckpoint>,
    stored: Option<WorkspaceCheckpoint>,
    /// Whether the execution had a sandbox before the live one.
    has_had_one: bool,
    /// Whether the last one of this claim was lost under its tools.
    was_lost: bool,
    /// The SHA-256 of the newest artifact of each name in outputs/.
    collected: BTreeMap<String, String>,
    /// The sandbox that was taken over, until somebody asks whether it is still there.
    taken: Option<Sandbox>,
    /// Whether its time to live was over when it was asked for.
    has_expired: bool,
    /// The sandbox in which something lies that could not be taken away: it is read to the end of the call, and not used
    /// again.
    spoiled: Option<SandboxId>,
    /// Whether the sandbox stays for the next claim.
    is_left: bool,
}

impl SandboxSession {
    /// Takes up what earlier claims left.
    pub(super) async fn take_up(&self, transcript: &[IterationRecord], taken: Option<Sandbox>) {
        let checkpoint = latest_checkpoint(transcript).cloned();
        let used = |call: &ToolCall| call.sandbox_id.is_some() || call.state == ToolCallState::Interrupted;
        let has_had_one = transcript.iter().flat_map(|record| &record.tool_calls).any(used);
        self.workspace.lock().await.checkpoint.clone_from(&checkpoint);
        *self.row() = Row { newest: checkpoint.clone(), stored: checkpoint, has_had_one, taken, ..Row::default() };
    }

    /// Notes a checkpoint; the next result that is recorded carries its row.
    pub(super) fn set_checkpoint(&self, workspace: &mut Workspace, checkpoint: WorkspaceCheckpoint) {
        workspace.checkpoint = Some(checkpoint.clone());
        self.row().newest = Some(checkpoint);
    }

    /// The row of the newest checkpoint if it was not stored. Called where commits are in order, so that of two calls
    /// side by side the later commit never carries the older checkpoint.
    pub(crate) fn unsaved_checkpoint(&self, iteration: u32) -> Option<Change> {
        let mut row = self.row();
        if row.newest == row.stored {
            return None;
        }
        let newest = row.newest.clone();
        row.stored.clone_from(&newest);
        newest.map(|checkpoint| Change::SaveWorkspace { iteration, checkpoint })
    }

    /// Notes the newest artifact of a name; false when these bytes were the newest before.
    pub(crate) fn note_collected(&self, name: &str, sha256: &str) -> bool {
        let before = self.row().collected.insert(name.to_owned(), sha256.to_owned());
        before.is_none_or(|before| before != sha256)
    }

    pub(super) fn note_lost(&self) {
        self.row().was_lost = true;
    }

    fn row(&self) -> std::sync::MutexGuard<'_, Row> {
        self.row.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The live sandbox; makes one when there is none. Tools that come at the same time wait for the same one. Who had
    /// it made in place of one that was lost, or without all of its files, gets a sentence for the model. Every success is
    /// followed by [`Self::release`].
    pub async fn get_or_create(&self, claim: &Claim) -> Result<(LiveSandbox, Option<String>), NoSandbox> {
        let mut live = self.live.lock().await;
        let sandbox = self.find_or_create(claim, &mut live).await?;
        // Under the lock: nobody takes it for idle before it is in use.
        self.usage.begin();
        Ok(sandbox)
    }

    /// Ends a use that began with [`Self::get_or_create`] or [`Self::taken_over`].
    pub fn release(&self, claim: &Claim) {
        self.usage.end(claim.ports.clock.monotonic());
    }

    async fn find_or_create(
        &self,
        claim: &Claim,
        live: &mut Option<(Sandbox, LiveSandbox)>,
    ) -> Result<(LiveSandbox, Option<String>), NoSandbox> {
        // At every call, also for a sandbox that is there: what was revoked meanwhile is not used any more.
        let pinned = authorized(claim).await?;
        self.settle_taken(claim, pinned, live).await?;
        let now = claim.ports.clock.now();
        let spoiled = self.row().spoiled;
        let is_over = |row: &Sandbox| row.expires_at.is_some_and(|at| at <= now) || spoiled == Some(row.id);
        if let Some((row, _)) = live.take_if(|(row, _)| is_over(row)) {
            self.leave_to_the_reaper(claim, row).await;
        }
        if let Some((_, sandbox)) = live {
            return Ok((sandbox.clone(), None));
        }
        let setting = Setting::new(&pinned.profile, self.secrets.clone());
        let (row, sandbox) = create(claim, pinned, setting).await?;
        *live = Some((row, sandbox.clone()));
        let has_had_one = std::mem::replace(&mut self.row().has_had_one, true);
        let was_lost = std::mem::take(&mut self.row().was_lost);
        let checkpoint = self.workspace.lock().await.checkpoint.clone();
        if !was_lost && (!has_had_one || checkpoint.as_ref().is_some_and(WorkspaceCheckpoint::is_whole)) {
            return Ok((sandbox, None));
        }
        let files = WorkspaceCheckpoint::describe(checkpoint.as_ref());
        let note = format!("[The sandbox is a new one: {files}; processes and files outside /workspace are gone.]");
        Ok((sandbox, Some(note)))
    }

    /// The sandbox of this id, if it was taken over and is still there. Then [`Self::release`] follows.
    pub(crate) async fn taken_over(&self, claim: &Claim, id: SandboxId) -> Result<Option<LiveSandbox>, Halt> {
        let mut live = self.live.lock().await;
        let pinned = authorized(claim).await?;
        self.settle_taken(claim, pinned, &mut live).await?;
        let found = live.as_ref().filter(|(row, _)| row.id == id).map(|(_, sandbox)| sandbox.clone());
        if found.is_some() {
            self.usage.begin();
        }
        Ok(found)
    }

    /// Finds out whether the sandbox that was taken over is still there. Its files are as its commands left them.
    async fn settle_taken(
        &self,
        claim: &Claim,
        pinned: &PinnedSandbox,
        live: &mut Option<(Sandbox, LiveSandbox)>,
    ) -> Result<(), Halt> {
        let Some(mut row) = self.row().taken.clone() else { return Ok(()) };
        let Some(remote_id) = row.remote_id.clone() else {
            // No server ever said that it made it: there is nothing to be used.
            self.row().taken = None;
            row.state = SandboxState::KillPending;
            return save(claim, &row, Vec::new()).await;
        };
        let sandbox = LiveSandbox {
            id: row.id,
            target: pinned.target.clone(),
            remote_id,
            enforced: row.enforced.clone(),
            expires_at: row.expires_at,
            setting: Setting::new(&pinned.profile, self.secrets.clone()),
        };
        let is_usable = claim.ports.sandboxes.is_usable(&claim.call_context(), &sandbox).await;
        if let Some(cause) = claim.signal.cause() {
            return Err(Halt::Signal(cause));
        }
        match is_usable {
            Ok(true) => {
                let files = claim.ports.reader.artifacts(claim.scope(), &[claim.execution.id]).await?;
                let outputs = files.into_iter().filter(|file| file.kind == ArtifactKind::Output);
                self.row().collected = outputs.map(|file| (file.name, file.sha256)).collect();
                *live = Some((row, sandbox));
            }
            Ok(false) | Err(_) => {
                self.row().has_expired = row.expires_at.is_some_and(|at| at <= claim.ports.clock.now());
                row.state = if is_usable.is_ok() { SandboxState::Gone } else { SandboxState::KillPending };
                save(claim, &row, Vec::new()).await?;
            }
        }
        self.row().taken = None;
        Ok(())
    }

    /// Leaves the sandbox to the next claim, with what runs in it.
    pub(crate) fn leave(&self) {
        self.row().is_left = true;
    }

    /// The id of the live sandbox.
    pub async fn current(&self) -> Option<SandboxId> {
        self.live.lock().await.as_ref().map(|(row, _)| row.id)
    }

    /// Stops using a sandbox that was lost; the next tool gets a fresh one. The lost one is removed by the reaper.
    pub async fn forget(&self, claim: &Claim, id: SandboxId) {
        let lost = self.live.lock().await.take_if(|(row, _)| row.id == id);
        if let Some((row, _)) = lost {
            self.leave_to_the_reaper(claim, row).await;
        }
    }

    /// No further call uses this sandbox. Those that are in it may still read what they left.
    pub(crate) fn spoil(&self, id: SandboxId) {
        self.row().spoiled = Some(id);
    }

    /// Stops using the sandbox if it was spoiled.
    pub(crate) async fn forget_spoiled(&self, claim: &Claim, id: SandboxId) {
        if self.row().spoiled == Some(id) {
            self.forget(claim, id).await;
        }
    }

    async fn leave_to_the_reaper(&self, claim: &Claim, row: Sandbox) {
        self.note_lost();
        let row = Sandbox { state: SandboxState::KillPending, ..row };
        // A journal that is lost stops the run by itself.
        let _ = save(claim, &row, Vec::new()).await;
    }

    /// Stops using a sandbox in which something may still run, and removes it: nothing may run beside the next tool.
    pub(crate) async fn give_up(&self, claim: &Claim, id: SandboxId) -> Result<(), Halt> {
        let given_up = self.live.lock().await.take_if(|(row, _)| row.id == id);
        let Some((mut row, sandbox)) = given_up else { return Ok(()) };
        self.row().was_lost = true;
        if !claim.may_act().await {
            return Ok(());
        }
        let removed = claim.ports.sandboxes.terminate(&sandbox.target, id, Some(&sandbox.remote_id)).await;
        row.state = if removed.is_ok() { SandboxState::Gone } else { SandboxState::KillPending };
        save(claim, &row, Vec::new()).await
    }

    /// How a program ended whose sandbox was not there any more, in words.
    pub(crate) async fn describe_loss(&self) -> String {
        let how = if self.row().has_expired {
            "the time to live of its sandbox ran out while no worker was there"
        } else {
            "its sandbox was lost while this ran"
        };
        format!("{how}; it may have run in part; {}", self.describe_kept().await)
    }

    /// What the next sandbox of the execution holds, in words.
    async fn describe_kept(&self) -> String {
        WorkspaceCheckpoint::describe(self.workspace.lock().await.checkpoint.as_ref())
    }

    /// Removes the sandbox, if there is one, and returns its row as it is to be stored with the end. One that is left to
    /// the next claim stays, and so does one that may be another claim's by now.
    pub async fn remove(&self, claim: &Claim) -> Option<Sandbox> {
        if self.row().is_left {
            return None;
        }
        let live = self.live.lock().await.take().map(|(row, _)| row);
        let mut row = live.or_else(|| self.row().taken.take())?;
        let target = &pinned(claim).ok()?.target;
        if !claim.may_act().await {
            return None;
        }
        let removed = claim.ports.sandboxes.terminate(target, row.id, row.remote_id.as_deref()).await;
        row.state = match removed {
            Ok(()) => SandboxState::Gone,
            Err(error) => {
                tracing::warn!(sandbox.id = %row.id, error.code = error.code, "sandbox was not removed");
                SandboxState::KillPending
            }
        };
        Some(row)
    }
}

/// The newest checkpoint of a transcript.
pub(super) fn latest_checkpoint(transcript: &[IterationRecord]) -> Option<&WorkspaceCheckpoint> {
    transcript.iter().rev().find_map(|record| record.workspace.as_ref())
}

fn pinned(claim: &Claim) -> Result<&PinnedSandbox, Halt> {
    let missing = || Halt::stop(StopCode::SandboxUnavailable, "The agent has no sandbox profile.");
    claim.pinned()?.sandbox.as_ref().ok_or_else(missing)
}

/// What the execution pins of its sandbox, if it may be used now.
async fn authorized(claim: &Claim) -> Result<&PinnedSandbox, Halt> {
    let pinned = pinned(claim)?;
    let profile = claim.pinned()?.agent.sandbox_profile_id;
    for resource in [profile, Some(pinned.profile.connection_id), pinned.credential_id].into_iter().flatten() {
        match claim.authorize_use(resource).await {
            Ok(()) => {}
            Err(AccessError::Denied) => {
                let message = format!("The agent has no grant to use {resource}, which its sandbox needs.");
                return Err(Halt::stop(StopCode::AccessDenied, message));
            }
            Err(AccessError::Store(error)) => return Err(error.into()),
        }
    }
    Ok(pinned)
}

/// Why there is no sandbox for a tool.
#[derive(Debug)]
pub enum NoSandbox {
    /// The run ends.
    Halt(Halt),
    /// It could not be made, and the run ends.
    NotMade(SandboxError),
    /// The tenant has as many as it may; the run goes on, and a later call may find room.
    QuotaReached {
        /// How many that are.
        most: u32,
    },
}

impl From<Halt> for NoSandbox {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

impl From<StoreError> for NoSandbox {
    fn from(error: StoreError) -> Self {
        Self::Halt(error.into())
    }
}

async fn create(claim: &Claim, pinned: &PinnedSandbox, setting: Setting) -> Result<(Sandbox, LiveSandbox), NoSandbox> {
    let mut row = intent(claim, pinned)?;
    open(claim, &row).await?;
    let request = SandboxRequest { id: row.id, target: pinned.target.clone(), profile: pinned.profile.clone() };
    let sandbox = match claim.ports.sandboxes.create(&claim.call_context(), &request).await {
        Ok(sandbox) => LiveSandbox { setting, ..sandbox },
        Err(NotCreated { error, may_exist }) => {
            row.state = if may_exist { SandboxState::KillPending } else { SandboxState::Gone };
            save(claim, &row, Vec::new()).await?;
            return Err(claim.signal.cause().map_or(NoSandbox::NotMade(error), |cause| Halt::Signal(cause).into()));
        }
    };
    row.state = SandboxState::Live;
    row.remote_id = Some(sandbox.remote_id.clone());
    row.enforced.clone_from(&sandbox.enforced);
    row.expires_at = sandbox.expires_at.or(row.expires_at);
    let started = Event::SandboxStarted {
        sandbox_id: row.id,
        tier: row.tier,
        image: row.image.clone(),
        enforced: row.enforced.clone(),
        expires_at_micros: row.expires_at,
        network: Some(row.network),
        network_hosts: row.network_hosts.clone(),
    };
    save(claim, &row, vec![started]).await?;
    fill(claim, &sandbox).await?;
    Ok((row, sandbox))
}

fn intent(claim: &Claim, pinned: &PinnedSandbox) -> Result<Sandbox, Halt> {
    let pins = &claim.execution.pins;
    let (Some(profile_version), Some(connection_version)) = (pins.profile, pins.connection) else {
        return Err(Halt::stop(StopCode::Internal, "The execution pins no sandbox profile."));
    };
    let created_at = claim.ports.clock.now();
    Ok(Sandbox {
        id: SandboxId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        epoch: claim.journal.epoch(),
        profile_version,
        connection_version,
        tier: pinned.target.tier,
        image: pinned.profile.image.clone(),
        network: pinned.profile.network,
        network_hosts: pinned.profile.network_hosts.clone(),
        credentials: pinned.profile.credentials.iter().map(|credential| credential.name.clone()).collect(),
        memory_bytes: pinned.profile.memory_bytes,
        disk_bytes: pinned.profile.disk_bytes,
        pids: pinned.profile.pids,
        state: SandboxState::Intent,
        remote_id: None,
        enforced: Vec::new(),
        created_at,
        expires_at: Some(created_at.plus(Duration::from_secs(pinned.profile.ttl_seconds.into()))),
    })
}

/// Writes the intent, unless the tenant has as many sandboxes as it may.
async fn open(claim: &Claim, row: &Sandbox) -> Result<(), NoSandbox> {
    let quota = claim.ports.sandboxes_per_tenant;
    let change = Change::OpenSandbox { sandbox: Box::new(row.clone()), quota };
    let opened = claim.record_reservation(|_| (vec![change], Vec::new())).await;
    match opened.map_err(Halt::from)? {
        Some(_) => Ok(()),
        None => Err(NoSandbox::QuotaReached { most: quota }),
    }
}

pub(super) async fn save(claim: &Claim, row: &Sandbox, events: Vec<Event>) -> Result<(), Halt> {
    claim.record(|_| (vec![Change::SaveSandbox(Box::new(row.clone()))], events)).await?;
    Ok(())
}

/// The files of the newest checkpoint; without one, those that came with the start call.
async fn fill(claim: &Claim, sandbox: &LiveSandbox) -> Result<(), NoSandbox> {
    let mut workspace = claim.sandbox.workspace.lock().await;
    let restored = checkpoint::restore(claim, sandbox, &mut workspace).await;
    let is_restored = restored.map_err(|missed| match missed {
        Missed::Sandbox(error) => NoSandbox::NotMade(error),
        Missed::Store(error) => error.into(),
        Missed::Stopped => Halt::Signal(claim.signal.cause().unwrap_or(StopCause::Cancelled)).into(),
    })?;
    let files = claim.ports.reader.artifacts(claim.scope(), &[claim.execution.id]).await?;
    let (inputs, outputs): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.kind == ArtifactKind::Input);
    if is_restored {
        let outputs = outputs.into_iter().filter(|file| file.kind == ArtifactKind::Output);
        claim.sandbox.row().collected = outputs.map(|file| (file.name, file.sha256)).collect();
    } else {
        let inputs = upload_inputs(claim, sandbox, inputs).await?;
        checkpoint::recognise(claim, sandbox, &mut workspace, inputs).await.map_err(NoSandbox::NotMade)?;
    }
    Ok(())
}

async fn upload_inputs(
    claim: &Claim,
    sandbox: &LiveSandbox,
    inputs: Vec<Artifact>,
) -> Result<Vec<KeptFile>, NoSandbox> {
    let mut uploaded = Vec::new();
    for file in inputs {
        let bytes = claim.ports.artifacts.get(claim.scope(), &file.sha256).await?;
        let missing = || Halt::stop(StopCode::Internal, format!("The input file {} is missing.", file.name));
        let bytes = bytes.ok_or_else(missing)?;
        let path = format!("inputs/{}", file.name);
        let sent = claim.ports.sandboxes.upload(&claim.call_context(), sandbox, &path, bytes.clone()).await;
        sent.map_err(NoSandbox::NotMade)?;
        uploaded.push(KeptFile::of(&path, 0, &bytes));
    }
    Ok(uploaded)
}
