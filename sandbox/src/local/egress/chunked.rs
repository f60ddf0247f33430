//! A chunked request body, read and written anew: the origin sees chunks of the proxy's making and nothing else.

use std::io;
use std::sync::atomic::AtomicU64;

use tokio::io::{AsyncBufRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::meter::{Pulse, copy_exactly};

/// Hexadecimal digits of a chunk's length.
const MAX_DIGITS: usize = 12;
/// Bytes of all trailer fields, which are dropped.
const MAX_TRAILER_BYTES: usize = 8 * 1024;

pub async fn copy(
    reader: &mut (impl AsyncBufRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    count: &AtomicU64,
    pulse: &Pulse,
) -> io::Result<()> {
    loop {
        let length = line(reader, MAX_DIGITS).await?;
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_hexdigit());
        let length = u64::from_str_radix(&length, 16).ok().filter(|_| is_number).ok_or_else(malformed)?;
        if length == 0 {
            break;
        }
        writer.write_all(format!("{length:x}\r\n").as_bytes()).await?;
        copy_exactly(reader, writer, length, count, pulse).await?;
        if !line(reader, 0).await?.is_empty() {
            return Err(malformed());
        }
        writer.write_all(b"\r\n").await?;
    }
    let mut left = MAX_TRAILER_BYTES;
    loop {
        let trailer = line(reader, left).await?;
        if trailer.is_empty() {
            break;
        }
        left = left.saturating_sub(trailer.len());
    }
    writer.write_all(b"0\r\n\r\n").await?;
    writer.flush().await
}

/// A line that ends in CRLF, without it. Extensions of chunks are not known here, so they are refused.
async fn line(reader: &mut (impl AsyncBufRead + Unpin), most: usize) -> io::Result<String> {
    let mut text = String::new();
    loop {
        match reader.read_u8().await? {
            b'\r' => {
                let is_end = reader.read_u8().await? == b'\n';
                return if is_end { Ok(text) } else { Err(malformed()) };
            }
            byte if byte.is_ascii_graphic() || byte == b' ' => text.push(char::from(byte)),
            _ => return Err(malformed()),
        }
        if text.len() > most {
            return Err(malformed());
        }
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the body is not chunked as it should be")
}
