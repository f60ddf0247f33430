//! Reading the head of an HTTP/1 request, strictly: what two readers could take for two things is refused.
//!
//! Rule: lines end in CRLF and in nothing else, names are tokens, no value holds a control character, no line is
//! folded. How long a head may be and how many fields it may have is bounded.

use httparse::Status;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

pub const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_FIELDS: usize = 100;
const END: &[u8] = b"\r\n\r\n";

/// A head whose syntax is right. What it says is another question.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub method: String,
    pub target: String,
    /// The minor number of HTTP/1.
    pub minor: u8,
    /// Names in lower case, values without the white space around them.
    pub fields: Vec<(String, String)>,
}

/// What is wrong with a head, in words for whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl Head {
    /// Reads up to the empty line and not a byte further. `None` when the connection ended before its first byte.
    pub async fn read(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Self>, Malformed> {
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let available = reader.fill_buf().await.map_err(|_| Malformed("the connection failed"))?;
            if available.is_empty() {
                return if bytes.is_empty() { Ok(None) } else { Err(Malformed("the request has no end")) };
            }
            // The end may have begun in what was read before.
            let from = bytes.len().saturating_sub(END.len() - 1);
            let before = bytes.len();
            bytes.extend_from_slice(available);
            let taken = available.len();
            if let Some(at) = bytes[from..].windows(END.len()).position(|window| window == END) {
                let end = from + at + END.len();
                reader.consume(end - before);
                bytes.truncate(end);
                return if end > MAX_HEAD_BYTES { Err(TOO_LONG) } else { Self::parse(&bytes).map(Some) };
            }
            reader.consume(taken);
            if bytes.len() > MAX_HEAD_BYTES {
                return Err(TOO_LONG);
            }
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let text = std::str::from_utf8(bytes).map_err(|_| Malformed("the head holds bytes that are not text"))?;
        // Both are forgiven by the parser, and not by every other one.
        if text.starts_with("\r\n") || text.replace("\r\n", "").contains('\n') {
            return Err(Malformed("a line of the head is empty or does not end in CRLF"));
        }
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(bytes).map_err(why)? {
            Status::Complete(length) if length == bytes.len() => {}
            Status::Complete(_) | Status::Partial => return Err(Malformed("the head has no end, or two")),
        }
        let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version) else {
            return Err(Malformed("the first line is not METHOD TARGET VERSION"));
        };
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Malformed("the target holds a character that it must not"));
        }
        let field = |field: &httparse::Header<'_>| {
            (field.name.to_ascii_lowercase(), String::from_utf8_lossy(field.value).into_owned())
        };
        let fields = request.headers.iter().map(field).collect();
        Ok(Self { method: method.to_owned(), target: target.to_owned(), minor, fields })
    }

    /// The values of a field, in their order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The value of a field that may be there once at most.
    pub fn only<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, Malformed> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (value, None) => Ok(value),
            (_, Some(_)) => Err(Malformed("a field that must be unique is there twice")),
        }
    }
}

const TOO_LONG: Malformed = Malformed("the head is too long");

fn why(error: httparse::Error) -> Malformed {
    Malformed(match error {
        httparse::Error::HeaderName => "the name of a field holds a character that it must not, or has no colon",
        httparse::Error::HeaderValue => "the value of a field holds a control character",
        httparse::Error::NewLine => "a line of the head does not end in CRLF",
        httparse::Error::TooManyHeaders => "the head has too many fields",
        httparse::Error::Version => "the version is neither HTTP/1.1 nor HTTP/1.0",
        httparse::Error::Status | httparse::Error::Token => "the first line is not METHOD TARGET VERSION",
    })
}
