//! Money: whole nano-USD, prices per million units. Never a float.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

const MILLION: i128 = 1_000_000;

/// An amount in billionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NanoUsd(pub i64);

impl NanoUsd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Parses a plain decimal number of dollars (`0.05`): at most nine decimals, no sign, no exponent.
    pub fn from_usd_text(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
            return None;
        }
        let whole: i64 = whole.parse().ok()?;
        let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
        whole.checked_mul(1_000_000_000)?.checked_add(fraction).map(Self)
    }

    /// The exact amount in dollars with no trailing zeros (`0.0142`).
    pub fn to_usd_text(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        let (whole, fraction) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
        let decimals = format!("{fraction:09}");
        match decimals.trim_end_matches('0') {
            "" => format!("{sign}{whole}"),
            decimals => format!("{sign}{whole}.{decimals}"),
        }
    }

    /// The difference, or zero when `other` is greater.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0).max(0))
    }
}

impl Add for NanoUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for NanoUsd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for NanoUsd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for NanoUsd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// What a model's tokens cost, in nano-USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// An input token that was not served from the provider's cache.
    pub input_per_million: NanoUsd,
    /// An input token that was.
    pub cached_input_per_million: NanoUsd,
    /// An output token; also one spent on reasoning, where that has no price of its own.
    pub output_per_million: NanoUsd,
    /// An output token spent on reasoning, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_per_million: Option<NanoUsd>,
}

/// What a model call used. Cached input is a part of input, reasoning a part of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Prompt tokens, cached ones included.
    pub input: u64,
    /// Prompt tokens served from the provider's cache.
    pub cached_input: u64,
    /// Completion tokens, reasoning included.
    pub output: u64,
    /// Completion tokens spent on reasoning.
    pub reasoning: u64,
}

impl TokenUsage {
    /// Input plus output.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The sum of both, kind by kind.
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached_input: self.cached_input.saturating_add(other.cached_input),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

impl Price {
    /// What this usage costs: summed exactly, divided once, rounded half to even.
    pub fn cost(&self, usage: &TokenUsage) -> NanoUsd {
        let exact = self.exact(usage);
        let (quotient, remainder) = (exact / MILLION, exact % MILLION);
        let round_up = match (remainder * 2).cmp(&MILLION) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => quotient % 2 == 1,
        };
        to_nano(quotient + i128::from(round_up))
    }

    /// The most that this usage can cost: of each kind the dearest price, rounded up. What a reservation takes.
    pub fn worst_case(&self, input: u64, output: u64) -> NanoUsd {
        let exact = i128::from(input) * i128::from(self.dearest_input().0)
            + i128::from(output) * i128::from(self.dearest_output().0);
        to_nano((exact + MILLION - 1) / MILLION)
    }

    /// How many output tokens fit into `money` beside this input; None when not even the input fits.
    pub fn affordable_output(&self, input: u64, money: NanoUsd) -> Option<u64> {
        let left = i128::from(money.0) * MILLION - i128::from(input) * i128::from(self.dearest_input().0);
        match (left, i128::from(self.dearest_output().0)) {
            (left, _) if left < 0 => None,
            (_, 0) => Some(u64::MAX),
            (left, price) => Some(u64::try_from(left / price).unwrap_or(u64::MAX)),
        }
    }

    fn exact(&self, usage: &TokenUsage) -> i128 {
        let cached = usage.cached_input.min(usage.input);
        let reasoning = usage.reasoning.min(usage.output);
        let reasoning_price = self.reasoning_per_million.unwrap_or(self.output_per_million);
        i128::from(usage.input - cached) * i128::from(self.input_per_million.0)
            + i128::from(cached) * i128::from(self.cached_input_per_million.0)
            + i128::from(usage.output - reasoning) * i128::from(self.output_per_million.0)
            + i128::from(reasoning) * i128::from(reasoning_price.0)
    }

    fn dearest_input(&self) -> NanoUsd {
        self.input_per_million.max(self.cached_input_per_million)
    }

