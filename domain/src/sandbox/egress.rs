//! An EgressAttempt is one try of a program to reach a host, and what became of it.

use serde::{Deserialize, Serialize};

use crate::ids::ToolCallId;

/// A part of a tool call's id by which an attempt is told to be of that call: small enough to be a part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallMark(u32);

impl CallMark {
    const MASK: u32 = 0x1f_ffff;

    /// The mark of a call. Two calls may have the same one, once in two million.
    pub const fn of(call: ToolCallId) -> Self {
        Self::new(call.bits() as u32)
    }

    /// A mark of 21 bits; further ones are dropped.
    pub const fn new(bits: u32) -> Self {
        Self(bits & Self::MASK)
    }

    /// Its 21 bits.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EgressVerdict {
    /// It was let through.
    Allowed,
    /// It was refused.
    Denied,
}

/// One try to reach a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressAttempt {
    /// The tool call whose program tried; None when the program went another way than the one it was given.
    pub call: Option<CallMark>,
    /// The host as the program named it; bounded.
    pub host: String,
    /// The port; None when it could not be read.
    pub port: Option<u16>,
    /// What became of it.
    pub verdict: EgressVerdict,
    /// Why it was refused: `not_listed`, `private_address`, `sni_mismatch`, `not_resolved`, `unreachable`, `malformed`.
    pub reason: Option<String>,
}

/// The attempts behind a place in the list that the sandbox keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressAttempts {
    /// The attempts, oldest first.
    pub attempts: Vec<EgressAttempt>,
    /// The place behind the last one; each attempt takes one place.
    pub next: u64,
}

impl EgressAttempts {
    /// How many attempts behind this place the sandbox did not keep until they were read.
    pub fn missed(&self, after: u64) -> u64 {
        self.next.saturating_sub(after).saturating_sub(self.attempts.len() as u64)
    }
}
