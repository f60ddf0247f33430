//! A CancelReceipt tells who stopped an execution what became of it: what was cut off, what that cost, what is kept.
//!
//! It is made from what is stored, so that asking again gives the same receipt.

use super::model::{Execution, ExecutionStatus, IterationRecord};
use crate::model_call::{CallState, ModelCall};
use crate::money::NanoUsd;
use crate::tool_call::{ToolCall, ToolCallState};

/// Where the execution stands after a cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It ended because it was cancelled.
    Cancelled,
    /// It had ended for another cause, and stays as it is.
    AlreadyEnded,
    /// The request is stored; whoever runs the execution, or takes it over from a lost worker, will end it.
    Requested,
}

/// What a cancel did.
#[derive(Debug, Clone)]
pub struct CancelReceipt {
    /// Where the execution stands.
    pub outcome: CancelOutcome,
    /// Model calls that were cut off.
    pub model_calls: Vec<ModelCall>,
    /// Tool calls that were cut off or did not begin.
    pub tool_calls: Vec<ToolCall>,
    /// What the model calls that were cut off cost all the same.
    pub charged_for_cut: NanoUsd,
    /// What the whole execution cost so far.
    pub charged: NanoUsd,
    /// What calls that are not settled yet may still cost.
    pub reserved: NanoUsd,
    /// Iterations whose replies and results are kept.
    pub kept_iterations: u32,
    /// Files that are kept.
    pub kept_artifacts: u32,
    /// Whether text of a last reply is kept as the answer so far.
    pub has_answer: bool,
}

impl CancelReceipt {
    /// What the stored execution says.
    pub fn of(execution: &Execution, transcript: Vec<IterationRecord>, kept_artifacts: u32) -> Self {
        let progress = &execution.progress;
        let outcome = match progress.status {
            ExecutionStatus::Cancelled => CancelOutcome::Cancelled,
            status if status.is_terminal() => CancelOutcome::AlreadyEnded,
            _ => CancelOutcome::Requested,
        };
        let kept_iterations = u32::try_from(transcript.len()).unwrap_or(u32::MAX);
        let (mut model_calls, mut tool_calls) = (Vec::new(), Vec::new());
        // Earlier iterations went on: what was cut in them was made again.
        if let Some(last) = transcript.into_iter().next_back() {
            model_calls = last.model_calls.into_iter().filter(|call| call.state == CallState::Cancelled).collect();
            tool_calls = last.tool_calls.into_iter().filter(|call| call.state == ToolCallState::Cancelled).collect();
        }
        Self {
            outcome,
            charged_for_cut: model_calls.iter().map(|call| call.cost).sum(),
            model_calls,
            tool_calls,
            charged: progress.used.spent,
            reserved: progress.used.reserved,
            kept_iterations,
            kept_artifacts,
            has_answer: progress.answer.as_ref().is_some_and(|text| !text.is_empty()),
        }
    }
}
