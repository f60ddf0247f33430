//! What the inbox asks of a running execution. Only the lease holder applies it, in a fenced commit, once.

use super::claim::Claim;
use crate::event::{Event, JournalError};
use crate::execution::{Change, Command, CommandKind, ExecutionStatus, LoopOverride, StopCause};

/// Applies a command. One that cannot be written stays in the inbox.
pub(super) async fn apply(claim: &Claim, command: &Command) {
    let applied = match &command.kind {
        CommandKind::Cancel => cancel(claim, command).await,
        CommandKind::OverrideLoop { reason, pardons } => override_loop(claim, command, reason, *pardons).await,
    };
    if let Err(error) = applied {
        tracing::warn!(execution.id = %claim.execution.id, error = &error as &dyn std::error::Error, "command was not applied");
    }
}

/// The overrides that waited when the claim began; the loop guard's memory must be there before.
pub(super) async fn apply_waiting_overrides(claim: &Claim) {
    for command in &claim.commands {
        if matches!(command.kind, CommandKind::OverrideLoop { .. }) {
            apply(claim, command).await;
        }
    }
}

async fn cancel(claim: &Claim, command: &Command) -> Result<(), JournalError> {
    claim
        .record(|moving| {
            moving.progress.status = ExecutionStatus::Cancelling;
            (vec![Change::ApplyCommand(command.id)], vec![Event::CancelRequested { by: command.by }])
        })
        .await?;
    claim.signal.trip(StopCause::Cancelled);
    Ok(())
}

/// The place of an override is a number of judged calls, so that a later claim finds it again. Before the loop guard has
/// its memory back there is no such number, and the command waits in the inbox.
async fn override_loop(claim: &Claim, command: &Command, reason: &str, pardons: u32) -> Result<(), JournalError> {
    let is_due = {
        let moving = claim.moving();
        moving.has_replayed && !moving.overridden.contains(&command.id)
    };
    if !is_due {
        return Ok(());
    }
    let overridden = Event::LoopOverridden { by: command.by, reason: reason.to_owned(), pardons };
    claim
        .record(|moving| {
            // The loop and the heartbeat may have found it in the inbox at one time.
            if moving.overridden.contains(&command.id) {
                return (Vec::new(), Vec::new());
            }
            moving.overridden.push(command.id);
            let at = LoopOverride { after_calls: moving.guard.calls(), pardons };
            moving.guard.forgive(pardons);
            let changes = vec![Change::ApplyCommand(command.id), Change::AddLoopOverride { command: command.id, at }];
            (changes, vec![overridden])
        })
        .await
        .map(|_| ())
}
