//! The guard against a slow reference that is written from the definitions and shares nothing with it.

use super::*;
use crate::resource::LoopPolicy;

const SEEDS: u64 = 4_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// What the reference knows of a call.
#[derive(Clone, Debug)]
struct Past {
    tool: u64,
    argument: u64,
    iteration: u32,
    is_read_only: bool,
    outcome: Option<Outcome>,
    caught: Option<LoopKind>,
}

impl Past {
    fn is_same(&self, other: &Self) -> bool {
        (self.tool, self.argument) == (other.tool, other.argument)
    }
}

/// The definitions, read off a list of calls. The last one is judged.
struct Reference<'a> {
    calls: &'a [Past],
    policy: LoopPolicy,
}

type Found = Option<(LoopKind, u32, u32, Vec<u32>)>;

impl Reference<'_> {
    fn last(&self) -> usize {
        self.calls.len() - 1
    }

    fn is_first(&self, at: usize) -> bool {
        !self.calls[..at].iter().any(|call| call.is_same(&self.calls[at]))
    }

    fn is_work(&self, at: usize) -> bool {
        let (call, before) = (&self.calls[at], &self.calls[..at]);
        if call.iteration == self.calls[self.last()].iteration {
            return self.is_first(at) && call.caught.is_none();
        }
        let Some(outcome) = &call.outcome else { return false };
        let tool_had_it = before.iter().any(|past| past.tool == call.tool && past.outcome.as_ref() == Some(outcome));
        if matches!(outcome, Outcome::Error(_)) {
            return !tool_had_it;
        }
        match before.iter().filter(|past| past.is_same(call)).filter_map(|past| past.outcome.as_ref()).next_back() {
            None => !call.is_read_only || !tool_had_it,
            Some(past) => past != outcome,
        }
    }

    /// Whether all that is known of the outcomes of these calls is one outcome.
    fn agree(&self, places: &[usize]) -> bool {
        let mut known = places.iter().filter_map(|at| self.calls[*at].outcome.as_ref());
        let one = known.next();
        known.all(|outcome| Some(outcome) == one)
    }

    /// The longest end of the list whose outcomes agree.
    fn agreeing_end(&self, places: &[usize]) -> Vec<usize> {
        (0..=places.len()).map(|from| &places[from..]).find(|end| self.agree(end)).unwrap_or_default().to_vec()
    }

    fn same_as_last(&self, from: usize) -> Vec<usize> {
        (from..self.last()).filter(|at| self.calls[*at].is_same(&self.calls[self.last()])).collect()
    }

    fn behind_last(&self, stops: impl Fn(usize) -> bool) -> usize {
        (0..self.last()).rev().find(|at| stops(*at)).map_or(0, |at| at + 1)
    }

    fn found(&self, kind: LoopKind, period: u32, mut places: Vec<usize>, with_last: bool) -> Found {
        if with_last {
            places.push(self.last());
        }
        let count = u32::try_from(places.len()).unwrap() / period;
        Some((kind, period, count, places.into_iter().map(|at| self.calls[at].iteration).collect()))
    }

    fn repeats(&self) -> Vec<usize> {
        let is_stop = |at: usize| !self.calls[at].is_same(&self.calls[self.last()]) && self.is_work(at);
        self.agreeing_end(&self.same_as_last(self.behind_last(is_stop)))
    }

    fn cycle(&self, period: usize) -> Found {
        if self.calls.len() < period {
            return None;
        }
        let most = self.calls.len() / period;
        let holds = |rounds: usize| {
            let tail: Vec<usize> = (self.calls.len() - rounds * period..self.calls.len()).collect();
            (0..period).all(|place| {
                let column: Vec<usize> = tail.iter().copied().skip(place).step_by(period).collect();
                column.iter().all(|at| self.calls[*at].is_same(&self.calls[column[0]])) && self.agree(&column)
            })
        };
        let is_composed = (1..period).filter(|part| period.is_multiple_of(*part)).any(|part| {
            let round = &self.calls[self.calls.len() - period..];
            round.chunks(part).all(|chunk| chunk.iter().zip(round).all(|(a, b)| a.is_same(b)))
        });
        let rounds = (1..=most).take_while(|rounds| holds(*rounds)).last()?;
        if is_composed || u32::try_from(rounds).unwrap() < self.policy.max_cycles {
            return None;
        }
        let places = (self.calls.len() - rounds * period..self.calls.len()).collect();
        self.found(LoopKind::Cycle, u32::try_from(period).unwrap(), places, false)
    }

    fn repeated_error(&self) -> Found {
        let tool = self.calls[self.last()].tool;
        let is_error = |call: &Past| matches!(call.outcome, Some(Outcome::Error(_)));
        let ends = |at: usize| {
            let call = &self.calls[at];
            call.tool == tool
                && (call.caught == Some(LoopKind::RepeatedError) || call.outcome.is_some() && !is_error(call))
        };
        let from = self.behind_last(ends);
        let errors: Vec<usize> =
            (from..self.last()).filter(|at| self.calls[*at].tool == tool && is_error(&self.calls[*at])).collect();
        let mut newest_of_each: Vec<usize> = Vec::new();
        for at in self.agreeing_end(&errors).into_iter().rev() {
            if newest_of_each.iter().all(|other| self.calls[*other].iteration != self.calls[at].iteration) {
                newest_of_each.push(at);
            }
        }
        for count in 1..=newest_of_each.len() {
            let oldest = newest_of_each[count - 1];
            let others_worked = (oldest..self.last()).any(|at| self.calls[at].tool != tool && self.is_work(at));
            let most = if others_worked { self.policy.max_polls } else { self.policy.max_repeated_errors };
            if u32::try_from(count).unwrap() >= most {
                let places = newest_of_each[..count].iter().copied().rev().collect();
                return self.found(LoopKind::RepeatedError, 1, places, false);
            }
        }
        None
    }

    fn polls(&self) -> Found {
        let is_stop =
            |at: usize| !self.calls[at].is_same(&self.calls[self.last()]) && self.is_first(at) && self.is_work(at);
        let polled = self.same_as_last(self.behind_last(is_stop));
        let stuck = self.agreeing_end(&self.same_as_last(0));
        let places =
            [polled, stuck].into_iter().find(|places| places.len() as u64 + 1 > u64::from(self.policy.max_polls))?;
        self.found(LoopKind::PollLimit, 1, places, true)
    }

    fn judge(&self) -> Found {
        let repeats = self.repeats();
        let is_repeated = repeats.len() as u64 + 1 >= u64::from(self.policy.max_identical_calls);
        let is_in_a_row = repeats.first().is_none_or(|first| first + repeats.len() == self.last());
        let repeated = is_repeated.then(|| self.found(LoopKind::RepeatedCall, 1, repeats, true)).flatten();
        if is_in_a_row && repeated.is_some() {
            return repeated;
        }
        let cycle = (2..=5).find_map(|period| self.cycle(period));
        cycle.or(repeated).or_else(|| self.repeated_error()).or_else(|| self.polls())
    }
}

