//! Money, tokens and prices, as the API shows them.

use async_graphql::{Enum, ID, InputObject, SimpleObject};
use domain::clock::Timestamp;
use domain::ids::PriceVersionId;
use domain::money::{NanoUsd, Price};

use super::scalar::{BigInt, DateTime, Decimal};
use super::user_error::Faults;

/// An amount in a currency; exact.
#[derive(Debug, Clone, SimpleObject)]
pub struct Money {
    /// The amount in units of the currency, for example "0.0142".
    amount: Decimal,
    /// The currency.
    currency: CurrencyCode,
    /// The amount in billionths of a US dollar.
    nano_usd: BigInt,
}

/// Currencies. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum CurrencyCode {
    /// US dollar.
    Usd,
}

impl From<NanoUsd> for Money {
    fn from(amount: NanoUsd) -> Self {
        Self { amount: amount.into(), currency: CurrencyCode::Usd, nano_usd: amount.0.into() }
    }
}

/// Tokens by kind. Cached input is a part of input, reasoning a part of output.
#[derive(Debug, Clone, SimpleObject)]
pub struct TokenUsage {
    /// Prompt tokens, cached ones included.
    input: BigInt,
    /// Prompt tokens served from the provider's cache.
    cached_input: BigInt,
    /// Completion tokens, reasoning included.
    output: BigInt,
    /// Completion tokens spent on reasoning.
    reasoning: BigInt,
    /// Input plus output.
    total: BigInt,
}

impl From<domain::money::TokenUsage> for TokenUsage {
    fn from(usage: domain::money::TokenUsage) -> Self {
        Self {
            input: usage.input.into(),
            cached_input: usage.cached_input.into(),
            output: usage.output.into(),
            reasoning: usage.reasoning.into(),
            total: usage.total().into(),
        }
    }
}

/// One version of a model's prices; immutable.
#[derive(Debug, Clone, SimpleObject)]
pub struct PriceVersion {
    /// Its id.
    id: ID,
    /// A million input tokens that were not served from the provider's cache.
    input_per_million: Money,
    /// A million input tokens that were.
    cached_input_per_million: Money,
    /// A million output tokens; also those spent on reasoning, where they have no price of their own.
    output_per_million: Money,
    /// A million output tokens spent on reasoning, where it differs.
    reasoning_per_million: Option<Money>,
    /// When it came into force.
    valid_from: DateTime,
}

impl From<domain::resource::PriceVersion> for PriceVersion {
    fn from(version: domain::resource::PriceVersion) -> Self {
        Self {
            id: version.id.to_string().into(),
            input_per_million: version.price.input_per_million.into(),
            cached_input_per_million: version.price.cached_input_per_million.into(),
            output_per_million: version.price.output_per_million.into(),
            reasoning_per_million: version.price.reasoning_per_million.map(Money::from),
            valid_from: version.valid_from.into(),
        }
    }
}

/// What a model costs.
#[derive(Debug, Clone, InputObject)]
pub struct PriceInput {
    /// A million input tokens, in US dollars.
    input_per_million_usd: Decimal,
    /// A million input tokens from the provider's cache; as dear as other input when left out.
    cached_input_per_million_usd: Option<Decimal>,
    /// A million output tokens, in US dollars.
    output_per_million_usd: Decimal,
    /// A million output tokens spent on reasoning; as dear as other output when left out.
    reasoning_per_million_usd: Option<Decimal>,
}

impl PriceInput {
    /// Reads the prices as a new version, valid from now on.
    pub fn read(&self, id: PriceVersionId, now: Timestamp, faults: &mut Faults) -> domain::resource::PriceVersion {
        let base = ["spec", "price"];
        let input = usd(&self.input_per_million_usd, &base, "inputPerMillionUsd", faults);
        let cached = self.cached_input_per_million_usd.as_ref();
        let cached = cached.map(|text| usd(text, &base, "cachedInputPerMillionUsd", faults));
        let output = usd(&self.output_per_million_usd, &base, "outputPerMillionUsd", faults);
        let reasoning = self.reasoning_per_million_usd.as_ref();
        let reasoning = reasoning.map(|text| usd(text, &base, "reasoningPerMillionUsd", faults));
        let price = Price {
            input_per_million: input,
            cached_input_per_million: cached.unwrap_or(input),
            output_per_million: output,
            reasoning_per_million: reasoning,
        };
        domain::resource::PriceVersion { id, valid_from: now, price }
    }
}

/// Reads an amount of dollars; a malformed or negative one is noted and counts as 1.
pub fn usd(text: &Decimal, base: &[&str], field: &str, faults: &mut Faults) -> NanoUsd {
    NanoUsd::from_usd_text(&text.0).unwrap_or_else(|| {
        let path: Vec<_> = base.iter().copied().chain([field]).collect();
        let is_negative = text.0.strip_prefix('-').and_then(NanoUsd::from_usd_text).is_some();
        let (code, rule) = if is_negative {
            ("OUT_OF_RANGE", "must not be negative")
        } else {
            ("MALFORMED", "must be a plain number of dollars with at most 9 decimals, for example \"0.05\"")
        };
        faults.add(&path, code, rule);
        NanoUsd(1)
    })
}
