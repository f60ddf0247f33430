//! How a budget account ends an execution: whose account it was, which cap, and what the outcome is.

use super::claim::Claim;
use super::ending::Ending;
use super::limit_ending::limit_ending;
use crate::budget::{AccountState, Limit, Refused};
use crate::execution::{StopCode, StopStep};

/// The end that this refusal brings. The account is named by whose it is and by its period, so that a person knows where
/// to look; what becomes of the execution is what its own limit of the same kind says.
pub(super) fn account_ending(claim: &Claim, refused: Refused) -> Ending {
    let (refusal, why) = match refused {
        Refused::Own(limit) => return limit_ending(claim, limit),
        Refused::Account(refusal) => (refusal, "and the next call might go over it"),
        Refused::Busy(refusal) => (refusal, "and other calls hold too much of the rest"),
        Refused::NoPrice(refusal) => return no_price(&refusal.state),
    };
    let AccountState { account, caps, spent, reserved, .. } = &*refusal.state;
    let whose = account.owner.scope().noun();
    let each = account.period.each();
    let (limit, code, name, most, used, held) = if refusal.limit == Limit::Tokens {
        let most = caps.max_tokens.unwrap_or_default().to_string();
        let (used, held) = (spent.tokens.to_string(), reserved.tokens.to_string());
        (Limit::Tokens, StopCode::TokenLimit, "maxTokens", most, used, held)
    } else {
        let most = caps.max_cost.unwrap_or_default().to_usd_text();
        let (used, held) = (spent.cost.to_usd_text(), reserved.cost.to_usd_text());
        (Limit::Cost, StopCode::CostLimit, "maxCostUsd", most, used, held)
    };
    let message = format!(
        "Stopped by a budget account of the {whose}: {name} is {most}{each}, {used} is used, {held} is held by calls \
         under way, {why}. Top the account up, or start again when its period is over."
    );
    Ending {
        limit: Some((format!("{whose} {name} {most}{each}"), StopStep::ModelCall)),
        outcome: claim.limits().on_limit.of(limit),
        ..Ending::new(code, message)
    }
}

fn no_price(state: &AccountState) -> Ending {
    let whose = state.account.owner.scope().noun();
    let message = format!(
        "A budget account of the {whose} limits money, and the model has no price: publish a version of the model with a \
         price, import one that is in force, or limit the account by tokens alone."
    );
    Ending::new(StopCode::PriceUnknown, message)
}
