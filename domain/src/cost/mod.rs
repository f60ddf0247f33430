//! A cost is a sum of stored model calls, exact to the last digit, and never anything else.
//!
//! What a call cost is settled once, by the price version that its execution pinned, and never changes. Sums are made of
//! these amounts alone. A recount asks what the same tokens would cost by another price version; it is a question, is
//! shown as one, and is stored nowhere. Calls that are under way have no cost yet and are not counted.

mod model;
mod ports;
mod recount;

pub use model::{CostBy, CostFilter, CostKey, CostLine, CostTotals, PricedCall};
pub use ports::CostReader;
pub use recount::{Recount, RecountedCall, recount};
