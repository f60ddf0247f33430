use std::time::Duration;

use super::*;
use crate::clock::{Clock, Timestamp};

struct FixedClock(Duration);

#[async_trait::async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }

    fn monotonic(&self) -> Duration {
        self.0
    }

    async fn sleep(&self, _duration: Duration) {}
}

#[test]
fn nothing_starts_behind_the_end_of_the_lease() {
    let signal = StopSignal::default();
    signal.allow_starts_until(Duration::from_secs(8));
    assert!(signal.may_start(&FixedClock(Duration::from_millis(7_999))));
    assert!(!signal.may_start(&FixedClock(Duration::from_secs(8))));
}

#[test]
fn the_first_cause_of_a_stop_wins() {
    let signal = StopSignal::default();
    signal.allow_starts_until(Duration::MAX);
    signal.trip(StopCause::Deadline);
    signal.trip(StopCause::Cancelled);
    assert_eq!(signal.cause(), Some(StopCause::Deadline));
    assert!(signal.token().is_cancelled());
    assert!(!signal.may_start(&FixedClock(Duration::ZERO)));
}

#[test]
fn every_stop_code_leads_to_a_terminal_state() {
    for code in [StopCode::FinalAnswer, StopCode::Cancelled, StopCode::CostLimit, StopCode::ModelFailed] {
        assert!(code.status().is_terminal(), "{code:?}");
    }
}