fn outcome(random: &mut Random, tool: u64, variety: u64) -> Option<Outcome> {
    let text = format!("{}", random.below(variety));
    match random.below(8) {
        0 => None,
        1 | 2 => Some(Outcome::error(&text, "")),
        _ if tool == 0 => Some(Outcome::result("noted")),
        _ => Some(Outcome::result(&text)),
    }
}

/// A run that mostly walks in rounds, so that loops are frequent and nearly-loops are more frequent.
fn play(seed: u64) -> Result<[u32; 4], String> {
    let mut random = Random(seed);
    let mut threshold = |more: u64| 2 + u32::try_from(random.below(more)).unwrap();
    let policy = LoopPolicy {
        max_identical_calls: threshold(3),
        max_repeated_errors: threshold(3),
        max_cycles: threshold(2),
        max_polls: threshold(8),
        ..LoopPolicy::default()
    };
    let (period, stray, variety) = (1 + random.below(6), 2 + random.below(12), 1 + random.below(3));
    let round: Vec<(u64, u64)> = (0..period).map(|_| (random.below(3), random.below(3))).collect();
    let (mut guard, mut past): (LoopGuard, Vec<Past>) = (LoopGuard::default(), Vec::new());
    let mut seen = [0; 4];
    let (mut iteration, mut step) = (0, 0_usize);
    while step < 40 {
        iteration += 1;
        if random.one_in(25) {
            guard.forgive(0);
            past.clear();
        }
        let batch = if random.one_in(3) { 1 + random.below(5) } else { 1 };
        let begin = past.len();
        for ordinal in 0..u32::try_from(batch).unwrap() {
            let (tool, argument) =
                if random.one_in(stray) { (random.below(3), random.below(9)) } else { round[step % round.len()] };
            step += 1;
            let (tool_name, fingerprint) = (format!("t{tool}"), format!("t{tool}:{argument}"));
            let is_read_only = tool == 0;
            let call = Call { tool: &tool_name, fingerprint: &fingerprint, iteration, ordinal, is_read_only };
            let verdict = guard.judge(&call, &policy);
            past.push(Past { tool, argument, iteration, is_read_only, outcome: None, caught: None });
            let expected = Reference { calls: &past, policy }.judge();
            let found =
                verdict.finding().map(|found| (found.kind, found.period, found.count, found.iterations.clone()));
            if found != expected {
                return Err(format!("seed {seed}: {found:?}, expected {expected:?}, {policy:?}, {past:#?}"));
            }
            past.last_mut().unwrap().caught = found.as_ref().map(|(kind, ..)| *kind);
            if let Some((kind, ..)) = found {
                seen[kind as usize] += 1;
            }
        }
        // They end in any order, and some of those that were caught did not run.
        let mut ended: Vec<usize> = (begin..past.len()).collect();
        ended.sort_by_key(|_| random.below(100));
        for at in ended {
            past[at].outcome = outcome(&mut random, past[at].tool, variety);
            if let Some(outcome) = past[at].outcome.clone() {
                guard.note(iteration, u32::try_from(at - begin).unwrap(), outcome);
            }
        }
    }
    Ok(seen)
}

