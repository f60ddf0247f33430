//! Upload and download. Bytes pass through in chunks; neither direction holds a file in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::multipart::Field;
use axum::extract::{Extension, FromRequest, Multipart, RawQuery, Request as HttpRequest};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio_util::io::ReaderStream;

use super::files::Parameters;
use crate::local::channel::answer;
use crate::local::error::ApiError;
use crate::local::protocol::{self, Access, FollowUp, Lines, Request};
use crate::local::sandbox::Sandbox;

const MAX_METADATA_BYTES: usize = 64 * 1024;
const CHUNK_BYTES: usize = 256 * 1024;

#[derive(Debug, Deserialize)]
struct Metadata {
    path: String,
    #[serde(flatten)]
    access: Access,
}

pub async fn upload(Extension(sandbox): Extension<Arc<Sandbox>>, request: HttpRequest) -> Result<StatusCode, ApiError> {
    let mut parts = Multipart::from_request(request, &())
        .await
        .map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "INVALID_FILE", "the body is not multipart"))?;
    let mut waiting = VecDeque::new();
    let mut count = 0;
    while let Some(mut part) = parts.next_field().await.map_err(|error| bad_content(&error.body_text()))? {
        match part.name() {
            Some("metadata") => waiting.push_back(metadata(&mut part).await?),
            Some("file") => {
                let metadata =
                    waiting.pop_front().ok_or_else(|| bad_metadata("a file part has no metadata before it"))?;
                receive(&sandbox, metadata, part).await?;
                count += 1;
            }
            _ => {}
        }
    }
    if count == 0 || !waiting.is_empty() {
        return Err(bad_metadata("each file needs one metadata part and one file part"));
    }
    Ok(StatusCode::OK)
}

async fn metadata(part: &mut Field<'_>) -> Result<Metadata, ApiError> {
    let mut text = Vec::new();
    while let Some(chunk) = part.chunk().await.map_err(|error| bad_metadata(&error.body_text()))? {
        text.extend_from_slice(&chunk);
        if text.len() > MAX_METADATA_BYTES {
            return Err(bad_metadata("the metadata part is too long"));
        }
    }
    let metadata: Metadata = serde_json::from_slice(&text).map_err(|_| bad_metadata("metadata is not valid JSON"))?;
    if metadata.path.is_empty() || metadata.path.contains('\0') || metadata.path.split('/').any(|name| name == "..") {
        return Err(bad_metadata("the path is empty or holds NUL or .."));
    }
    Ok(metadata)
}

async fn receive(sandbox: &Sandbox, metadata: Metadata, mut part: Field<'_>) -> Result<(), ApiError> {
    let request = Request::Write { path: metadata.path, access: metadata.access };
    let mut operation = sandbox.channel.open(&request).await?;
    let mut is_open = true;
    while let Some(chunk) = part.chunk().await.map_err(|error| bad_content(&error.body_text()))? {
        for piece in chunk.chunks(CHUNK_BYTES) {
            // A helper that has given up says why in its answer; the rest of the part is read and dropped.
            is_open = is_open && protocol::send_bytes(&mut operation, piece).await.is_ok();
        }
    }
    if is_open {
        let _ = protocol::send_bytes(&mut operation, &[]).await;
    }
    answer(&mut operation).await.map(drop)
}

pub async fn download(
    Extension(sandbox): Extension<Arc<Sandbox>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let query = Parameters::parse(query);
    let path = query.required("path").map_err(IntoResponse::into_response)?;
    let lines = lines(&query, headers.contains_key(header::RANGE)).map_err(IntoResponse::into_response)?;
    let (operation, size) = open(&sandbox, &path, lines).await.map_err(IntoResponse::into_response)?;
    let range = headers.get(header::RANGE).map(|text| parse_range(text, size));
    let (status, first, length) = match range {
        None => (StatusCode::OK, 0, size),
        Some(Some((first, last))) => (StatusCode::PARTIAL_CONTENT, first, last - first + 1),
        Some(None) => {
            let error = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "UNKNOWN", "the range cannot be satisfied");
            return Err(([(header::CONTENT_RANGE, format!("bytes */{size}"))], error).into_response());
        }
    };
    let body = send(operation, first, length).await.map_err(|error| ApiError::from(error).into_response())?;
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if lines.is_some() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        return Ok(response);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition(&path)) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {first}-{}/{size}", first + length - 1);
        headers.extend(HeaderValue::from_str(&range).ok().map(|range| (header::CONTENT_RANGE, range)));
    }
    Ok(response)
}

