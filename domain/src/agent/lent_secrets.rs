//! What earlier claims lent to programs: it does not come back in this one either, and what a lost claim did not take away
//! is taken away by the one that closes its calls.

use std::collections::BTreeSet;

use super::claim::Claim;
use super::halt::Halt;
use crate::event::Event;
use crate::execution::{Change, IterationRecord};
use crate::ids::ToolCallId;
use crate::resource::Spec;
use crate::sandbox::{IssuedCredential, RevokedBecause, Sandbox, SandboxState};
use crate::tool_call::{ToolCallState, revoked_event};

/// Lets the redactor of this claim know every secret that was ever lent in the execution, in the version that was lent: a
/// sandbox that is taken over still tells its output, from the first byte on. Returns the records.
pub(super) async fn recall(claim: &Claim) -> Result<Vec<IssuedCredential>, Halt> {
    let pinned = claim.pinned()?.sandbox.as_ref();
    if pinned.is_none_or(|pinned| pinned.profile.credentials.is_empty()) {
        return Ok(Vec::new());
    }
    let issued = claim.ports.reader.issued_credentials(claim.execution.reference()).await?;
    let mut wanted: Vec<_> = issued.iter().map(|issued| issued.version).collect();
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(issued);
    }
    let versions = claim.ports.resources.versions(claim.scope(), &wanted).await?;
    for issued in &issued {
        let Some(version) = versions.iter().find(|version| version.id == issued.version) else { continue };
        let Spec::Credential(spec) = &version.spec else { continue };
        // One that can be opened no more cannot have been lent by this key, and is nowhere in the clear.
        if let Ok(secret) = claim.ports.secrets.open(&version.id.to_string(), &spec.sealed) {
            claim.sandbox.secrets.add(&issued.name, &secret);
        }
    }
    Ok(issued)
}

/// Takes away what the open calls of a lost claim were lent, with the sandboxes where it lies, and tells it once: with the
/// end of the calls.
pub(super) async fn take_away(
    claim: &Claim,
    transcript: &[IterationRecord],
    issued: Vec<IssuedCredential>,
) -> Result<(Vec<Change>, Vec<Event>), Halt> {
    let calls = transcript.iter().flat_map(|record| &record.tool_calls);
    let open: BTreeSet<ToolCallId> =
        calls.filter(|call| call.state == ToolCallState::Started).map(|call| call.id).collect();
    // One that went with its sandbox was not told: the reaper writes no events.
    let is_untold = |issued: &IssuedCredential| {
        open.contains(&issued.call) && matches!(issued.revoked, None | Some((_, RevokedBecause::SandboxEnded)))
    };
    let mut untold: Vec<_> = issued.into_iter().filter(is_untold).collect();
    let (mut changes, mut events) = (Vec::new(), Vec::new());
    if untold.is_empty() {
        return Ok((changes, events));
    }
    for (_, sandbox) in claim.ports.reader.sandboxes(claim.scope(), &[claim.execution.id]).await? {
        if !untold.iter().any(|issued| issued.sandbox == sandbox.id) {
            continue;
        }
        let sandbox = removed(claim, sandbox).await?;
        let is_gone = sandbox.state == SandboxState::Gone;
        let because = if is_gone { RevokedBecause::SandboxEnded } else { RevokedBecause::Failed };
        let now = claim.ports.clock.now();
        for issued in untold.extract_if(.., |issued| issued.sandbox == sandbox.id) {
            let revoked = issued.revoked.or(Some((now, because)));
            events.push(revoked_event(&issued, revoked.map_or(because, |(_, because)| because)));
            changes.push(Change::SaveIssuedCredential(Box::new(IssuedCredential { revoked, ..issued })));
        }
        changes.push(Change::SaveSandbox(Box::new(sandbox)));
    }
    Ok((changes, events))
}

async fn removed(claim: &Claim, sandbox: Sandbox) -> Result<Sandbox, Halt> {
    if sandbox.state == SandboxState::Gone || !claim.may_act().await {
        return Ok(sandbox);
    }
    let Some(pinned) = &claim.pinned()?.sandbox else { return Ok(sandbox) };
    let removed = claim.ports.sandboxes.terminate(&pinned.target, sandbox.id, sandbox.remote_id.as_deref()).await;
    let state = if removed.is_ok() { SandboxState::Gone } else { SandboxState::KillPending };
    Ok(Sandbox { state, ..sandbox })
}
