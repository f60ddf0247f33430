//! Makes the one HTTP request of a call.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use domain::model_call::{ModelFailureKind, ModelRequest, ReplyMode};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use reqwest::{Body, Client, Request, Url};

use super::body::RequestBody;
use super::failure::Fault;

/// The request; `was_sent` is set when its body is asked for.
pub(super) fn upstream_request(
    client: &Client,
    request: &ModelRequest,
    was_sent: &Arc<AtomicBool>,
) -> Result<Request, Fault> {
    let url = completions_url(&request.endpoint.base_url)?;
    let bytes = RequestBody::new(request).to_bytes();
    let accept = match request.mode {
        ReplyMode::Stream => "text/event-stream, application/json;q=0.5",
        ReplyMode::Complete => "application/json",
    };
    let mut builder = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, accept)
        .header(CONTENT_LENGTH, bytes.len())
        .body(marked_body(bytes, Arc::clone(was_sent)));
    if let Some(key) = request.endpoint.api_key.as_deref().map(str::trim).filter(|key| !key.is_empty()) {
        builder = builder.header(AUTHORIZATION, bearer(key)?);
    }
    builder.build().map_err(|_| Fault::new(ModelFailureKind::Rejected, "the request cannot be built"))
}

fn bearer(key: &str) -> Result<HeaderValue, Fault> {
    let mut value = HeaderValue::try_from(format!("Bearer {key}")).map_err(|_| {
        Fault::new(ModelFailureKind::Credentials, "the model's API key holds characters that no header may")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The body notes when it is first asked for, which is when a connection stands and before a byte leaves. Being a
/// stream, it also cannot be sent twice by any layer below.
fn marked_body(bytes: Vec<u8>, was_sent: Arc<AtomicBool>) -> Body {
    Body::wrap_stream(futures_util::stream::once(async move {
        was_sent.store(true, Ordering::Release);
        Ok::<_, Infallible>(Bytes::from(bytes))
    }))
}

/// The base URL's path with `/chat/completions` behind it; its query stays.
fn completions_url(base_url: &str) -> Result<Url, Fault> {
    let unusable = || Fault::new(ModelFailureKind::Rejected, "the model's base URL is no http or https URL");
    let mut url = Url::parse(base_url.trim()).map_err(|_| unusable())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable());
    }
    url.path_segments_mut().map_err(|()| unusable())?.pop_if_empty().extend(["chat", "completions"]);
    Ok(url)
}