    fn dearest_output(&self) -> NanoUsd {
        self.reasoning_per_million.map_or(self.output_per_million, |price| price.max(self.output_per_million))
    }
}

fn to_nano(amount: i128) -> NanoUsd {
    NanoUsd(i64::try_from(amount).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input_per_million: NanoUsd(250_000_000),
        cached_input_per_million: NanoUsd(25_000_000),
        output_per_million: NanoUsd(2_000_000_000),
        reasoning_per_million: None,
    };

    #[test]
    fn cached_and_reasoning_tokens_are_parts_and_not_extras() {
        let usage = TokenUsage { input: 1000, cached_input: 800, output: 500, reasoning: 400 };
        assert_eq!(PRICE.cost(&usage), NanoUsd(1_070_000));
        assert_eq!(usage.total(), 1500);
    }

    #[test]
    fn reasoning_may_have_a_price_of_its_own_and_the_worst_case_covers_it() {
        let usage = TokenUsage { input: 0, cached_input: 0, output: 500, reasoning: 400 };
        let dear = Price { reasoning_per_million: Some(NanoUsd(3_000_000_000)), ..PRICE };
        assert_eq!(dear.cost(&usage), NanoUsd(100 * 2_000 + 400 * 3_000));
        assert!(dear.cost(&TokenUsage { reasoning: 500, ..usage }) <= dear.worst_case(0, 500));
        let cheap = Price { reasoning_per_million: Some(NanoUsd(0)), ..PRICE };
        assert_eq!(cheap.cost(&usage), NanoUsd(100 * 2_000));
        assert_eq!(cheap.worst_case(0, 500), NanoUsd(500 * 2_000));
        // More reasoning than output is a provider's slip: it counts as all of the output.
        assert_eq!(dear.cost(&TokenUsage { reasoning: 900, ..usage }), NanoUsd(500 * 3_000));
    }

    #[test]
    fn a_price_without_reasoning_is_stored_as_before() {
        let text = serde_json::to_string(&PRICE).unwrap();
        assert!(!text.contains("reasoning"), "{text}");
        assert_eq!(serde_json::from_str::<Price>(&text).unwrap(), PRICE);
    }

    #[test]
    fn settles_half_to_even_and_reserves_upwards() {
        let price = |nano| Price {
            input_per_million: NanoUsd(nano),
            cached_input_per_million: NanoUsd(0),
            output_per_million: NanoUsd(0),
            reasoning_per_million: None,
        };
        let one = TokenUsage { input: 1, ..TokenUsage::default() };
        assert_eq!(price(500_000).cost(&one), NanoUsd(0));
        assert_eq!(price(1_500_000).cost(&one), NanoUsd(2));
        assert_eq!(price(2_500_000).cost(&one), NanoUsd(2));
        assert_eq!(price(1).worst_case(1, 0), NanoUsd(1));
    }

    #[test]
    fn the_affordable_output_costs_no_more_than_the_money() {
        let money = NanoUsd(50_000_000);
        let output = PRICE.affordable_output(1234, money).unwrap();
        assert!(PRICE.worst_case(1234, output) <= money);
        assert!(PRICE.worst_case(1234, output + 1) > money);
        assert_eq!(PRICE.affordable_output(1_000_000_000, money), None);
    }

    #[test]
    fn dollars_round_trip_as_text() {
        for (text, nano) in [("0.05", 50_000_000), ("1", 1_000_000_000), ("0.000000001", 1), ("12.5", 12_500_000_000)] {
            assert_eq!(NanoUsd::from_usd_text(text), Some(NanoUsd(nano)));
            assert_eq!(NanoUsd(nano).to_usd_text(), text);
        }
        for bad in ["", "-1", "1e3", "1.", ".5", "0.0000000001", "99999999999", "1,5"] {
            assert_eq!(NanoUsd::from_usd_text(bad), None, "{bad}");
        }
    }
}
