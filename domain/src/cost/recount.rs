//! A recount: what stored calls would cost by another price version.

use super::model::PricedCall;
use crate::ids::ModelCallId;
use crate::model_call::CallState;
use crate::money::{NanoUsd, Price};

/// What some calls would cost by another price version. It is stored nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recount {
    /// Call by call.
    pub calls: Vec<RecountedCall>,
}

/// A call with what it cost, and what it would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecountedCall {
    /// The call.
    pub id: ModelCallId,
    /// What it cost; this stays.
    pub stored: NanoUsd,
    /// What it would cost.
    pub recounted: NanoUsd,
}

impl Recount {
    /// What the calls cost.
    pub fn stored(&self) -> NanoUsd {
        self.calls.iter().map(|call| call.stored).sum()
    }

    /// What they would cost.
    pub fn recounted(&self) -> NanoUsd {
        self.calls.iter().map(|call| call.recounted).sum()
    }
}

/// Counts calls again by these prices, each as it was settled: by the price that it was settled with, a call costs what
/// is stored.
pub fn recount(calls: &[PricedCall], price: &Price) -> Recount {
    let again = |call: &PricedCall| RecountedCall { id: call.id, stored: call.cost, recounted: cost_of(call, price) };
    Recount { calls: calls.iter().map(again).collect() }
}

fn cost_of(call: &PricedCall, price: &Price) -> NanoUsd {
    match call.state {
        CallState::Started => NanoUsd::ZERO,
        CallState::Settled | CallState::Failed | CallState::Cancelled => price.cost(&call.usage),
        // Nobody knows what it used: it stands at its worst case, as its reservation did.
        CallState::Lost => price.worst_case(call.usage.input, call.usage.output),
    }
}
