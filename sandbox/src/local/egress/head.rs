//! Reading the head of an HTTP/1 request, strictly: what two readers could take for two things is refused.
//!
//! Rule: lines end in CRLF and in nothing else, names are tokens, no value holds a control character, no line is
//! folded. How long a head may be and how many fields it may have is bounded.

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
        let text = text.strip_suffix("\r\n\r\n").ok_or(Malformed("the head has no end"))?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Malformed("the first line is not METHOD TARGET VERSION"));
        };
        let minor = match version {
            "HTTP/1.1" => 1,
            "HTTP/1.0" => 0,
            _ => return Err(Malformed("the version is neither HTTP/1.1 nor HTTP/1.0")),
        };
        if !is_token(method) || target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Malformed("the first line holds a character that it must not"));
        }
        let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
        if fields.len() > MAX_FIELDS {
            return Err(Malformed("the head has too many fields"));
        }
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

fn field(line: &str) -> Result<(String, String), Malformed> {
    let (name, value) = line.split_once(':').ok_or(Malformed("a line of the head has no colon"))?;
    // White space before the colon or at the start of a line is how one reader is made to see another field.
    if !is_token(name) {
        return Err(Malformed("the name of a field holds a character that it must not"));
    }
    let is_bad = |c: char| c.is_ascii_control() && c != '\t';
    if value.contains(is_bad) {
        return Err(Malformed("the value of a field holds a control character"));
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}
