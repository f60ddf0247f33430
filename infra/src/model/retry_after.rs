//! Reads what a refusal says about asking again: `retry-after-ms`, or `retry-after` as seconds or as a date.

use std::time::Duration;

use domain::clock::Timestamp;
use domain::model_call::RetryAdvice;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// No provider means more than a day.
const LONGEST: Duration = Duration::from_hours(24);

/// The advice of these headers. A date is taken by the provider's own clock when it tells the time.
pub(super) fn advice(headers: &HeaderMap) -> RetryAdvice {
    if let Some(pause) = text(headers, "retry-after-ms").and_then(|text| number(text, 1.0 / 1000.0)) {
        return RetryAdvice::After(pause);
    }
    let Some(wanted) = text(headers, RETRY_AFTER.as_str()) else { return RetryAdvice::Unsaid };
    if let Some(pause) = number(wanted, 1.0) {
        return RetryAdvice::After(pause);
    }
    match (moment(wanted), text(headers, DATE.as_str()).and_then(moment)) {
        (Some(then), Some(now)) => RetryAdvice::After(then.since(now).min(LONGEST)),
        (Some(then), None) => RetryAdvice::At(then),
        (None, _) => RetryAdvice::Unsaid,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn number(text: &str, unit_in_seconds: f64) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)? * unit_in_seconds;
    Some(Duration::try_from_secs_f64(seconds).map_or(LONGEST, |pause| pause.min(LONGEST)))
}

fn moment(text: &str) -> Option<Timestamp> {
    let seconds = OffsetDateTime::parse(text, &Rfc2822).ok()?.unix_timestamp();
    Some(Timestamp::from_micros(seconds.saturating_mul(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &str)]) -> RetryAdvice {
        advice(&pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect())
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        let after = |millis| RetryAdvice::After(Duration::from_millis(millis));
        assert_eq!(of(&[("retry-after", "7")]), after(7000));
        assert_eq!(of(&[("retry-after", "0.5")]), after(500));
        assert_eq!(of(&[("retry-after", "9"), ("retry-after-ms", "250")]), after(250));
        let (then, now) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:30 GMT");
        assert_eq!(of(&[("retry-after", then), ("date", now)]), after(7000));
        assert_eq!(of(&[("retry-after", now), ("date", then)]), after(0));
        assert_eq!(of(&[("retry-after", then)]), RetryAdvice::At(Timestamp::from_micros(784_111_777_000_000)));
    }

    #[test]
    fn nonsense_says_nothing_and_far_away_is_bounded() {
        for nonsense in ["", "soon", "-1", "NaN", "inf", "1994-11-06"] {
            assert_eq!(of(&[("retry-after", nonsense)]), RetryAdvice::Unsaid, "{nonsense}");
        }
        assert_eq!(of(&[]), RetryAdvice::Unsaid);
        assert_eq!(of(&[("retry-after", "1e300")]), RetryAdvice::After(LONGEST));
    }
}
