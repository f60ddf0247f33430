//! A CallContext says for whom an outside call is made, and until when. Every call through a runtime port carries one.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::model::ExecutionRef;
use crate::ctx::Principal;

/// What every call through a runtime port carries.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The service identity that the execution runs as.
    pub principal: Principal,
    /// The execution.
    pub execution: ExecutionRef,
    /// The NodeAttempt's number.
    pub attempt: u32,
    /// Time that the call may take at most.
    pub time_left: Duration,
    /// Set when the call must end.
    pub cancel: CancellationToken,
}
