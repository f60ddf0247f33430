//! The sandbox of a claim: made when the first tool needs it, shared by the tools of the run, removed at its end.

use futures_util::lock::Mutex;

use super::claim::{Claim, PinnedSandbox};
use super::halt::Halt;
use crate::access::AccessError;
use crate::artifact::ArtifactKind;
use crate::event::Event;
use crate::execution::{Change, StopCode};
use crate::ids::SandboxId;
use crate::sandbox::{LiveSandbox, Sandbox, SandboxError, SandboxRequest, SandboxState};

/// At most one live sandbox.
#[derive(Default)]
pub struct SandboxSession {
    live: Mutex<Option<(Sandbox, LiveSandbox)>>,
}

impl SandboxSession {
    /// The live sandbox; makes one when there is none. Tools that come at the same time wait for the same one.
    pub async fn get_or_create(&self, claim: &Claim) -> Result<LiveSandbox, Halt> {
        let mut live = self.live.lock().await;
        if let Some((_, sandbox)) = &*live {
            return Ok(sandbox.clone());
        }
        let missing = || Halt::stop(StopCode::SandboxUnavailable, "The agent has no sandbox profile.");
        let pinned = claim.pinned()?.sandbox.as_ref().ok_or_else(missing)?;
        authorize(claim, pinned).await?;
        let (row, sandbox) = create(claim, pinned).await?;
        *live = Some((row, sandbox.clone()));
        Ok(sandbox)
    }

    /// The id of the live sandbox.
    pub async fn current(&self) -> Option<SandboxId> {
        self.live.lock().await.as_ref().map(|(row, _)| row.id)
    }

    /// Stops using a sandbox that was lost; the next tool gets a fresh one. The lost one is removed by the reaper.
    pub async fn forget(&self, id: SandboxId) {
        let mut live = self.live.lock().await;
        if live.as_ref().is_some_and(|(row, _)| row.id == id) {
            *live = None;
        }
    }

    /// Removes the sandbox, if there is one, and returns its row as it is to be stored with the end.
    pub async fn remove(&self, claim: &Claim) -> Option<Sandbox> {
        let (mut row, sandbox) = self.live.lock().await.take()?;
        let removed = claim.ports.sandboxes.terminate(&sandbox.target, sandbox.id, Some(&sandbox.remote_id)).await;
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

async fn authorize(claim: &Claim, pinned: &PinnedSandbox) -> Result<(), Halt> {
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
    Ok(())
}

async fn create(claim: &Claim, pinned: &PinnedSandbox) -> Result<(Sandbox, LiveSandbox), Halt> {
    let mut row = intent(claim, pinned)?;
    save(claim, &row, Vec::new()).await?;
    let request = SandboxRequest { id: row.id, target: pinned.target.clone(), profile: pinned.profile.clone() };
    let sandbox = match claim.ports.sandboxes.create(&claim.call_context(), &request).await {
        Ok(sandbox) => sandbox,
        Err(error) => {
            row.state = SandboxState::KillPending;
            save(claim, &row, Vec::new()).await?;
            return Err(unavailable(&error));
        }
    };
    row.state = SandboxState::Live;
    row.remote_id = Some(sandbox.remote_id.clone());
    row.enforced.clone_from(&sandbox.enforced);
    row.expires_at = sandbox.expires_at;
    let started = Event::SandboxStarted {
        sandbox_id: row.id,
        tier: row.tier,
        image: row.image.clone(),
        enforced: row.enforced.clone(),
        expires_at_micros: row.expires_at,
    };
    save(claim, &row, vec![started]).await?;
    upload_inputs(claim, &sandbox).await?;
    Ok((row, sandbox))
}

fn intent(claim: &Claim, pinned: &PinnedSandbox) -> Result<Sandbox, Halt> {
    let pins = &claim.execution.pins;
    let (Some(profile_version), Some(connection_version)) = (pins.profile, pins.connection) else {
        return Err(Halt::stop(StopCode::Internal, "The execution pins no sandbox profile."));
    };
    Ok(Sandbox {
        id: SandboxId::generate(&*claim.ports.clock, &*claim.ports.entropy),
        epoch: claim.journal.epoch(),
        profile_version,
        connection_version,
        tier: pinned.target.tier,
        image: pinned.profile.image.clone(),
        network: pinned.profile.network,
        memory_bytes: pinned.profile.memory_bytes,
        disk_bytes: pinned.profile.disk_bytes,
        pids: pinned.profile.pids,
        state: SandboxState::Intent,
        remote_id: None,
        enforced: Vec::new(),
        created_at: claim.ports.clock.now(),
        expires_at: None,
    })
}

async fn save(claim: &Claim, row: &Sandbox, events: Vec<Event>) -> Result<(), Halt> {
    claim.record(|_| (vec![Change::SaveSandbox(Box::new(row.clone()))], events)).await?;
    Ok(())
}

async fn upload_inputs(claim: &Claim, sandbox: &LiveSandbox) -> Result<(), Halt> {
    let files = claim.ports.reader.artifacts(claim.scope(), &[claim.execution.id]).await?;
    for file in files.into_iter().filter(|file| file.kind == ArtifactKind::Input) {
        let bytes = claim.ports.artifacts.get(claim.scope(), &file.sha256).await?;
        let missing = || Halt::stop(StopCode::Internal, format!("The input file {} is missing.", file.name));
        let path = format!("inputs/{}", file.name);
        let uploaded =
            claim.ports.sandboxes.upload(&claim.call_context(), sandbox, &path, bytes.ok_or_else(missing)?).await;
        uploaded.map_err(|error| unavailable(&error))?;
    }
    Ok(())
}

fn unavailable(error: &SandboxError) -> Halt {
    Halt::stop(StopCode::SandboxUnavailable, format!("The sandbox could not be made. {error}"))
}
