//! The decoder, after the WHATWG's "Server-sent events", section 9.2.6.

/// What an event may be at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of one line.
    pub line_bytes: usize,
    /// Bytes of one event's data.
    pub event_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes: 4 << 20, event_bytes: 8 << 20 }
    }
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name; `message` when the stream gave none.
    pub name: String,
    /// Its id, if the stream gave it one.
    pub id: Option<String>,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// Why a stream cannot be decoded. The decoder is of no use afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A line is over its limit.
    #[error("a line of the event stream is too long")]
    LineTooLong,
    /// An event's data is over its limit.
    #[error("an event of the stream is too large")]
    EventTooLarge,
    /// A line is not UTF-8.
    #[error("the event stream is not UTF-8")]
    NotUtf8,
}

/// Takes bytes, gives events.
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    line: Vec<u8>,
    is_first_line: bool,
    /// A CR ended the last line; an LF that follows belongs to it.
    after_cr: bool,
    name: String,
    id: Option<String>,
    data: String,
    has_data: bool,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            line: Vec::new(),
            is_first_line: true,
            after_cr: false,
            name: String::new(),
            id: None,
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes the next bytes and hands each event that they complete to `sink`.
    pub fn feed(&mut self, mut bytes: &[u8], mut sink: impl FnMut(Event)) -> Result<(), DecodeError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() > self.limits.line_bytes {
                return Err(DecodeError::LineTooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line()? {
                sink(event);
            }
        }
        Ok(())
    }

    /// Ends the stream. The event that lacks its closing blank line, if any, is given out: whether it is whole is for
    /// the caller to say, who knows what its data should look like.
    pub fn finish(mut self) -> Result<Option<Event>, DecodeError> {
        if !self.line.is_empty()
            && let Some(event) = self.end_line()?
        {
            return Ok(Some(event));
        }
        Ok(self.dispatch())
    }

    fn end_line(&mut self) -> Result<Option<Event>, DecodeError> {
        let line = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&line).map_err(|_| DecodeError::NotUtf8)?;
        let text = if self.is_first_line { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        self.is_first_line = false;
        let event = if text.is_empty() {
            self.dispatch()
        } else {
            self.field(text)?;
            None
        };
        // The buffer is kept for the next line.
        self.line = line;
        self.line.clear();
        Ok(event)
    }

    fn field(&mut self, line: &str) -> Result<(), DecodeError> {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.data.len() + value.len() + 1 > self.limits.event_bytes {
                    return Err(DecodeError::EventTooLarge);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // A comment has an empty field name; `retry` is for those who reconnect.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let id = self.id.take();
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        let name = if name.is_empty() { "message".to_owned() } else { name };
        (has_data && !data.is_empty()).then_some(Event { name, id, data })
    }
}