/// The lines that are asked for by `offset`, counted from 1, and `limit`.
fn lines(query: &Parameters, has_range: bool) -> Result<Option<Lines>, ApiError> {
    let number = |name: &str| {
        let number = query.first(name).map(|text| text.parse::<u64>().ok().filter(|number| *number > 0));
        number.map(|number| number.ok_or_else(|| ApiError::bad_body(format!("{name} must be at least 1")))).transpose()
    };
    let (first, most) = (number("offset")?, number("limit")?);
    if first.is_none() && most.is_none() {
        return Ok(None);
    }
    if has_range {
        return Err(ApiError::bad_body("offset and limit count lines and do not go with a range of bytes"));
    }
    Ok(Some(Lines { first: first.unwrap_or(1), most }))
}

async fn open(sandbox: &Sandbox, path: &str, lines: Option<Lines>) -> Result<(UnixStream, u64), ApiError> {
    let mut operation = sandbox.channel.open(&Request::Read { path: path.to_owned(), lines }).await?;
    let opened = answer(&mut operation).await?;
    let size = opened.get("size").and_then(serde_json::Value::as_u64);
    Ok((operation, size.ok_or_else(|| ApiError::runtime("unexpected answer"))?))
}

async fn send(mut operation: UnixStream, offset: u64, length: u64) -> std::io::Result<Body> {
    protocol::send(&mut operation, &FollowUp::Range { offset, length }).await?;
    Ok(Body::from_stream(ReaderStream::with_capacity(operation.take(length), CHUNK_BYTES)))
}

/// The first range of the header as first and last byte, or `None` when there is none that can be served.
fn parse_range(text: &HeaderValue, size: u64) -> Option<(u64, u64)> {
    let first_range = text.to_str().ok()?.strip_prefix("bytes=")?.split(',').next()?.trim();
    let (first, last) = first_range.split_once('-')?;
    let end = size.checked_sub(1)?;
    if first.is_empty() {
        let length: u64 = last.parse().ok().filter(|length| *length > 0)?;
        return Some((size.saturating_sub(length), end));
    }
    let first: u64 = first.parse().ok().filter(|first| *first <= end)?;
    let last = if last.is_empty() { end } else { last.parse::<u64>().ok()?.min(end) };
    (first <= last).then_some((first, last))
}

/// An ASCII form for old clients and the exact name for all others.
fn disposition(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let plain: String =
        name.chars().map(|c| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { '_' }).collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

fn bad_metadata(message: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "INVALID_FILE_METADATA", message)
}

fn bad_content(message: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "INVALID_FILE_CONTENT", message)
}

#[cfg(test)]
mod tests {
    use super::{HeaderValue, disposition, parse_range};

    #[test]
    fn reads_the_first_range() {
        for (text, size, expected) in [
            ("bytes=0-3", 10, Some((0, 3))),
            ("bytes=4-", 10, Some((4, 9))),
            ("bytes=-3", 10, Some((7, 9))),
            ("bytes=-30", 10, Some((0, 9))),
            ("bytes=8-99", 10, Some((8, 9))),
            ("bytes=1-2,5-6", 10, Some((1, 2))),
            ("bytes=10-", 10, None),
            ("bytes=5-4", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-0", 0, None),
            ("lines=1-2", 10, None),
            ("bytes=a-b", 10, None),
        ] {
            assert_eq!(parse_range(&HeaderValue::from_static(text), size), expected, "{text}");
        }
    }

    #[test]
    fn names_files_exactly() {
        assert_eq!(
            disposition("/workspace/q\"u é.txt"),
            "attachment; filename=\"q_u___.txt\"; filename*=UTF-8''q%22u%20%C3%A9%2Etxt".replace("___", "__")
        );
    }
}
