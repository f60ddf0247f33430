//! The loop guard sees the sequence of calls and their results and says when an agent goes round in circles.
//!
//! The Nth identical call in a row is a loop unless a result changed in between: polling and paging are work. Calls of
//! one reply count without looking at results, since none has one yet. What happens then is the agent's policy. The
//! guard does not decide anything else: a failing tool is the business of the error limit.

/// A call that the guard has seen, with its result once there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    fingerprint: String,
    result_hash: Option<String>,
    iteration: u32,
}

/// What the guard thinks of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Let it run.
    Proceed,
    /// It is the `count`th identical call in a row; the iterations are the evidence.
    Loop {
        /// How many identical calls in a row, this one included.
        count: u32,
        /// Iterations of the matching calls, oldest first.
        iterations: Vec<u32>,
    },
}

/// The memory of one execution. It survives in the stored calls: feed them again after a recovery.
#[derive(Debug, Clone, Default)]
pub struct LoopGuard {
    seen: Vec<Seen>,
    judged: u32,
    pardons: u32,
}

impl LoopGuard {
    /// Judges a call before it starts and remembers it.
    pub fn judge(&mut self, fingerprint: &str, iteration: u32, max_identical_calls: u32) -> Verdict {
        self.judged = self.judged.saturating_add(1);
        let mut iterations: Vec<u32> = self.identical_run(fingerprint, iteration);
        iterations.reverse();
        iterations.push(iteration);
        self.seen.push(Seen { fingerprint: fingerprint.to_owned(), result_hash: None, iteration });
        let count = u32::try_from(iterations.len()).unwrap_or(u32::MAX);
        if count < max_identical_calls {
            return Verdict::Proceed;
        }
        match self.pardons.checked_sub(1) {
            Some(left) => {
                self.pardons = left;
                Verdict::Proceed
            }
            None => Verdict::Loop { count, iterations },
        }
    }

    /// How many calls it has judged.
    pub fn calls(&self) -> u32 {
        self.judged
    }

    /// Forgets what it has seen, and lets the next findings pass.
    pub fn forgive(&mut self, pardons: u32) {
        self.seen.clear();
        self.pardons = pardons;
    }

    /// Notes the result of a call that was judged in this iteration.
    pub fn note_result(&mut self, fingerprint: &str, iteration: u32, result_hash: String) {
        let open = |seen: &&mut Seen| {
            seen.fingerprint == fingerprint && seen.iteration == iteration && seen.result_hash.is_none()
        };
        if let Some(seen) = self.seen.iter_mut().find(open) {
            seen.result_hash = Some(result_hash);
        }
    }

    /// Iterations of the identical calls directly before, newest first, up to the last change of result.
    fn identical_run(&self, fingerprint: &str, iteration: u32) -> Vec<u32> {
        let mut iterations = Vec::new();
        let mut result: Option<&String> = None;
        for seen in self.seen.iter().rev() {
            if seen.fingerprint != fingerprint {
                break;
            }
            if seen.iteration != iteration {
                match (result, &seen.result_hash) {
                    (Some(later), Some(earlier)) if later != earlier => break,
                    (None, Some(earlier)) => result = Some(earlier),
                    (_, Some(_) | None) => {}
                }
            }
            iterations.push(seen.iteration);
        }
        iterations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trips_at(calls: &[(&str, &str)]) -> Option<usize> {
        let mut guard = LoopGuard::default();
        calls.iter().enumerate().position(|(index, (call, result))| {
            let iteration = u32::try_from(index).unwrap();
            let verdict = guard.judge(call, iteration, 3);
            guard.note_result(call, iteration, (*result).to_owned());
            verdict != Verdict::Proceed
        })
    }

    #[test]
    fn the_nth_identical_call_with_the_same_result_is_a_loop() {
        assert_eq!(trips_at(&[("a", "1"), ("a", "1"), ("a", "1"), ("a", "1")]), Some(2));
    }

    #[test]
    fn a_changed_result_or_another_call_is_no_loop() {
        assert_eq!(trips_at(&[("a", "1"), ("a", "2"), ("a", "3"), ("a", "4"), ("a", "5")]), None);
        assert_eq!(trips_at(&[("a", "1"), ("a", "1"), ("b", "1"), ("a", "1"), ("a", "1")]), None);
    }

    #[test]
    fn equal_calls_in_one_reply_count_without_results() {
        let mut guard = LoopGuard::default();
        assert_eq!(guard.judge("a", 1, 3), Verdict::Proceed);
        assert_eq!(guard.judge("a", 1, 3), Verdict::Proceed);
        assert_eq!(guard.judge("a", 1, 3), Verdict::Loop { count: 3, iterations: vec![1, 1, 1] });
    }
}
