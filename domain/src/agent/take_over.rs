//! What a claim takes over from a lost one: the sandbox in which a background command goes on, and the command.
//!
//! The sandbox moves to the new epoch in the commit that begins the attempt, before anybody asks whether it is still
//! there: until that commit the reaper does not touch it, and behind it the reaper sees that it is in use. Where anything
//! else may run in it that nobody can follow, it is not taken over, for nothing may run beside the next tool.

use super::claim::Claim;
use super::halt::Halt;
use crate::execution::IterationRecord;
use crate::ids::SandboxId;
use crate::sandbox::{Sandbox, SandboxState};
use crate::tool_call::{SideEffect, ToolCall, ToolCallState};

/// Finds the sandbox that this claim takes over, if there is one.
pub(super) async fn find(claim: &Claim, transcript: &[IterationRecord]) -> Result<Option<Sandbox>, Halt> {
    if !transcript.iter().flat_map(|record| &record.tool_calls).any(is_followed) {
        return Ok(None);
    }
    let sandboxes = claim.ports.reader.sandboxes(claim.scope(), &[claim.execution.id]).await?;
    let found = of_commands(transcript, sandboxes.into_iter().map(|(_, sandbox)| sandbox));
    Ok(found.map(|sandbox| Sandbox { epoch: claim.journal.epoch(), ..sandbox }))
}

/// The newest live sandbox with a background command, unless something else of the lost claim may run in it.
fn of_commands(transcript: &[IterationRecord], sandboxes: impl DoubleEndedIterator<Item = Sandbox>) -> Option<Sandbox> {
    let calls = || transcript.iter().flat_map(|record| &record.tool_calls);
    let is_unseen =
        |call: &ToolCall| is_open(call) && call.side_effect == SideEffect::SandboxOnly && call.command.is_none();
    if calls().any(is_unseen) {
        return None;
    }
    let has_command = |sandbox: &Sandbox| calls().any(|call| goes_on_in(call, sandbox.id));
    let can_be_used = |sandbox: &Sandbox| sandbox.state == SandboxState::Live && sandbox.remote_id.is_some();
    sandboxes.rev().find(|sandbox| can_be_used(sandbox) && has_command(sandbox))
}

/// Whether this call goes on in this sandbox.
pub(super) fn goes_on_in(call: &ToolCall, sandbox: SandboxId) -> bool {
    is_followed(call) && call.sandbox_id == Some(sandbox)
}

fn is_followed(call: &ToolCall) -> bool {
    is_open(call) && call.command.is_some()
}

fn is_open(call: &ToolCall) -> bool {
    call.state == ToolCallState::Started
}
