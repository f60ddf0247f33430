//! The arithmetic of reserve and settle.

use super::model::{Budget, Limit};
use crate::money::{NanoUsd, Price, TokenUsage};

/// Output tokens below which a model call is not worth making.
pub const MINIMUM_USEFUL_OUTPUT: u64 = 16;

/// Tokens that a provider adds around each message, at most.
const TOKENS_PER_MESSAGE: u64 = 16;

/// What a model call may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Input tokens, see [`estimate_input`].
    pub input_tokens: u64,
    /// Output cap that the model's version allows.
    pub output_cap: u64,
    /// Prices; None when they are unknown.
    pub price: Option<Price>,
}

/// Estimates input tokens without a tokenizer: what the provider counted last time, one token for each byte added
/// since, and a constant for each added message. It may be far too high and is never too low for byte-pair encodings.
pub fn estimate_input(previous_input_tokens: u64, added_bytes: u64, added_messages: u64) -> u64 {
    previous_input_tokens.saturating_add(added_bytes).saturating_add(added_messages.saturating_mul(TOKENS_PER_MESSAGE))
}

/// What a model call holds until it is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a reservation ends only by settling it"]
pub struct ModelCallReservation {
    /// Input and output tokens together.
    pub tokens: u64,
    /// The part of them that is input.
    pub input_tokens: u64,
    /// The output cap to send to the provider: lowered to what tokens and money allow.
    pub output_cap: u64,
    /// Money.
    pub cost: NanoUsd,
}

impl Budget {
    /// Counts the next iteration, or names the limit.
    pub fn open_iteration(&mut self) -> Result<u32, Limit> {
        if self.limits.max_iterations.is_some_and(|most| self.used.iterations >= most) {
            return Err(Limit::Iterations);
        }
        self.used.iterations += 1;
        Ok(self.used.iterations)
    }

    /// Reserves the worst case of a model call, its output cap lowered to what fits, or names the limit.
    pub fn reserve_model_call(&mut self, estimate: Estimate) -> Result<ModelCallReservation, Limit> {
        self.check_active_time()?;
        if self.limits.max_model_calls.is_some_and(|most| self.used.model_calls >= most) {
            return Err(Limit::ModelCalls);
        }
        let input = estimate.input_tokens;
        let useful = MINIMUM_USEFUL_OUTPUT.min(estimate.output_cap);
        let by_tokens = self.tokens_left().map_or(Some(u64::MAX), |left| left.checked_sub(input));
        let by_tokens = by_tokens.filter(|cap| *cap >= useful).ok_or(Limit::Tokens)?;
        let by_cost = match (self.cost_left(), estimate.price) {
            (None, _) => Some(u64::MAX),
            (Some(left), Some(price)) => price.affordable_output(input, left),
            (Some(_), None) => None,
        };
        let by_cost = by_cost.filter(|cap| *cap >= useful).ok_or(Limit::Cost)?;
        let output_cap = estimate.output_cap.min(by_tokens).min(by_cost);
        let reservation = ModelCallReservation {
            tokens: input.saturating_add(output_cap),
            input_tokens: input,
            output_cap,
            cost: estimate.price.map_or(NanoUsd::ZERO, |price| price.worst_case(input, output_cap)),
        };
        self.used.model_calls += 1;
        self.used.reserved_tokens += reservation.tokens;
        self.used.reserved += reservation.cost;
        Ok(reservation)
    }

    /// Ends a reservation: what was used is spent, also when it is more than was reserved.
    pub fn settle_model_call(&mut self, reserved_tokens: u64, reserved: NanoUsd, usage: &TokenUsage, cost: NanoUsd) {
        self.used.reserved_tokens = self.used.reserved_tokens.saturating_sub(reserved_tokens);
        self.used.reserved = self.used.reserved.saturating_sub(reserved);
        self.used.tokens = self.used.tokens.saturating_add(usage.total());
        self.used.spent += cost;
    }

    /// Counts the tool calls of one reply before the first starts: those that still fit. The caller refuses the others.
    pub fn reserve_tool_calls(&mut self, wanted: u32) -> Result<u32, Limit> {
        self.check_active_time()?;
        let left = self.limits.max_tool_calls.map_or(u32::MAX, |most| most.saturating_sub(self.used.tool_calls));
        let granted = wanted.min(left);
        self.used.tool_calls += granted;
        Ok(granted)
    }

    /// Names the active-time limit once it is reached.
    pub fn check_active_time(&self) -> Result<(), Limit> {
        match self.limits.max_active_time_ms {
            Some(most) if self.used.active_time_us >= most.saturating_mul(1000) => Err(Limit::ActiveTime),
            Some(_) | None => Ok(()),
        }
    }

    fn tokens_left(&self) -> Option<u64> {
        let taken = self.used.tokens.saturating_add(self.used.reserved_tokens);
        self.limits.max_tokens.map(|most| most.saturating_sub(taken))
    }

    fn cost_left(&self) -> Option<NanoUsd> {
        self.limits.max_cost.map(|most| most.saturating_sub(self.used.spent + self.used.reserved))
    }
}