#[test]
fn the_guard_agrees_with_the_definitions_on_random_runs() {
    let mut seen = [0; 4];
    for seed in 0..SEEDS {
        let found = play(seed).unwrap_or_else(|difference| panic!("{difference}"));
        seen.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
    }
    assert!(seen.iter().all(|count| *count > 100), "each kind must be met often: {seen:?}");
}

/// What is fed again from the store, outcomes in the order of the replies, gives the verdicts that the run had.
#[test]
fn a_replay_gives_the_same_verdicts() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let policy = LoopPolicy { max_polls: 4, ..LoopPolicy::default() };
        let mut calls = Vec::new();
        for iteration in 1..30_u32 {
            for ordinal in 0..u32::try_from(1 + random.below(3)).unwrap() {
                let (tool, argument) = (random.below(2), random.below(2));
                calls.push((iteration, ordinal, tool, argument, outcome(&mut random, tool, 2)));
            }
        }
        let run = |newest_first: bool| {
            let mut guard = LoopGuard::default();
            guard.forgive(3);
            let mut verdicts = Vec::new();
            for reply in calls.chunk_by(|a, b| a.0 == b.0) {
                for (iteration, ordinal, tool, argument, _) in reply {
                    let (tool, fingerprint) = (format!("t{tool}"), format!("t{tool}:{argument}"));
                    let call = Call {
                        tool: &tool,
                        fingerprint: &fingerprint,
                        iteration: *iteration,
                        ordinal: *ordinal,
                        is_read_only: false,
                    };
                    verdicts.push(guard.judge(&call, &policy));
                }
                let mut ended: Vec<_> = reply.iter().collect();
                if newest_first {
                    ended.reverse();
                }
                for (iteration, ordinal, _, _, outcome) in ended {
                    outcome.iter().for_each(|outcome| guard.note(*iteration, *ordinal, outcome.clone()));
                }
            }
            verdicts
        };
        assert_eq!(run(true), run(false), "seed {seed}");
    }
}
