//! The clock of the local runtime: the only place that reads the time of day.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The current time in UTC.
pub fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}

/// Milliseconds since the epoch, the unit of event timestamps.
pub fn now_ms() -> i64 {
    i64::try_from(now().unix_timestamp_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// RFC 3339 text, the form of every other time on the wire.
pub fn text(at: OffsetDateTime) -> String {
    at.format(&Rfc3339).unwrap_or_default()
}

/// Parses RFC 3339; a time without a zone counts as UTC.
pub fn parse(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339)).ok()
}
