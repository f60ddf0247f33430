//! Overriding the loop guard.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use domain::execution::override_loop::{OverrideLoop, OverridePorts, override_loop};

use super::object::Execution;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::services::Services;
use crate::graphql::user_error::{Faults, Parsed, UserError, outcome};

/// The override that is wanted.
#[derive(InputObject)]
pub struct ExecutionOverrideLoopInput {
    /// The execution.
    execution_id: ID,
    /// Why, in 1 to 1000 bytes; kept in the audit log and told in the execution's events.
    reason: String,
    /// How many further findings of the loop guard are let pass, from 0 to 1000.
    #[graphql(default = 0)]
    pardons: i32,
}

impl ExecutionOverrideLoopInput {
    /// Reads the input into domain types. What is less than 0 becomes too great, and the domain's rule reports it.
    fn read(self) -> Parsed<OverrideLoop> {
        let mut faults = Faults::default();
        let request = OverrideLoop {
            execution_id: faults.id(&["executionId"], &self.execution_id),
            reason: self.reason,
            pardons: u32::try_from(self.pardons).unwrap_or(u32::MAX),
        };
        faults.with(request)
    }
}

/// The execution as it stands, or what is wrong.
#[derive(SimpleObject)]
pub struct ExecutionOverrideLoopPayload {
    /// The execution; null when there are user errors.
    execution: Option<Execution>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Overriding the loop guard.
#[derive(Default)]
pub struct OverrideLoopMutation;

#[Object]
impl OverrideLoopMutation {
    /// Makes the loop guard of a running execution forget what it has seen, and go on; needs the role operator. It is
    /// audited. The worker applies it within a second or two and says so with LoopOverridden. One that has ended stays
    /// ended.
    async fn execution_override_loop(
        &self,
        ctx: &Context<'_>,
        input: ExecutionOverrideLoopInput,
    ) -> Result<ExecutionOverrideLoopPayload, ApiError> {
        let (op, ports) = (ctx.op()?, ctx.services()?.override_ports());
        let result = match input.read().checked(OverrideLoop::validate) {
            Ok(request) => override_loop(&op, &ports, request).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(row) => ExecutionOverrideLoopPayload { execution: Some(Execution(row)), user_errors: Vec::new() },
            Err(user_errors) => ExecutionOverrideLoopPayload { execution: None, user_errors },
        })
    }
}

impl Services {
    fn override_ports(&self) -> OverridePorts {
        OverridePorts {
            executions: self.execution_store.clone(),
            reader: self.executions.clone(),
            authorizer: self.authorizer.clone(),
            bus: self.bus.clone(),
        }
    }
}
