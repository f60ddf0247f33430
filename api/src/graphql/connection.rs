//! Lists: Relay connections with keyset cursors. Pages of 25 unless asked otherwise, of 100 at most, never clamped.

use std::borrow::Cow;

use async_graphql::{Object, OutputType, SimpleObject, TypeName};
use data_encoding::BASE64URL_NOPAD;
use domain::ctx::{Page, PageRequest};

use super::error::ApiError;

const DEFAULT_FIRST: i32 = 25;
const MOST: i32 = 100;
const VERSION: u8 = 1;
const LONGEST_KEY: usize = 512;

/// A page of a list.
pub struct Listing<T> {
    edges: Vec<ListEdge<T>>,
    page_info: PageInfo,
}

/// A row of a list and its cursor.
pub struct ListEdge<T> {
    cursor: String,
    node: T,
}

/// Where a page lies in its list.
#[derive(Clone, SimpleObject)]
pub struct PageInfo {
    /// Whether there are more behind this page.
    has_next_page: bool,
    /// Whether this page lies behind another one.
    has_previous_page: bool,
    /// Cursor of the first row.
    start_cursor: Option<String>,
    /// Cursor of the last row; pass it as `after` to go on.
    end_cursor: Option<String>,
}

impl<T: OutputType> TypeName for Listing<T> {
    fn type_name() -> Cow<'static, str> {
        format!("{}Connection", T::type_name()).into()
    }
}

impl<T: OutputType> TypeName for ListEdge<T> {
    fn type_name() -> Cow<'static, str> {
        format!("{}Edge", T::type_name()).into()
    }
}

/// A page of a list: 25 rows unless `first` says otherwise, at most 100.
#[Object(name_type)]
impl<T: OutputType> Listing<T> {
    /// The rows with their cursors.
    async fn edges(&self) -> &[ListEdge<T>] {
        &self.edges
    }

    /// The rows.
    async fn nodes(&self) -> Vec<&T> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// Where the page lies in the list.
    async fn page_info(&self) -> &PageInfo {
        &self.page_info
    }
}

/// A row of a list and its cursor.
#[Object(name_type)]
impl<T: OutputType> ListEdge<T> {
    /// Opaque; pass it as `after` to go on behind this row.
    async fn cursor(&self) -> &str {
        &self.cursor
    }

    /// The row.
    async fn node(&self) -> &T {
        &self.node
    }
}

/// Checks `first` and `after`.
pub fn page_request(first: Option<i32>, after: Option<&str>) -> Result<PageRequest, ApiError> {
    let first = first.unwrap_or(DEFAULT_FIRST);
    let valid = u32::try_from(first).ok().filter(|_| (1..=MOST).contains(&first));
    let first = valid.ok_or_else(|| ApiError::bad_input(format!("first must be from 1 to {MOST}, and is {first}")))?;
    Ok(PageRequest { first, after: after.map(decode).transpose()? })
}

/// Shows a page as a connection.
pub fn listing<R, T: OutputType>(request: &PageRequest, page: Page<R>, show: impl Fn(R) -> T) -> Listing<T> {
    let edges: Vec<_> =
        page.rows.into_iter().map(|(key, row)| ListEdge { cursor: encode(&key), node: show(row) }).collect();
    let page_info = PageInfo {
        has_next_page: page.has_next,
        has_previous_page: request.after.is_some(),
        start_cursor: edges.first().map(|edge| edge.cursor.clone()),
        end_cursor: edges.last().map(|edge| edge.cursor.clone()),
    };
    Listing { edges, page_info }
}

/// A sort key as an opaque cursor. It is only ever used inside the caller's own tenant, so it needs no signature.
fn encode(key: &str) -> String {
    BASE64URL_NOPAD.encode(&[&[VERSION], key.as_bytes()].concat())
}

fn decode(text: &str) -> Result<String, ApiError> {
    let malformed = || ApiError::bad_input("after is not a cursor of this list; pass an endCursor, or leave it out");
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| malformed())?;
    match bytes.split_first() {
        Some((&VERSION, key)) if key.len() <= LONGEST_KEY => String::from_utf8(key.to_vec()).map_err(|_| malformed()),
        Some(_) | None => Err(malformed()),
    }
}
