//! An Item is a JSON value that an execution hands on to its caller: its final answer, or the error item that stands for
//! the limit at which it ended.

use serde::{Deserialize, Serialize};

use super::model::{Execution, ExecutionStatus, StopCode, StopReason, StopStep};

/// What an execution hands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Item {
    /// `{"answer": "…"}`
    Answer(String),
    /// `{"error": {…}}`
    Error(ErrorItem),
}

/// A limit that was hit, as a value with which a caller goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorItem {
    /// The code of the StopReason.
    pub code: StopCode,
    /// The limit, as the StopReason names it.
    pub limit: Option<String>,
    /// What was about to happen, or was under way.
    pub step: Option<StopStep>,
    /// The iteration of that step.
    pub iteration: Option<u32>,
    /// For people.
    pub message: String,
}

impl ErrorItem {
    /// The error item of an execution that ended so; None when it ended with an answer or handed nothing on.
    pub fn of(status: ExecutionStatus, reason: &StopReason) -> Option<Self> {
        if status != ExecutionStatus::Succeeded || reason.code == StopCode::FinalAnswer {
            return None;
        }
        let StopReason { code, limit, step, iteration, message } = reason.clone();
        Some(Self { code, limit, step, iteration, message })
    }
}

impl Execution {
    /// The final answer; None while there is none, also when what there was of one is kept.
    pub fn final_answer(&self) -> Option<&str> {
        let reason = self.progress.stop_reason.as_ref()?;
        self.progress.answer.as_deref().filter(|_| reason.code == StopCode::FinalAnswer)
    }

    /// What it hands on, once it has ended.
    pub fn items(&self) -> Vec<Item> {
        let error = || Some(Item::Error(ErrorItem::of(self.progress.status, self.progress.stop_reason.as_ref()?)?));
        let answer = self.final_answer().map(|text| Item::Answer(text.to_owned()));
        answer.or_else(error).into_iter().collect()
    }
}
