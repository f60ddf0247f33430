//! Costs: exact sums of stored model calls, and recounts by another price version.

mod object;
mod query;
mod recount;

pub use query::CostQuery;
