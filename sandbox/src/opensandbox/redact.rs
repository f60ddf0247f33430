//! A Redactor replaces the secrets of one connection in text that came from a server.
//!
//! Rule: text is redacted before it is shortened, so that no cut can leave half a secret behind. What the server itself
//! gave out as a secret, the tokens of endpoints, is a secret in whatever it says from then on.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret, SecretString};

use super::error::{Error, Reply};

const MARK: &str = "[redacted]";
const MAX_MESSAGE_BYTES: usize = 2048;
const MAX_CODE_BYTES: usize = 128;
/// A shorter value would black out ordinary words.
const MIN_SECRET_BYTES: usize = 4;

/// So many secrets that the server gave out are remembered; the oldest is forgotten first.
const MAX_LEARNED: usize = 1024;

/// The secrets that must not be shown. Its `Debug` shows none of them.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    own: Vec<SecretString>,
    learned: Mutex<VecDeque<SecretString>>,
}

impl Clone for Redactor {
    fn clone(&self) -> Self {
        Self { own: self.own.clone(), learned: Mutex::new(self.learned().clone()) }
    }
}

impl Redactor {
    /// Adds one that was known beforehand.
    pub fn add(&mut self, secret: &str) {
        self.own.extend(forms(secret));
    }

    /// Adds one that the server gave out.
    pub fn learn(&self, secret: &str) {
        let mut learned = self.learned();
        if learned.iter().any(|known| known.expose_secret() == secret) {
            return;
        }
        learned.extend(forms(secret));
        let surplus = learned.len().saturating_sub(MAX_LEARNED);
        learned.drain(..surplus);
    }

    /// The longest secret, which is how much of a cut text cannot be trusted to be whole.
    pub fn longest(&self) -> usize {
        let learned = self.learned();
        self.own.iter().chain(learned.iter()).map(|secret| secret.expose_secret().len()).max().unwrap_or(0)
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

    /// A refusal of an address without what the server has hidden in that.
    pub fn refusal(&self, error: Error) -> Error {
        match error {
            Error::EndpointRefused(why) => Error::EndpointRefused(self.message(&why)),
            Error::PlaintextRefused { host } => Error::PlaintextRefused { host: self.message(&host) },
            error => error,
        }
    }

    fn clean(&self, text: &str, max_bytes: usize) -> String {
        let mut text = text.to_owned();
        {
            let learned = self.learned();
            let all = self.own.iter().chain(learned.iter()).map(ExposeSecret::expose_secret);
            let mut found: Vec<&str> = all.filter(|secret| text.contains(secret)).collect();
            // Long secrets first: one may be a prefix of another.
            found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
            for secret in found {
                text = text.replace(secret, MARK);
            }
        }
        text.retain(|c| !c.is_control() || c == '\n' || c == '\t');
        text.truncate(text.floor_char_boundary(max_bytes));
        text
    }

    fn learned(&self) -> MutexGuard<'_, VecDeque<SecretString>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A secret as it is and as it stands in an address.
fn forms(secret: &str) -> impl Iterator<Item = SecretString> {
    let encoded: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let encoded = Some(encoded).filter(|encoded| encoded != secret);
    let is_secret = secret.len() >= MIN_SECRET_BYTES;
    std::iter::once(secret.to_owned()).chain(encoded).filter(move |_| is_secret).map(SecretString::from)
}
