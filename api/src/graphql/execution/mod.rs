//! Executions: what they are, what they did, how they are started, cancelled and watched.

mod budget;
mod filter;
mod iteration;
mod model_call;
mod mutation;
mod object;
mod override_loop;
mod query;
mod receipt;
mod sandbox;
mod sight;
mod start_input;
mod status;
mod tool_call;
mod update_pace;
mod updates;

pub use budget::ExecutionBudget;
pub use model_call::{CallError, CallState, FinishReason, ModelCall};
pub use mutation::ExecutionMutation;
pub use object::Execution;
pub use override_loop::OverrideLoopMutation;
pub use query::ExecutionQuery;
pub use sandbox::{CredentialRevokedBecause, EgressVerdict, OutputStream, Sandbox};
pub use sight::{has_expired, visible_execution, visible_model_call, visible_sandbox, visible_tool_call};
pub use status::{ErrorItem, ExecutionStatus, LoopKind, StopReason};
pub use tool_call::{SideEffect, ToolCall, ToolCallState};
pub use updates::UpdateSubscription;
