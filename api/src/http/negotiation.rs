//! Content negotiation: which media type answers a request, and which body is read.

use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::fault::{Code, Fault};

/// The two media types of GraphQL over HTTP. They differ in what the status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// `application/json`: 200 for every well-formed request, whatever became of it.
    Json,
    /// `application/graphql-response+json`: the status tells of a refusal before execution.
    GraphqlResponse,
}

impl Media {
    pub(super) const fn content_type(self) -> HeaderValue {
        match self {
            Self::Json => HeaderValue::from_static("application/json; charset=utf-8"),
            Self::GraphqlResponse => HeaderValue::from_static("application/graphql-response+json; charset=utf-8"),
        }
    }

    /// The status of a well-formed request whose document was refused.
    pub(super) fn status_of_refusal(self, code: Code) -> StatusCode {
        match (self, code.status()) {
            (Self::Json, StatusCode::BAD_REQUEST) => StatusCode::OK,
            (_, status) => status,
        }
    }

    /// The media type that the caller likes best, or nothing when it takes neither. Without a wish it is JSON.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        let mut has_wish = false;
        for value in headers.get_all(header::ACCEPT) {
            has_wish = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let (range, quality) = parse_range(range);
                let media = match range.as_str() {
                    "application/graphql-response+json" => Self::GraphqlResponse,
                    "application/json" | "application/*" | "*/*" => Self::Json,
                    _ => continue,
                };
                if quality > 0 && best.is_none_or(|(highest, _)| quality > highest) {
                    best = Some((quality, media));
                }
            }
        }
        if has_wish { best.map(|(_, media)| media) } else { Some(Self::Json) }
    }
}

/// The range in lower case, and its quality in thousandths.
fn parse_range(range: &str) -> (String, u16) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts
        .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
        .and_then(|text| text.parse::<f32>().ok())
        .map_or(1000.0, |quality| quality.clamp(0.0, 1.0) * 1000.0);
    // The clamp keeps it within the type; a NaN becomes zero.
    (name, quality as u16)
}

/// Requires a JSON body. Any other type could be sent by a foreign page without asking the server first.
pub(super) fn require_json(headers: &HeaderMap) -> Result<(), Fault> {
    let refuse = |message: &str| Err(Fault::new(Code::BadUserInput, message));
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case("application/json") {
        return refuse("The content-type must be application/json.");
    }
    for parameter in parts {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        if name.eq_ignore_ascii_case("charset") && !value.trim_matches('"').eq_ignore_ascii_case("utf-8") {
            return refuse("The charset must be utf-8.");
        }
    }
    match headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Ok(()),
        Some(_) => refuse("Compressed bodies are not read."),
    }
}
