//! A ModelChoice says which of the pinned models is asked, and why not the one before it.
//!
//! An execution begins with its agent's own model and moves down the list, never up: a model that failed once is not
//! asked again, so that a run does not wait for it in every iteration. It moves only while nothing of a reply has come,
//! and each model that is asked is a ModelCall of its own, with its own reservation and price.

use super::failure::ModelFailureKind;
use super::model::{CallState, ModelCall};
use crate::agent::PinnedModel;
use crate::artifact::StoredText;

/// Which model is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelChoice {
    /// Its place in the list; 0 is the agent's own model.
    pub index: u32,
    /// Code and message of the failure that led here.
    pub because: Option<(String, String)>,
    /// Whether this model has counted the conversation; another model's tokens say nothing about its own.
    pub has_counted: bool,
}

impl ModelChoice {
    /// The choice behind a call that did not fail: the model that was asked stays.
    pub fn behind(&self, call: &ModelCall) -> Self {
        let had_counted = self.has_counted && self.index == call.fallback_index;
        Self {
            index: call.fallback_index,
            because: call.fallback_because.clone(),
            has_counted: had_counted || (call.state == CallState::Settled && !call.estimated),
        }
    }

    /// The choice behind a failed call; None when no model further down may do better.
    pub fn after(call: &ModelCall, models: &[PinnedModel]) -> Option<Self> {
        let (code, _) = call.error.as_ref()?;
        let kind = ModelFailureKind::of_code(code)?;
        let has_output = call.reply_text != StoredText::empty() || !call.reply_tool_calls.is_empty();
        if call.state != CallState::Failed || has_output || !kind.is_other_models_chance() {
            return None;
        }
        let failed = usize::try_from(call.fallback_index).ok()?;
        let window = models.get(failed)?.spec.context_window;
        let is_fit =
            |model: &PinnedModel| kind != ModelFailureKind::ContextTooLong || model.spec.context_window > window;
        let further = models.iter().enumerate().skip(failed + 1);
        let (index, _) = further.into_iter().find(|(_, model)| is_fit(model))?;
        Some(Self { index: u32::try_from(index).ok()?, because: call.error.clone(), has_counted: false })
    }
}
