//! Lists: Relay connections with keyset cursors. Pages of 25 unless asked otherwise, of 100 at most, never clamped.

use async_graphql::OutputType;
use async_graphql::connection::{Connection, CursorType, Edge};
use data_encoding::BASE64URL_NOPAD;
use domain::ctx::{Page, PageRequest};

use super::error::ApiError;

const DEFAULT_FIRST: i32 = 25;
const MOST: i32 = 100;
const VERSION: u8 = 1;
const LONGEST_KEY: usize = 512;

/// A page of a list.
pub type Listing<T> = Connection<RowCursor, T>;

/// The sort key of a row, opaque to clients. It is only ever used inside the caller's own tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCursor(pub String);

impl CursorType for RowCursor {
    type Error = &'static str;

    fn decode_cursor(text: &str) -> Result<Self, &'static str> {
        const MALFORMED: &str = "after is not a cursor of this list; pass an endCursor, or leave it out";
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| MALFORMED)?;
        match bytes.split_first() {
            Some((&VERSION, key)) if key.len() <= LONGEST_KEY => {
                String::from_utf8(key.to_vec()).map(Self).map_err(|_| MALFORMED)
            }
            Some(_) | None => Err(MALFORMED),
        }
    }

    fn encode_cursor(&self) -> String {
        BASE64URL_NOPAD.encode(&[&[VERSION], self.0.as_bytes()].concat())
    }
}

/// Checks `first` and `after`.
pub fn page_request(first: Option<i32>, after: Option<&str>) -> Result<PageRequest, ApiError> {
    let first = first.unwrap_or(DEFAULT_FIRST);
    let valid = u32::try_from(first).ok().filter(|_| (1..=MOST).contains(&first));
    let first = valid.ok_or_else(|| ApiError::bad_input(format!("first must be from 1 to {MOST}, and is {first}")))?;
    let after = after.map(RowCursor::decode_cursor).transpose().map_err(ApiError::bad_input)?.map(|cursor| cursor.0);
    Ok(PageRequest { first, after })
}

/// Shows a page as a connection.
pub fn listing<R, T: OutputType>(request: &PageRequest, page: Page<R>, show: impl Fn(R) -> T) -> Listing<T> {
    let mut listing = Connection::new(request.after.is_some(), page.has_next);
    listing.edges = page.rows.into_iter().map(|(key, row)| Edge::new(RowCursor(key), show(row))).collect();
    listing
}
