//! The rules: what the newest call, together with those before it, makes of a run.
//!
//! An outcome that is not known counts as unchanged: calls of one reply are made without looking at each other.

use std::collections::VecDeque;

use super::finding::{Finding, LoopKind};
use super::guard::Seen;
use super::outcome::Outcome;
use crate::resource::LoopPolicy;

const PERIODS: std::ops::RangeInclusive<usize> = 2..=5;

/// Judges the last call. Where several rules match, the one with the plainest evidence is named.
pub(super) fn find(seen: &[Seen], policy: &LoopPolicy) -> Option<Finding> {
    let (last, before) = seen.split_last()?;
    let repeats = repeats(last, before);
    let is_repeated = repeats.count >= policy.max_identical_calls;
    if is_repeated && repeats.is_in_a_row {
        return Some(repeats.finding(LoopKind::RepeatedCall, last));
    }
    PERIODS
        .into_iter()
        .find_map(|period| cycle(seen, period, policy.max_cycles))
        .or_else(|| is_repeated.then(|| repeats.finding(LoopKind::RepeatedCall, last)))
        .or_else(|| repeated_error(last, before, policy))
        .or_else(|| polls(last, before, policy.max_polls))
}

/// Calls that match, collected from the newest to the oldest.
struct Matches {
    count: u32,
    iterations: VecDeque<u32>,
    is_in_a_row: bool,
}

impl Matches {
    fn none() -> Self {
        Self { count: 0, iterations: VecDeque::new(), is_in_a_row: true }
    }

    fn from(last: &Seen) -> Self {
        Self { count: 1, iterations: VecDeque::from([last.iteration]), is_in_a_row: true }
    }

    fn add(&mut self, iteration: u32) {
        self.count = self.count.saturating_add(1);
        self.show(iteration);
    }

    fn show(&mut self, iteration: u32) {
        if self.iterations.len() < Finding::MOST_ITERATIONS {
            self.iterations.push_front(iteration);
        }
    }

    fn finding(self, kind: LoopKind, last: &Seen) -> Finding {
        let tools = vec![last.tool.clone()];
        Finding { kind, period: 1, count: self.count, tools, iterations: self.iterations.into() }
    }
}

/// Whether an outcome fits to those that were seen of the same call; the first that is known is the measure.
fn is_unchanged<'a>(measure: &mut Option<&'a Outcome>, outcome: Option<&'a Outcome>) -> bool {
    match (*measure, outcome) {
        (Some(measure), Some(outcome)) => measure == outcome,
        (None, Some(outcome)) => {
            *measure = Some(outcome);
            true
        }
        (_, None) => true,
    }
}

/// The same call, back to a change of its result or to work of another call.
fn repeats(last: &Seen, before: &[Seen]) -> Matches {
    let mut matches = Matches::from(last);
    let mut measure = None;
    let mut is_alone = true;
    for seen in before.iter().rev() {
        if seen.fingerprint == last.fingerprint {
            if !is_unchanged(&mut measure, seen.outcome.as_ref()) {
                break;
            }
            matches.is_in_a_row &= is_alone;
            matches.add(seen.iteration);
        } else if seen.is_work {
            break;
        } else {
            is_alone = false;
        }
    }
    matches
}

/// Rounds of `period` calls, each like the one before it, that the last call completes.
fn cycle(seen: &[Seen], period: usize, threshold: u32) -> Option<Finding> {
    let newest_first: Vec<&Seen> = seen.iter().rev().take(period).collect();
    if newest_first.len() < period || is_shorter(&newest_first) {
        return None;
    }
    let mut measures: Vec<Option<&Outcome>> = vec![None; period];
    let matched = seen
        .iter()
        .rev()
        .enumerate()
        .take_while(|(back, seen)| {
            let place = back % period;
            seen.fingerprint == newest_first[place].fingerprint
                && is_unchanged(&mut measures[place], seen.outcome.as_ref())
        })
        .count();
    let rounds = matched / period;
    let count = u32::try_from(rounds).unwrap_or(u32::MAX);
    if count < threshold {
        return None;
    }
    let shown = (rounds * period).min(Finding::MOST_ITERATIONS);
    Some(Finding {
        kind: LoopKind::Cycle,
        period: u32::try_from(period).unwrap_or(u32::MAX),
        count,
        tools: newest_first.iter().rev().map(|seen| seen.tool.clone()).collect(),
        iterations: seen[seen.len() - shown..].iter().map(|seen| seen.iteration).collect(),
    })
}

/// Whether a round is itself made of equal shorter rounds.
fn is_shorter(round: &[&Seen]) -> bool {
    let period = round.len();
    (1..period)
        .filter(|shorter| period.is_multiple_of(*shorter))
        .any(|shorter| (shorter..period).all(|at| round[at].fingerprint == round[at - shorter].fingerprint))
}

/// The same error of this tool in iteration after iteration: back to a success of it or to work of another tool, and
/// where there is much of it, whatever others did. Calls of one reply fail together and count once.
fn repeated_error(last: &Seen, before: &[Seen], policy: &LoopPolicy) -> Option<Finding> {
    let mut matches = Matches::none();
    let mut measure = None;
    let mut newest = None;
    let mut is_without_work = true;
    for seen in before.iter().rev() {
        if seen.tool != last.tool {
            is_without_work &= !seen.is_work;
            continue;
        }
        // It was told once; what comes behind is counted anew.
        if seen.caught == Some(LoopKind::RepeatedError) {
            break;
        }
        match &seen.outcome {
            None => continue,
            Some(outcome) if !outcome.is_error() || !is_unchanged(&mut measure, Some(outcome)) => break,
            Some(_) if newest == Some(seen.iteration) => continue,
            Some(_) => newest = Some(seen.iteration),
        }
        matches.add(seen.iteration);
        let threshold = if is_without_work { policy.max_repeated_errors } else { policy.max_polls };
        if matches.count >= threshold {
            return Some(matches.finding(LoopKind::RepeatedError, last));
        }
    }
    None
}

/// The same call over and over, with whatever results, back to something new that another call did; and with unchanged
/// results, whatever others did.
fn polls(last: &Seen, before: &[Seen], most: u32) -> Option<Finding> {
    let (mut any, mut unchanged) = (Some(Matches::from(last)), Some(Matches::from(last)));
    let mut measure = None;
    let (mut polled, mut stuck) = (None, None);
    for seen in before.iter().rev() {
        if seen.fingerprint != last.fingerprint {
            if seen.is_first && seen.is_work {
                polled = polled.or(any.take());
            }
            continue;
        }
        if let Some(any) = &mut any {
            any.add(seen.iteration);
        }
        if unchanged.is_some() && !is_unchanged(&mut measure, seen.outcome.as_ref()) {
            stuck = unchanged.take();
        }
        if let Some(unchanged) = &mut unchanged {
            unchanged.add(seen.iteration);
        }
        if any.is_none() && unchanged.is_none() {
            break;
        }
    }
    let longer = |matches: Option<Matches>| matches.filter(|matches| matches.count > most);
    let found = longer(polled.or(any)).or_else(|| longer(stuck.or(unchanged)))?;
    Some(found.finding(LoopKind::PollLimit, last))
}
