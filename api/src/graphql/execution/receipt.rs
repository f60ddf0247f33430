//! The receipt of a cancel as the API shows it.

use async_graphql::{Enum, Object};
use domain::execution;
use domain::ids::ExecutionId;

use super::model_call::ModelCall;
use super::tool_call::ToolCall;
use crate::graphql::money::Money;
use crate::graphql::scalar::int;

/// Where an execution stands after a cancel. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "execution::CancelOutcome")]
pub enum CancelOutcome {
    /// It ended because it was cancelled.
    Cancelled,
    /// It had ended for another cause, and stays as it is.
    AlreadyEnded,
    /// The request is stored; whoever runs the execution, or takes it over from a lost worker, will end it.
    Requested,
}

/// What a cancel did.
pub struct CancelReceipt {
    execution: ExecutionId,
    receipt: execution::CancelReceipt,
}

impl CancelReceipt {
    /// The receipt of this execution.
    pub const fn new(execution: ExecutionId, receipt: execution::CancelReceipt) -> Self {
        Self { execution, receipt }
    }
}

/// What became of an execution that was cancelled: what was cut off, what that cost, what is kept.
#[Object]
impl CancelReceipt {
    /// Where the execution stands.
    async fn outcome(&self) -> CancelOutcome {
        self.receipt.outcome.into()
    }

    /// The same for people, in a sentence or two.
    async fn message(&self) -> String {
        message(&self.receipt)
    }

    /// Model calls that were cut off; what they had said is kept.
    async fn model_calls(&self) -> Vec<ModelCall> {
        self.receipt.model_calls.iter().map(|call| ModelCall::new(self.execution, call.clone())).collect()
    }

    /// Tool calls that were cut off or did not begin; their output so far is kept.
    async fn tool_calls(&self) -> Vec<ToolCall> {
        self.receipt.tool_calls.iter().map(|call| ToolCall::new(self.execution, call.clone())).collect()
    }

    /// What the model calls that were cut off cost all the same.
    async fn charged_for_cut(&self) -> Money {
        self.receipt.charged_for_cut.into()
    }

    /// What the whole execution cost so far.
    async fn charged(&self) -> Money {
        self.receipt.charged.into()
    }

    /// What calls that are not settled yet may still cost; zero once it has ended.
    async fn reserved(&self) -> Money {
        self.receipt.reserved.into()
    }

    /// Iterations whose replies and results are kept.
    async fn kept_iterations(&self) -> i32 {
        int(self.receipt.kept_iterations)
    }

    /// Files that are kept.
    async fn kept_artifacts(&self) -> i32 {
        int(self.receipt.kept_artifacts)
    }

    /// Whether text of the last reply is kept as the answer so far.
    async fn has_answer(&self) -> bool {
        self.receipt.has_answer
    }
}

fn message(receipt: &execution::CancelReceipt) -> String {
    let charged = receipt.charged.to_usd_text();
    match receipt.outcome {
        execution::CancelOutcome::Cancelled => {
            let (models, tools) = (receipt.model_calls.len(), receipt.tool_calls.len());
            let cut = format!("{} and {} cut off", count(models, "model call"), count(tools, "tool call"));
            let kept = format!(
                "{} and {} kept",
                count(receipt.kept_iterations as usize, "iteration"),
                count(receipt.kept_artifacts as usize, "file")
            );
            let for_cut = receipt.charged_for_cut.to_usd_text();
            format!("Cancelled: {cut}, ${charged} charged in all, ${for_cut} of it for what was cut off; {kept}.")
        }
        execution::CancelOutcome::AlreadyEnded => {
            format!("It had ended before; nothing was changed. ${charged} was charged in all.")
        }
        execution::CancelOutcome::Requested => {
            let reserved = receipt.reserved.to_usd_text();
            format!(
                "The request is stored. Whoever runs the execution, or takes it over, ends it soon; ${charged} is charged \
                 so far, and at most ${reserved} more for what is under way."
            )
        }
    }
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
