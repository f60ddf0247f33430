//! A Redactor replaces the secrets of one connection in text that came from a server.
//!
//! Rule: text is redacted before it is shortened, so that no cut can leave half a secret behind.

use secrecy::{ExposeSecret, SecretString};

use super::error::Reply;

const MARK: &str = "[redacted]";
const MAX_MESSAGE_BYTES: usize = 2048;
const MAX_CODE_BYTES: usize = 128;
/// A shorter value would black out ordinary words.
const MIN_SECRET_BYTES: usize = 4;

/// The secrets that must not be shown. Its `Debug` shows none of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Redactor {
    secrets: Vec<SecretString>,
}

impl Redactor {
    pub fn add(&mut self, secret: &str) {
        if secret.len() < MIN_SECRET_BYTES {
            return;
        }
        self.secrets.push(secret.to_owned().into());
        let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        if encoded != secret {
            self.secrets.push(encoded.into());
        }
        // Long secrets first: one may be a prefix of another.
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
    }

    /// The longest secret, which is how much of a cut text cannot be trusted to be whole.
    pub fn longest(&self) -> usize {
        self.secrets.iter().map(|secret| secret.expose_secret().len()).max().unwrap_or(0)
    }

    /// `text` without secrets and control characters, at most 2 KiB.
    pub fn message(&self, text: &str) -> String {
        self.clean(text, MAX_MESSAGE_BYTES)
    }

    /// A server's short word (a code, an id), at most 128 bytes.
    pub fn word(&self, text: &str) -> String {
        self.clean(text, MAX_CODE_BYTES)
    }

    /// `reply` with every text of it cleaned.
    pub fn reply(&self, reply: Reply) -> Reply {
        Reply {
            code: reply.code.map(|code| self.word(&code)),
            message: self.message(&reply.message),
            request_id: reply.request_id.map(|id| self.word(&id)),
            ..reply
        }
    }

    fn clean(&self, text: &str, max_bytes: usize) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            if text.contains(secret.expose_secret()) {
                text = text.replace(secret.expose_secret(), MARK);
            }
        }
        text.retain(|c| !c.is_control() || c == '\n' || c == '\t');
        text.truncate(text.floor_char_boundary(max_bytes));
        text
    }
}
