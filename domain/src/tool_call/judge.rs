//! Asks the loop guard about the calls of a reply, and does to them what the agent's policy says.

use super::model::{ToolCall, ToolCallState, ToolResult};
use super::plan::Proposed;
use crate::agent::{Claim, Halt, Moving};
use crate::event::Event;
use crate::execution::StopCode;
use crate::loop_guard::{Call, Finding, Outcome, Verdict};
use crate::resource::{LoopAction, LoopPolicy};
use crate::tool_call::SideEffect;

/// The code of a call that the guard refused.
pub(super) const LOOP_DETECTED: &str = "LOOP_DETECTED";

/// What the guard found about a call.
#[derive(Debug, Default)]
pub(crate) struct Ruling {
    /// A word to the model.
    pub warning: Option<String>,
    /// What the log tells.
    pub event: Option<Event>,
}

/// Judges the calls of a reply in their order. Returns why the loop ends, if it does.
///
/// What is refused for its own fault has its outcome at once, but the guard hears of it when all are judged, as it does
/// of the others.
pub(super) fn judge_all(claim: &Claim, moving: &mut Moving, proposed: &mut [Proposed]) -> Option<Halt> {
    let policy = claim.pinned().ok()?.agent.loop_policy;
    let mut halt = None;
    for proposed in proposed.iter_mut() {
        let verdict = moving.guard.judge(&proposed.call.as_judged(), &policy);
        apply(&policy, proposed, &verdict, &mut halt);
    }
    for Proposed { call, arguments, invocation, .. } in &*proposed {
        if let Err(ToolResult { state, error, text, .. }) = invocation {
            let code = error.as_ref().map(|(code, _)| code.as_str());
            if let Some(outcome) = Outcome::of(*state, code, text, arguments) {
                moving.guard.note(call.iteration, call.ordinal, outcome);
            }
        }
    }
    halt
}

/// What the model is told under a policy that warns; None for what is to run in silence.
pub(crate) fn warning_of(policy: &LoopPolicy, verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Loop(finding) if policy.on_loop == LoopAction::Warn => Some(format!("Warning: {}", advice(finding))),
        Verdict::Loop(_) | Verdict::Pardoned(_) | Verdict::Proceed => None,
    }
}

fn apply(policy: &LoopPolicy, proposed: &mut Proposed, verdict: &Verdict, halt: &mut Option<Halt>) {
    let Some(finding) = verdict.finding() else { return };
    proposed.ruling.event = Some(detected_event(&proposed.call, finding, policy, verdict));
    proposed.ruling.warning = warning_of(policy, verdict);
    let is_refused = matches!(verdict, Verdict::Loop(_)) && policy.on_loop != LoopAction::Warn;
    if !is_refused {
        return;
    }
    let sentence = finding.sentence();
    if policy.on_loop == LoopAction::Stop {
        halt.get_or_insert_with(|| Halt::stop(StopCode::LoopDetected, format!("Stopped: {sentence}.")));
        proposed.invocation = Err(ToolResult::ended(ToolCallState::Refused, LOOP_DETECTED, sentence));
        return;
    }
    let refused = ToolResult::ended(ToolCallState::Refused, LOOP_DETECTED, sentence);
    let text = format!("{LOOP_DETECTED}: this call was not run: {}", advice(finding));
    proposed.invocation = Err(ToolResult { text, ..refused });
}

fn advice(finding: &Finding) -> String {
    format!("{}. Do something else, or say what is missing.", finding.sentence())
}

fn detected_event(call: &ToolCall, finding: &Finding, policy: &LoopPolicy, verdict: &Verdict) -> Event {
    Event::LoopDetected {
        iteration: call.iteration,
        ordinal: call.ordinal,
        tool_call_id: call.id,
        loop_kind: finding.kind,
        period: finding.period,
        count: finding.count,
        tools: finding.tools.clone(),
        iterations: finding.iterations.clone(),
        action: policy.on_loop,
        pardoned: matches!(verdict, Verdict::Pardoned(_)),
        message: finding.sentence(),
    }
}

impl ToolCall {
    /// The call, as the loop guard sees it.
    pub(crate) fn as_judged(&self) -> Call<'_> {
        Call {
            tool: &self.tool,
            fingerprint: &self.fingerprint,
            iteration: self.iteration,
            ordinal: self.ordinal,
            is_read_only: self.side_effect == SideEffect::ReadOnly,
        }
    }
}
