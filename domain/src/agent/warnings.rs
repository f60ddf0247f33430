//! Tells when a limit of money or tokens will be reached: of the execution itself, or of an account that it uses.
//!
//! A level is told once. For the execution's own limits the stored totals say what was told; for an account the store
//! keeps what each execution was told, since others spend from it too.

use crate::budget::{AccountState, Budget, BudgetSource, Meter, Used, WarningLevels};
use crate::event::Event;
use crate::ids::AccountId;

/// The levels of the execution's own limits that lie between the totals before and those now.
pub(super) fn of_execution(levels: &WarningLevels, before: &Used, budget: &Budget) -> Vec<Event> {
    let Budget { limits, used } = budget;
    let meters = [
        (Meter::of_cost(before.spent, limits.max_cost), Meter::of_cost(used.spent, limits.max_cost)),
        (Meter::of_tokens(before.tokens, limits.max_tokens), Meter::of_tokens(used.tokens, limits.max_tokens)),
    ];
    let told = meters.into_iter().filter_map(|(before, now)| Some((before?, now?)));
    told.flat_map(|(before, now)| {
        let told_before = levels.reached(before.used.into(), before.cap.into());
        warnings(levels, told_before, now, BudgetSource::Execution, None)
    })
    .collect()
}

/// The levels of an account that the execution was not told of yet; from now on it was.
pub(crate) fn of_account(state: &mut AccountState) -> Vec<Event> {
    let (levels, id) = (&state.account.warning_levels, Some(state.account.id));
    let source = state.account.owner.scope().into();
    let mut events = Vec::new();
    let (cost, tokens) = (
        Meter::of_cost(state.spent.cost, state.caps.max_cost),
        Meter::of_tokens(state.spent.tokens, state.caps.max_tokens),
    );
    for (meter, told) in [(cost, &mut state.warned.cost), (tokens, &mut state.warned.tokens)] {
        let Some(meter) = meter else { continue };
        let new = warnings(levels, *told, meter, source, id);
        *told = (*told).max(levels.reached(meter.used.into(), meter.cap.into()));
        events.extend(new);
    }
    events
}

fn warnings(
    levels: &WarningLevels,
    told: u8,
    meter: Meter,
    source: BudgetSource,
    account_id: Option<AccountId>,
) -> Vec<Event> {
    let Meter { limit, used, cap } = meter;
    let crossed = levels.crossed(told, used.into(), cap.into());
    crossed.into_iter().map(|level| Event::BudgetWarning { source, account_id, limit, level, used, cap }).collect()
}
