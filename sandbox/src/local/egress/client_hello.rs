//! The first message of TLS, read only as far as the name of the host that the client wants.
//!
//! Rule: nothing goes on to the origin before the whole ClientHello was here and named the right host. It may be
//! split over records in any way; what is no ClientHello is refused. With Encrypted Client Hello the outer name is
//! the one that counts, since that is what the server in front will act on.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// More bytes before the end of the message are refused.
const MAX_BYTES: usize = 64 * 1024;
const HEADER_BYTES: usize = 5;
const MAX_RECORD_BYTES: usize = 16 * 1024 + 256;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;

/// A fatal alert, unrecognized_name: what a client is told whose hello was refused.
pub const ALERT: [u8; 7] = [21, 3, 1, 0, 2, 2, 112];

/// The bytes that were read and the name in them.
pub struct Hello {
    pub bytes: Vec<u8>,
    pub name: Option<String>,
}

/// Reads records until the ClientHello is whole. An error of kind `InvalidData` means that it is none.
pub async fn read(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Hello> {
    let (mut bytes, mut message) = (Vec::new(), Vec::new());
    loop {
        let start = bytes.len();
        let mut header = [0; HEADER_BYTES];
        reader.read_exact(&mut header).await?;
        let [kind, major, _, high, low] = header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let is_record = kind == HANDSHAKE && major == 3 && (1..=MAX_RECORD_BYTES).contains(&length);
        if !is_record || start + HEADER_BYTES + length > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&header);
        bytes.resize(start + HEADER_BYTES + length, 0);
        reader.read_exact(&mut bytes[start + HEADER_BYTES..]).await?;
        message.extend_from_slice(&bytes[start + HEADER_BYTES..]);
        if message.first() != Some(&CLIENT_HELLO) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let [_, a, b, c, body @ ..] = message.as_slice() else { continue };
        let wanted = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        if let Some(body) = body.get(..wanted) {
            let name = server_name(body).ok_or(io::ErrorKind::InvalidData)?;
            return Ok(Hello { bytes, name });
        }
    }
}

/// The name in the body of a ClientHello; `None` for a body that breaks the grammar.
fn server_name(body: &[u8]) -> Option<Option<String>> {
    let mut body = Bytes(body);
    // Version and random, session, cipher suites, compression.
    body.take(34)?;
    body.vector_8()?;
    body.vector_16()?;
    body.vector_8()?;
    if body.0.is_empty() {
        return Some(None);
    }
    let mut extensions = Bytes(body.vector_16()?);
    let mut name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let content = extensions.vector_16()?;
        if kind == SERVER_NAME {
            // A second one would be a choice for whoever reads it.
            if name.is_some() {
                return None;
            }
            name = Some(only_host_name(content)?);
        }
    }
    body.0.is_empty().then_some(name)
}

fn only_host_name(content: &[u8]) -> Option<String> {
    let mut content = Bytes(content);
    let mut list = Bytes(content.vector_16()?);
    let kind = list.take(1)?[0];
    let name = list.vector_16()?;
    let is_alone = list.0.is_empty() && content.0.is_empty();
    (kind == HOST_NAME && is_alone).then(|| std::str::from_utf8(name).ok().map(str::to_owned)).flatten()
}

/// What is left to read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
    }

    fn vector_8(&mut self) -> Option<&'a [u8]> {
        let length = self.take(1)?[0];
        self.take(length.into())
    }

    fn vector_16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }
}
