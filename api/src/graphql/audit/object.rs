//! Audit records as the API shows them.

use async_graphql::{Enum, ID, Object};
use domain::audit::{self, ChainedRecord};

use crate::graphql::scalar::{BigInt, DateTime, Json};

/// A record in its place.
pub struct AuditRecord(pub ChainedRecord);

/// What a person or a program with a key decided. It cannot be changed; each record holds the hash of the one before.
#[Object]
impl AuditRecord {
    /// Its place in the tenant's audit log: 1, 2, 3, ... without holes.
    async fn sequence(&self) -> BigInt {
        self.0.sequence.into()
    }

    /// When.
    async fn at(&self) -> DateTime {
        self.0.record.at.into()
    }

    /// The principal.
    async fn by(&self) -> ID {
        self.0.record.by.to_string().into()
    }

    /// What was decided.
    async fn action(&self) -> AuditAction {
        self.0.record.action.into()
    }

    /// The id of what it is about.
    async fn target(&self) -> &str {
        &self.0.record.target
    }

    /// Why, in the words of whoever decided.
    async fn reason(&self) -> &str {
        &self.0.record.reason
    }

    /// What else belongs to the decision.
    async fn detail(&self) -> Json {
        Json::object(&self.0.record.detail)
    }

    /// Hexadecimal SHA-256 of the record before; zeros in the first one.
    async fn previous_hash(&self) -> &str {
        &self.0.previous_hash
    }
}

/// What was decided. Clients must handle values they do not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "audit::AuditAction")]
pub enum AuditAction {
    /// The loop guard of an execution was overridden.
    ExecutionOverrideLoop,
    /// A budget account was made, or its caps were altered.
    BudgetAccountSet,
    /// A budget account's running period, or an execution's own limits, were topped up.
    BudgetTopUp,
    /// Prices were added to a project's table.
    PriceTableImport,
}
