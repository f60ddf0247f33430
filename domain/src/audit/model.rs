//! What is recorded, and the chain that holds the records together.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::artifact::sha256_hex;
use crate::clock::Timestamp;
use crate::ids::PrincipalId;

/// What the first record of a tenant names as the hash of the one before.
pub const FIRST_PREVIOUS_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AuditAction {
    /// The loop guard's findings about an execution were overridden.
    ExecutionOverrideLoop,
    /// A budget account was made, or its caps were altered.
    BudgetAccountSet,
    /// A budget account's running period, or an execution's own limits, were topped up.
    BudgetTopUp,
    /// Prices were added to a project's table.
    PriceTableImport,
}

/// One decision of a person or of a program with a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: PrincipalId,
    /// What.
    pub action: AuditAction,
    /// The id of what it is about, with its type prefix; at most 64 ASCII characters.
    pub target: String,
    /// Why, in the words of whoever decided.
    pub reason: String,
    /// What else belongs to the decision: amounts, ids of commands. No secrets.
    pub detail: Map<String, Value>,
}

/// A record in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainedRecord {
    /// 1, 2, 3, ... within the tenant, without holes.
    pub sequence: u64,
    /// [`Self::hash`] of the record before.
    pub previous_hash: String,
    /// What was decided.
    #[serde(flatten)]
    pub record: AuditRecord,
}

impl ChainedRecord {
    /// Hexadecimal SHA-256 over the place, the hash before, and everything that the record says.
    pub fn hash(&self) -> String {
        // Plain values with text keys: serialising them cannot fail.
        sha256_hex(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// The chain does not hold at this sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the audit chain is broken at record {sequence}")]
pub struct BrokenChain {
    /// The first record that does not follow from the one before.
    pub sequence: u64,
}

/// Checks that records follow each other without holes or changes. They begin with the tenant's first, oldest first.
/// A change of the last record alone is noticed only by who kept its hash.
pub fn verify_chain<'a>(records: impl IntoIterator<Item = &'a ChainedRecord>) -> Result<(), BrokenChain> {
    let mut previous_hash = FIRST_PREVIOUS_HASH.to_owned();
    for (record, sequence) in records.into_iter().zip(1..) {
        if record.sequence != sequence || record.previous_hash != previous_hash {
            return Err(BrokenChain { sequence });
        }
        previous_hash = record.hash();
    }
    Ok(())
}
