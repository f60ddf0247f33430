//! A frame is the JSON text between two separators of a stream.
//!
//! Lines end at CR, LF or CRLF and nowhere else: the Unicode separators are ordinary text. A line that begins with `{`
//! or `[` is a frame by itself; `data:` lines gather until a blank line.

use memchr::memchr2;

/// A frame or line is longer than the limit, so the stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frame is longer than {limit} bytes")]
pub struct FrameTooLong {
    limit: usize,
}

/// Cuts a stream into frames.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    limit: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// The `data:` lines of the frame that is being gathered.
    data: Option<Vec<u8>>,
    /// The last byte was a CR: a LF that follows belongs to it.
    is_after_cr: bool,
    is_at_start: bool,
}

impl FrameDecoder {
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: None, is_after_cr: false, is_at_start: true }
    }

    /// Takes the next bytes, and gives each frame that they complete to `on_frame`.
    pub fn push(&mut self, bytes: &[u8], mut on_frame: impl FnMut(&[u8])) -> Result<(), FrameTooLong> {
        let mut rest = bytes;
        if self.is_after_cr && !rest.is_empty() {
            self.is_after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, separator_and_rest) = rest.split_at(end);
            let is_cr = separator_and_rest[0] == b'\r';
            rest = &separator_and_rest[1..];
            if is_cr {
                self.is_after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            self.check_length(self.line.len() + line.len())?;
            if self.line.is_empty() {
                self.take_line(line, &mut on_frame)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, &mut on_frame)?;
            }
        }
        self.check_length(self.line.len() + rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// The stream has ended: gives out the frame that nothing terminated.
    pub fn finish(&mut self, mut on_frame: impl FnMut(&[u8])) -> Result<(), FrameTooLong> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut on_frame)?;
        }
        self.flush(&mut on_frame);
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], on_frame: &mut impl FnMut(&[u8])) -> Result<(), FrameTooLong> {
        let line = if std::mem::take(&mut self.is_at_start) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.flush(on_frame);
        } else if matches!(line[0], b'{' | b'[') {
            self.flush(on_frame);
            on_frame(line);
        } else if let Some(value) = data_field(line) {
            self.check_length(self.data.as_ref().map_or(0, Vec::len) + value.len())?;
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        // Comments, `event:`, `id:`, `retry:` and unknown fields carry nothing that the JSON does not.
        Ok(())
    }

    fn flush(&mut self, on_frame: &mut impl FnMut(&[u8])) {
        if let Some(data) = self.data.take().filter(|data| !data.is_empty()) {
            on_frame(&data);
        }
    }

    fn check_length(&self, length: usize) -> Result<(), FrameTooLong> {
        if length > self.limit { Err(FrameTooLong { limit: self.limit }) } else { Ok(()) }
    }
}

fn data_field(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"data")?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}
