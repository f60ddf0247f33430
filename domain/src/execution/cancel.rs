//! Cancels an execution: a command in the inbox, applied at once where nobody holds the lease. The answer waits a moment
//! for the end, and says what became of the execution.

use std::sync::Arc;
use std::time::Duration;

use super::model::{Claimed, Command, CommandKind, Commit, Execution, ExecutionRef, Fence, StopCode, StopReason};
use super::ports::{ExecutionReader, ExecutionStore};
use super::receipt::CancelReceipt;
use crate::access::{Action, Authorizer, Target, may};
use crate::artifact::ArtifactKind;
use crate::ctx::OpContext;
use crate::error::StoreError;
use crate::event::{Event, EventBus, encode_segment};
use crate::execution::Change;
use crate::ids::{CommandId, ExecutionId};

/// Enough to write one transaction.
const SHORT_LEASE: Duration = Duration::from_secs(10);
/// The answer comes within two seconds, whatever the execution does: so long it waits for the end.
const LONGEST_WAIT: Duration = Duration::from_millis(1500);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// What cancelling needs.
pub struct CancelPorts {
    /// Where it is written.
    pub executions: Arc<dyn ExecutionStore>,
    /// Where it is read.
    pub reader: Arc<dyn ExecutionReader>,
    /// May the caller cancel it.
    pub authorizer: Arc<Authorizer>,
    /// Wakes the lease holder.
    pub bus: Arc<dyn EventBus>,
}

/// Why an execution was not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// There is no such execution for this caller.
    #[error("there is no such execution")]
    NotFound,
    /// The caller may see it and not cancel it.
    #[error("cancelling needs the role operator in the project")]
    Denied,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Cancels an execution, and returns it as it stands then with what became of it. One that has ended stays unchanged.
pub async fn cancel(
    op: &OpContext,
    ports: &CancelPorts,
    id: ExecutionId,
) -> Result<(Execution, CancelReceipt), CancelError> {
    let execution = find(op, ports, id).await?;
    let target = Target { tenant_id: execution.tenant_id, project_id: execution.project_id, resource_id: None };
    permit(ports, op, Action::View, &target, CancelError::NotFound).await?;
    permit(ports, op, Action::Execute, &target, CancelError::Denied).await?;
    let execution =
        if execution.progress.status.is_terminal() { execution } else { stop(op, ports, execution).await? };
    let receipt = receipt(ports, &execution).await?;
    Ok((execution, receipt))
}

/// Asks for the end and waits a moment for it.
async fn stop(op: &OpContext, ports: &CancelPorts, execution: Execution) -> Result<Execution, CancelError> {
    let until = op.clock.monotonic() + LONGEST_WAIT;
    let command = Command {
        id: CommandId::generate(&*op.clock, &*op.entropy),
        kind: CommandKind::Cancel,
        by: op.principal.id,
        created_at: op.clock.now(),
    };
    ports.executions.add_command(execution.reference(), &command).await?;
    match ports.executions.claim(execution.reference(), "cancel", SHORT_LEASE).await? {
        Some(claimed) if claimed.execution.progress.attempt == 0 => end_unstarted(op, ports, claimed, &command).await?,
        Some(claimed) => give_back(ports, &claimed).await?,
        None => ports.bus.command_arrived(execution.reference()),
    }
    loop {
        let now = find(op, ports, execution.id).await?;
        if now.progress.status.is_terminal() || op.clock.monotonic() >= until {
            return Ok(now);
        }
        op.clock.sleep(LOOK_EVERY).await;
    }
}

async fn receipt(ports: &CancelPorts, execution: &Execution) -> Result<CancelReceipt, StoreError> {
    let transcript = ports.reader.transcript(execution.reference()).await?;
    let artifacts = ports.reader.artifacts(execution.reference().scope(), &[execution.id]).await?;
    let outputs = artifacts.iter().filter(|artifact| artifact.kind == ArtifactKind::Output).count();
    Ok(CancelReceipt::of(execution, transcript, u32::try_from(outputs).unwrap_or(u32::MAX)))
}

async fn find(op: &OpContext, ports: &CancelPorts, id: ExecutionId) -> Result<Execution, CancelError> {
    ports.reader.executions(op.scope(), &[id]).await?.pop().ok_or(CancelError::NotFound)
}

async fn permit(
    ports: &CancelPorts,
    op: &OpContext,
    action: Action,
    target: &Target,
    denied: CancelError,
) -> Result<(), CancelError> {
    if may(op, &ports.authorizer, action, target).await? { Ok(()) } else { Err(denied) }
}

/// Nothing ever ran: the execution ends here and now.
async fn end_unstarted(
    op: &OpContext,
    ports: &CancelPorts,
    claimed: Claimed,
    command: &Command,
) -> Result<(), StoreError> {
    let now = op.clock.now();
    let execution = claimed.execution;
    let reason = StopReason {
        code: StopCode::Cancelled,
        message: "Cancelled before it started; nothing was charged.".to_owned(),
        limit: None,
        iteration: None,
    };
    let budget = execution.budget();
    let mut progress = execution.progress;
    progress.status = reason.code.status();
    progress.stop_reason = Some(reason.clone());
    progress.ended_at = Some(now);
    progress.releases_lease = true;
    let finished = Event::ExecutionFinished { status: progress.status, stop_reason: reason, answer: None, budget };
    let events = vec![(now, Event::CancelRequested { by: command.by }), (now, finished)];
    let reference = ExecutionRef { tenant_id: execution.tenant_id, id: execution.id };
    let commit = Commit {
        fence: Fence { execution: reference, epoch: execution.epoch, next_sequence: execution.next_sequence },
        progress: Some(progress),
        changes: vec![Change::ApplyCommand(command.id)],
        segment: encode_segment(execution.next_sequence, events),
    };
    ports.executions.commit(&commit).await?;
    if let Some(segment) = &commit.segment {
        ports.bus.committed(reference, segment);
    }
    Ok(())
}

/// It ran before and its worker was lost: a worker closes its open calls and then finds the command.
async fn give_back(ports: &CancelPorts, claimed: &Claimed) -> Result<(), StoreError> {
    let execution = &claimed.execution;
    let mut progress = execution.progress.clone();
    progress.releases_lease = true;
    let commit = Commit {
        fence: Fence {
            execution: execution.reference(),
            epoch: execution.epoch,
            next_sequence: execution.next_sequence,
        },
        progress: Some(progress),
        changes: Vec::new(),
        segment: None,
    };
    ports.executions.commit(&commit).await?;
    ports.bus.command_arrived(execution.reference());
    Ok(())
}
