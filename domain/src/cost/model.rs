//! Which calls are summed, by what, and what comes out.

use crate::clock::Timestamp;
use crate::ids::{ModelCallId, PriceVersionId, ProjectId, ResourceId};
use crate::model_call::CallState;
use crate::money::{NanoUsd, Price, TokenUsage};
use crate::price_table::ModelName;

/// What the lines of a summary stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// A model: a provider and its name of it.
    Model,
    /// An agent.
    Agent,
    /// A day in UTC, by the start of the call.
    Day,
}

/// Which calls are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostFilter {
    /// Those of this project.
    pub project_id: ProjectId,
    /// Those that started at this moment or later.
    pub from: Option<Timestamp>,
    /// Those that started before this moment.
    pub to: Option<Timestamp>,
}

/// What a line stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CostKey {
    /// A model.
    Model(ModelName),
    /// An agent.
    Agent(ResourceId),
    /// The first moment of a day in UTC.
    Day(Timestamp),
}

/// The sum of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CostTotals {
    /// How many they are.
    pub calls: u64,
    /// How many of them have an estimated usage: the provider said none, or they were lost.
    pub estimated_calls: u64,
    /// How many of them had no price and so cost nothing.
    pub unpriced_calls: u64,
    /// Their tokens.
    pub usage: TokenUsage,
    /// Their cost.
    pub cost: NanoUsd,
    /// The part of it that stands on estimated usage.
    pub estimated_cost: NanoUsd,
}

/// A line of a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostLine {
    /// What it stands for.
    pub key: CostKey,
    /// The sum.
    pub totals: CostTotals,
}

/// What a recount needs of a stored call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedCall {
    /// The call.
    pub id: ModelCallId,
    /// How it ended.
    pub state: CallState,
    /// Its tokens.
    pub usage: TokenUsage,
    /// The price version by which it was settled, and its prices.
    pub price: Option<(PriceVersionId, Price)>,
    /// What it cost.
    pub cost: NanoUsd,
}
