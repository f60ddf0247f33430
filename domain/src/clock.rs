//! Time and randomness, passed in: the domain reads neither by itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// A moment: whole microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

const FORMAT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");

impl Timestamp {
    /// The moment so many microseconds after the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Reads a moment in RFC 3339, whatever its zone; what is finer than a microsecond is cut off.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(moment.unix_timestamp_nanos().div_euclid(1000)).ok().map(Self)
    }

    /// The moment in RFC 3339, UTC, with microseconds; None outside the years 0 to 9999, which have no such form.
    pub fn to_rfc3339(self) -> Option<String> {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1000).ok()?.format(FORMAT).ok()
    }

    /// The moment `duration` later; stays at the greatest one instead of wrapping.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// The moment `duration` earlier; stays at the least one instead of wrapping.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Time from `earlier` to this moment; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// The wall clock, the monotonic clock and the timer of this process.
#[async_trait::async_trait]
pub trait Clock: Send + Sync {
    /// The wall clock. It may jump; never measure a duration with it.
    fn now(&self) -> Timestamp;

    /// Time since some fixed moment of this process. It never goes back.
    fn monotonic(&self) -> Duration;

    /// Resolves after `duration`.
    async fn sleep(&self, duration: Duration);
}

/// A source of bytes that nobody can guess.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, buffer: &mut [u8]);
}
