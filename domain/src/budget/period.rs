//! A Period is the stretch of time after which an account begins anew: never, each day, or each month, in UTC.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

const DAY_US: i64 = 86_400_000_000;

/// How long what was spent counts. The order of the variants is a part of the order in which accounts are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Period {
    /// For ever.
    None,
    /// Until midnight, UTC.
    Day,
    /// Until the end of the calendar month, UTC.
    Month,
}

impl Period {
    /// The name in the store and in audit records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Day => "DAY",
            Self::Month => "MONTH",
        }
    }

    /// For people, behind a cap.
    pub const fn each(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Day => " a day",
            Self::Month => " a month",
        }
    }

    /// The begin of the period that holds this moment; the epoch where there is only one.
    pub fn starts_at(self, now: Timestamp) -> Timestamp {
        let day = now.as_micros().div_euclid(DAY_US);
        match self {
            Self::None => Timestamp::from_micros(0),
            Self::Day => at_day(day),
            Self::Month => {
                let (year, month) = month_of(day);
                at_day(first_day(year, month))
            }
        }
    }

    /// The end of the period that holds this moment, which is the begin of the next one.
    pub fn ends_at(self, now: Timestamp) -> Option<Timestamp> {
        let day = now.as_micros().div_euclid(DAY_US);
        match self {
            Self::None => None,
            Self::Day => Some(at_day(day + 1)),
            Self::Month => {
                let (year, month) = month_of(day);
                let (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
                Some(at_day(first_day(year, month)))
            }
        }
    }
}

fn at_day(day: i64) -> Timestamp {
    Timestamp::from_micros(day.saturating_mul(DAY_US))
}

/// Days from 1970-01-01 to the first day of a year, leap days counted by the Gregorian rule.
fn first_day_of_year(year: i64) -> i64 {
    let before = year - 1;
    let leap_days = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * (year - 1970) + leap_days(before) - leap_days(1969)
}

fn first_day(year: i64, month: u32) -> i64 {
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let is_leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    let leap_day = i64::from(is_leap && month > 2);
    let before = BEFORE_MONTH.get(month.saturating_sub(1) as usize).copied().unwrap_or_default();
    first_day_of_year(year) + before + leap_day
}

/// Year and month (1 to 12) of a day.
fn month_of(day: i64) -> (i64, u32) {
    // 146 097 days are 400 years, so the guess is off by one year at most.
    let guess = 1970 + day.saturating_mul(400).div_euclid(146_097);
    let year = (guess - 1..=guess + 1).rev().find(|year| first_day_of_year(*year) <= day).unwrap_or(guess);
    let month = (1..=12).rev().find(|month| first_day(year, *month) <= day).unwrap_or(1);
    (year, month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_day_ends_at_midnight() {
        // 2026-01-01T23:59:59.999900Z
        let last = Timestamp::from_micros(1_767_311_999_999_900);
        assert_eq!(Period::Day.starts_at(last), at(1_767_225_600));
        assert_eq!(Period::Day.ends_at(last), Some(at(1_767_312_000)));
        assert_eq!(Period::Day.starts_at(at(1_767_312_000)), at(1_767_312_000));
    }

    #[test]
    fn a_month_ends_with_the_calendar_also_in_leap_years() {
        // 2028-02-29T12:00:00Z, and the first moments of February and March of that year.
        let (leap_day, february, march) = (at(1_835_438_400), at(1_832_976_000), at(1_835_481_600));
        assert_eq!(Period::Month.starts_at(leap_day), february);
        assert_eq!(Period::Month.ends_at(leap_day), Some(march));
        // 2026-12-31T23:59:59Z belongs to December; the next moment is January 2027.
        assert_eq!(Period::Month.starts_at(at(1_798_761_599)), at(1_796_083_200));
        assert_eq!(Period::Month.ends_at(at(1_798_761_599)), Some(at(1_798_761_600)));
    }

    #[test]
    fn every_day_of_four_centuries_is_in_its_month() {
        let mut months = 0;
        for day in 0..146_097 {
            let now = at(day * 86_400 + 86_399);
            let (start, end) = (Period::Month.starts_at(now), Period::Month.ends_at(now).unwrap());
            assert!(start <= now && now < end, "{day}");
            months += u32::from(start == at(day * 86_400));
        }
        assert_eq!(months, 4800);
    }

    #[test]
    fn what_has_no_period_never_ends() {
        assert_eq!((Period::None.starts_at(at(77)), Period::None.ends_at(at(77))), (at(0), None));
    }
}
