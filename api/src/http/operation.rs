//! An Operation is an admitted request with its caller attached, ready to run. HTTP and WebSocket make it here alike.

use std::time::Duration;

use async_graphql::parser::types::OperationType;
use async_graphql::{IntrospectionMode, Request};
use tokio::time::timeout;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::Instrument;

use super::caller::Caller;
use super::engine::Engine;
use super::envelope::{Envelope, INTERNAL_MESSAGE};
use super::fault::{Code, Fault};
use super::gate::{Audience, Candidate, GateLimits, admit};
use super::params::Params;
use super::request_id::RequestId;

/// One operation before it runs.
pub(super) struct Operation {
    pub request: Request,
    pub kind: OperationType,
    pub audience: Audience,
    pub request_id: RequestId,
}

impl Operation {
    /// Passes the document through the gate and attaches the caller.
    pub(super) fn prepare(
        params: Params,
        caller: &dyn Caller,
        request_id: &RequestId,
        limits: &GateLimits,
    ) -> Result<Self, Fault> {
        let audience = if caller.is_anonymous() { Audience::Anonymous } else { Audience::Authenticated };
        let candidate = Candidate {
            query: &params.query,
            operation_name: params.operation_name.as_deref(),
            variables: &params.variables,
            audience,
        };
        let admitted = admit(candidate, limits)?;
        let mut request = Request::new(params.query).variables(params.variables);
        request.operation_name = params.operation_name;
        request.set_parsed_query(admitted.document);
        if audience == Audience::Anonymous {
            request.introspection_mode = IntrospectionMode::Disabled;
        }
        request.data.insert(request_id.clone());
        caller.attach(&mut request.data);
        Ok(Self { request, kind: admitted.kind, audience, request_id: request_id.clone() })
    }

    /// Runs a query or mutation within the time that it may take.
    ///
    /// A query stops when nobody waits for it. A mutation goes on without its caller, so that a lost connection does
    /// not leave it half done.
    pub(super) async fn execute(self, engine: &dyn Engine, limit: Duration, tasks: &TaskTracker) -> Envelope {
        let Self { request, kind, audience, request_id } = self;
        let span = tracing::info_span!("graphql.operation.execute", request.id = %request_id, operation.kind = %kind);
        let task = tasks.spawn(timeout(limit, engine.execute(request)).instrument(span));
        let outcome = if kind == OperationType::Mutation { task.await } else { AbortOnDropHandle::new(task).await };
        match outcome {
            Ok(Ok(response)) => Envelope::answered(response, &request_id, audience),
            Ok(Err(_elapsed)) => {
                tracing::warn!(request.id = %request_id, limit_ms = limit.as_millis(), "operation timed out");
                let message = format!("The operation took longer than {} ms and was stopped.", limit.as_millis());
                Envelope::failed(Fault::new(Code::Timeout, message), &request_id)
            }
            Err(error) => {
                tracing::error!(request.id = %request_id, %error, "operation panicked");
                Envelope::failed(Fault::new(Code::Internal, INTERNAL_MESSAGE), &request_id)
            }
        }
    }
}
