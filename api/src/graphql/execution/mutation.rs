//! Starting and cancelling executions.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use domain::access::{Refusal, forbidden, not_found};
use domain::error::InvalidInput;
use domain::execution::cancel::{CancelError, CancelPorts, cancel};
use domain::execution::start::{StartError, StartPorts, start};
use domain::ids::ExecutionId;

use super::object::Execution;
use super::receipt::CancelReceipt;
use super::start_input::ExecutionStartInput;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::services::Services;
use crate::graphql::user_error::{Faults, UserError, outcome};

/// The started execution, or what is wrong.
#[derive(SimpleObject)]
pub struct ExecutionStartPayload {
    /// The execution; null when there are user errors.
    execution: Option<Execution>,
    /// True when the same key was used before and this is its execution.
    replayed: bool,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// The execution that is to stop.
#[derive(InputObject)]
pub struct ExecutionCancelInput {
    /// The execution.
    execution_id: ID,
}

/// The execution as it stands, or what is wrong.
#[derive(SimpleObject)]
pub struct ExecutionCancelPayload {
    /// The execution; null when there are user errors.
    execution: Option<Execution>,
    /// What was cut off, what it cost, what is kept; null when there are user errors.
    receipt: Option<CancelReceipt>,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Starting and cancelling.
#[derive(Default)]
pub struct ExecutionMutation;

#[Object]
impl ExecutionMutation {
    /// Starts an execution; needs the role operator. The same idempotency key starts once.
    async fn execution_start(
        &self,
        ctx: &Context<'_>,
        input: ExecutionStartInput,
    ) -> Result<ExecutionStartPayload, ApiError> {
        let (op, ports, field) = (ctx.op()?, ctx.services()?.start_ports(), input.agent_field());
        let result = match input.read().checked(|request| request.limits.validate(&["limits"])) {
            Ok(request) => start(&op, &ports, request).await.map_err(|error| start_refusal(error, field)),
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok(started) => ExecutionStartPayload {
                execution: Some(Execution(started.execution)),
                replayed: started.is_replayed,
                user_errors: Vec::new(),
            },
            Err(user_errors) => ExecutionStartPayload { execution: None, replayed: false, user_errors },
        })
    }

    /// Stops an execution; needs the role operator. One that has ended stays as it is. The answer comes within two seconds:
    /// with the end, or with the receipt's outcome REQUESTED while that is still to come.
    async fn execution_cancel(
        &self,
        ctx: &Context<'_>,
        input: ExecutionCancelInput,
    ) -> Result<ExecutionCancelPayload, ApiError> {
        let (op, ports, mut faults) = (ctx.op()?, ctx.services()?.cancel_ports(), Faults::default());
        let id: ExecutionId = faults.id(&["executionId"], &input.execution_id);
        let result = match faults.with(id).checked(|_| Vec::new()) {
            Ok(id) => cancel(&op, &ports, id).await.map_err(cancel_refusal),
            Err(refusal) => Err(refusal),
        };
        Ok(match outcome(result)? {
            Ok((row, receipt)) => ExecutionCancelPayload {
                receipt: Some(CancelReceipt::new(row.id, receipt)),
                execution: Some(Execution(row)),
                user_errors: Vec::new(),
            },
            Err(user_errors) => ExecutionCancelPayload { execution: None, receipt: None, user_errors },
        })
    }
}

fn start_refusal(error: StartError, field: &str) -> Refusal {
    match error {
        StartError::Invalid(faults) => Refusal::Faults(faults),
        StartError::AgentNotFound => not_found(&[field]).into(),
        StartError::Denied => forbidden(&[field]).into(),
        StartError::KeyReused => {
            let rule = "was used for another request; use a fresh key for each start";
            InvalidInput::new(["idempotencyKey"], "IDEMPOTENCY_CONFLICT", rule).into()
        }
        StartError::Store(error) => error.into(),
    }
}

fn cancel_refusal(error: CancelError) -> Refusal {
    match error {
        CancelError::NotFound => not_found(&["executionId"]).into(),
        CancelError::Denied => forbidden(&["executionId"]).into(),
        CancelError::Store(error) => error.into(),
    }
}

impl Services {
    fn start_ports(&self) -> StartPorts {
        StartPorts {
            executions: self.execution_store.clone(),
            reader: self.executions.clone(),
            resources: self.resources.clone(),
            access: self.access.clone(),
            authorizer: self.authorizer.clone(),
            artifacts: self.artifacts.clone(),
            bus: self.bus.clone(),
        }
    }

    fn cancel_ports(&self) -> CancelPorts {
        CancelPorts {
            executions: self.execution_store.clone(),
            reader: self.executions.clone(),
            authorizer: self.authorizer.clone(),
            bus: self.bus.clone(),
        }
    }
}
