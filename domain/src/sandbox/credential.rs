//! An IssuedCredential says that a credential was in a sandbox: for which tool call, from when and until when.
//!
//! It is stored before the file is written, so that none is there without a record, and holds no secret.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::ids::{ResourceId, SandboxId, ToolCallId, VersionId};

/// The shortest secret that can be told from ordinary text when it comes back.
const SHORTEST_SECRET_BYTES: usize = 8;
/// The longest secret that goes into a sandbox.
const LONGEST_SECRET_BYTES: usize = 4096;
/// A secret of fewer different characters stands in ordinary text as well: in a line, a table, a number.
const FEWEST_CHARACTERS: usize = 5;

/// The rule that a secret breaks which could not be kept out of what comes back; None for one that may be lent. White space
/// at its ends is no part of it.
pub fn unfit(secret: &str) -> Option<String> {
    let secret = secret.trim();
    if !(SHORTEST_SECRET_BYTES..=LONGEST_SECRET_BYTES).contains(&secret.len()) {
        return Some(format!("{SHORTEST_SECRET_BYTES} to {LONGEST_SECRET_BYTES} bytes between white space"));
    }
    let characters: BTreeSet<char> = secret.chars().filter(|character| !character.is_whitespace()).collect();
    (characters.len() < FEWEST_CHARACTERS)
        .then(|| format!("at least {FEWEST_CHARACTERS} different characters that are no white space"))
}

/// Why a credential was taken out of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RevokedBecause {
    /// The tool call ended.
    CallEnded,
    /// Its time was over.
    Expired,
    /// It could not be put there, or not be taken away again, and the sandbox was given up.
    Failed,
    /// The sandbox ended.
    SandboxEnded,
}

/// A credential in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCredential {
    /// The tool call whose program may use it.
    pub call: ToolCallId,
    /// Name of its file; unique within the call.
    pub name: String,
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The credential.
    pub credential: ResourceId,
    /// The version whose secret it was.
    pub version: VersionId,
    /// When it was put there.
    pub issued_at: Timestamp,
    /// When the file is removed at the latest.
    pub expires_at: Timestamp,
    /// When it was taken away, and why.
    pub revoked: Option<(Timestamp, RevokedBecause)>,
}

#[cfg(test)]
mod tests {
    use super::unfit;

    #[test]
    fn what_stands_in_ordinary_text_as_well_is_no_secret() {
        for (secret, rule) in [
            ("", "8 to 4096"),
            ("1234", "8 to 4096"),
            ("        ", "8 to 4096"),
            ("  abcdefg\n", "8 to 4096"),
            ("aaaaaaaaaaaa", "at least 5 different"),
            ("abababababab", "at least 5 different"),
            ("a b c d    a", "at least 5 different"),
        ] {
            assert!(unfit(secret).is_some_and(|broken| broken.contains(rule)), "{secret:?}");
        }
        assert!(unfit(&"x1y2z".repeat(1000)).is_some());
        for secret in ["hunter2-hunter2", "12345678", "  abcdefgh\n", "ключик"] {
            assert_eq!(unfit(secret), None, "{secret:?}");
        }
    }
}
