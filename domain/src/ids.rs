//! Ids: a type prefix and the lower-case Crockford base32 of a UUIDv7, unique over all tenants.
//!
//! The prefix makes an id readable in logs; the time-ordered UUID keeps index pages warm. An id says nothing about
//! whether its object exists or who may see it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Entropy};

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const ENCODED_LENGTH: usize = 26;

/// Why a text is no id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not an id of the form {prefix}_ followed by 26 characters")]
pub struct MalformedId {
    /// The prefix that was expected.
    pub prefix: &'static str,
}

/// Makes the 128 bits of a UUIDv7 (RFC 9562, section 5.7) from the clock and fresh randomness.
pub fn uuid_v7(clock: &dyn Clock, entropy: &dyn Entropy) -> u128 {
    let mut random = [0_u8; 10];
    entropy.fill(&mut random);
    let milliseconds = u128::try_from(clock.now().as_micros() / 1000).unwrap_or(0);
    let mut tail = [0_u8; 16];
    tail[6..].copy_from_slice(&random);
    let bits = (milliseconds << 80) | (u128::from_be_bytes(tail) & ((1 << 80) - 1));
    let with_version = (bits & !(0xf << 76)) | (0x7 << 76);
    (with_version & !(0x3 << 62)) | (0x2 << 62)
}

fn encode(mut value: u128) -> String {
    let mut digits = [0_u8; ENCODED_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(value & 31) as usize];
        value >>= 5;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

fn decode(text: &str) -> Option<u128> {
    if text.len() != ENCODED_LENGTH {
        return None;
    }
    text.bytes().try_fold(0_u128, |value, byte| {
        let digit = ALPHABET.iter().position(|candidate| *candidate == byte)?;
        // 26 digits hold 130 bits: the first digit may only be 0 to 7.
        if value >> 123 != 0 { None } else { Some((value << 5) | digit as u128) }
    })
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// The type prefix, without the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Makes a fresh id.
            pub fn generate(clock: &dyn Clock, entropy: &dyn Entropy) -> Self {
                Self(uuid_v7(clock, entropy))
            }

            /// The id with exactly these bits; for tests and derived ids.
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The 128 bits behind the text.
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(decode)
                    .map(Self)
                    .ok_or(MalformedId { prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// An organisation.
    TenantId = "ten";
    /// A project of a tenant.
    ProjectId = "prj";
    /// A user, an API key's principal, or the service identity that an execution runs as.
    PrincipalId = "pri";
    /// An API key (the row, not the secret).
    ApiKeyId = "key";
    /// A resource's mutable head: a Model, Credential, SandboxConnection, SandboxProfile or Agent.
    ResourceId = "res";
    /// One immutable version of a resource.
    VersionId = "ver";
    /// One version of a model's prices.
    PriceVersionId = "prc";
    /// An Execution.
    ExecutionId = "exe";
    /// A ModelCall.
    ModelCallId = "mcl";
    /// A ToolCall.
    ToolCallId = "tcl";
    /// A Sandbox (ours; the server has its own id for it).
    SandboxId = "sbx";
    /// An Artifact.
    ArtifactId = "art";
    /// A command in an execution's inbox.
    CommandId = "cmd";
    /// A BudgetAccount.
    AccountId = "bud";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_the_extremes() {
        for bits in [0, 1, u128::MAX, 0x0190_0000_0000_7000_8000_0000_0000_0001] {
            let id = ExecutionId::from_bits(bits);
            assert_eq!(id.to_string().parse::<ExecutionId>(), Ok(id));
        }
    }

    #[test]
    fn refuses_what_is_not_exactly_its_form() {
        let good = ExecutionId::from_bits(7).to_string();
        let too_big = format!("exe_8{}", "0".repeat(25));
        let upper = good.to_uppercase();
        let other_kind = good.replace("exe", "ten");
        for bad in
            ["", "exe_", &good[..good.len() - 1], &upper, &other_kind, &too_big, "exe_00000000000000000000000ilou"]
        {
            assert_eq!(bad.parse::<ExecutionId>(), Err(MalformedId { prefix: "exe" }), "{bad}");
        }
    }
}
