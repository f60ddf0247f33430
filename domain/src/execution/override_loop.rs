//! Overrides the loop guard of an execution: a command in the inbox, with its audit record.
//!
//! What the guard has seen so far is forgotten, and as many of its further findings as the person says are let pass.
//! Whoever holds the lease applies it; where nobody does, the next claim does so before it goes on. An execution that a
//! loop has ended stays ended: under a policy that stops, an override must come before the loop is complete.

use std::sync::Arc;

use super::model::{Command, CommandKind, Execution};
use super::ports::{ExecutionReader, ExecutionStore};
use crate::access::{Action, Authorizer, Refusal, Target, require};
use crate::audit::check_reason;
use crate::ctx::OpContext;
use crate::error::InvalidInput;
use crate::event::EventBus;
use crate::ids::{CommandId, ExecutionId};

const MOST_PARDONS: u32 = 1000;

/// What overriding needs.
pub struct OverridePorts {
    /// Where it is written.
    pub executions: Arc<dyn ExecutionStore>,
    /// Where the execution is read.
    pub reader: Arc<dyn ExecutionReader>,
    /// May the caller do it.
    pub authorizer: Arc<Authorizer>,
    /// Wakes the lease holder.
    pub bus: Arc<dyn EventBus>,
}

/// The override that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideLoop {
    /// Of this execution.
    pub execution_id: ExecutionId,
    /// Why; for the audit log and for the log of the execution.
    pub reason: String,
    /// How many further findings are let pass.
    pub pardons: u32,
}

impl OverrideLoop {
    /// Checks what can be checked without a store.
    pub fn validate(&self) -> Vec<InvalidInput> {
        let mut faults = Vec::from_iter(check_reason(&self.reason));
        if self.pardons > MOST_PARDONS {
            let rule = format!("must be from 0 to {MOST_PARDONS}; override again when they are used up");
            faults.push(InvalidInput::new(["pardons"], "OUT_OF_RANGE", rule));
        }
        faults
    }
}

/// Leaves the override for whoever runs the execution, and returns the execution as it stands.
pub async fn override_loop(op: &OpContext, ports: &OverridePorts, wanted: OverrideLoop) -> Result<Execution, Refusal> {
    let path = ["executionId"];
    let found = ports.reader.executions(op.scope(), &[wanted.execution_id]).await?.pop();
    let execution = found.ok_or_else(|| Refusal::not_found(&path))?;
    let target = Target { tenant_id: execution.tenant_id, project_id: execution.project_id, resource_id: None };
    require(op, &ports.authorizer, Action::Execute, &target, &path).await?;
    let faults = wanted.validate();
    if !faults.is_empty() {
        return Err(Refusal::Faults(faults));
    }
    if execution.progress.status.is_terminal() {
        let rule = "has ended and stays ended; start another one, with a loop policy that lets it go further";
        return Err(InvalidInput::new(path, "EXECUTION_ENDED", rule).into());
    }
    let command = Command {
        id: CommandId::generate(&*op.clock, &*op.entropy),
        kind: CommandKind::OverrideLoop { reason: wanted.reason, pardons: wanted.pardons },
        by: op.principal.id,
        created_at: op.clock.now(),
    };
    ports.executions.add_command(execution.reference(), &command).await?;
    ports.bus.command_arrived(execution.reference());
    Ok(execution)
}
