//! Keyset paging: a page goes on behind a sort key, so that insertions neither repeat nor skip a row.

use domain::clock::Timestamp;
use domain::ctx::{Page, PageRequest};

/// Rows of a page at most.
const MOST: u32 = 100;

/// Rows to read for this page: one more than it shows, which tells whether there is a next one.
pub(super) fn limit(request: &PageRequest) -> i64 {
    i64::from(shown(request)) + 1
}

/// Cuts what was read down to the page.
pub(super) fn cut<T>(request: &PageRequest, mut rows: Vec<(String, T)>) -> Page<T> {
    let shown = shown(request) as usize;
    let has_next = rows.len() > shown;
    rows.truncate(shown);
    Page { rows, has_next }
}

/// The slug to go on behind; None when nothing can lie behind it. MySQL refuses to compare an ASCII column with other
/// text, and every slug sorts before it.
pub(super) fn slug_key(request: &PageRequest) -> Option<&str> {
    let key = request.after.as_deref().unwrap_or_default();
    key.is_ascii().then_some(key)
}

/// The sort key of a time and an id; sorts like the pair.
pub(super) fn time_key(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{:020}.{id}", at.as_micros())
}

/// The pair of such a key; None when it is none.
pub(super) fn parse_time_key(key: &str) -> Option<(i64, &str)> {
    let (at, id) = key.split_once('.').filter(|_| key.is_ascii())?;
    Some((at.parse().ok()?, id))
}

fn shown(request: &PageRequest) -> u32 {
    request.first.clamp(1, MOST)
}
