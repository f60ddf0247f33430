//! Iterations as the API shows them.

use async_graphql::{Enum, Object};
use domain::execution::IterationRecord;
use domain::ids::ExecutionId;
use domain::money;

use super::model_call::ModelCall;
use super::tool_call::ToolCall;
use crate::graphql::money::{Money, TokenUsage};
use crate::graphql::scalar::{DateTime, int};

/// An iteration with its calls.
pub struct AgentIteration {
    execution: ExecutionId,
    record: IterationRecord,
}

impl AgentIteration {
    /// An iteration of this execution.
    pub const fn new(execution: ExecutionId, record: IterationRecord) -> Self {
        Self { execution, record }
    }
}

/// One model request, its reply, the tool calls that it asked for and their results.
#[Object]
impl AgentIteration {
    /// 1, 2, 3, ...
    async fn number(&self) -> i32 {
        int(self.record.iteration.number)
    }

    /// Open or closed.
    async fn state(&self) -> IterationState {
        if self.record.iteration.ended_at.is_some() { IterationState::Closed } else { IterationState::Open }
    }

    /// When it was opened.
    async fn started_at(&self) -> DateTime {
        self.record.iteration.started_at.into()
    }

    /// When it was closed.
    async fn ended_at(&self) -> Option<DateTime> {
        self.record.iteration.ended_at.map(DateTime)
    }

    /// Tokens of its model calls.
    async fn tokens(&self) -> TokenUsage {
        let calls = self.record.model_calls.iter();
        calls.fold(money::TokenUsage::default(), |sum, call| sum.plus(call.used())).into()
    }

    /// Cost of its model calls.
    async fn cost(&self) -> Money {
        self.record.model_calls.iter().map(|call| call.cost).sum::<money::NanoUsd>().into()
    }

    /// SHA-256 of the conversation after it, each message as a line of JSON; null while it is open.
    async fn agent_state_ref(&self) -> Option<&str> {
        self.record.iteration.agent_state_ref.as_deref()
    }

    /// Its model calls, oldest first.
    async fn model_calls(&self) -> Vec<ModelCall> {
        self.record.model_calls.iter().map(|call| ModelCall::new(self.execution, call.clone())).collect()
    }

    /// Its tool calls, in the order of the reply.
    async fn tool_calls(&self) -> Vec<ToolCall> {
        self.record.tool_calls.iter().map(|call| ToolCall::new(self.execution, call.clone())).collect()
    }
}

/// Whether an iteration goes on. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum IterationState {
    /// It goes on.
    Open,
    /// It is done.
    Closed,
}
