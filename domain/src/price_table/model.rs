//! Lines of a price table, and the versions that they are stored as.

use crate::audit::{AuditAction, AuditRecord};
use crate::clock::Timestamp;
use crate::ids::{PriceVersionId, PrincipalId, ProjectId, TenantId};
use crate::money::Price;
use crate::resource::PriceVersion;

/// What a price is for: a provider and its name of the model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName {
    /// Who runs it.
    pub provider: String,
    /// The provider's name of the model.
    pub deployment: String,
}

/// A line of a price file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceLine {
    /// The model.
    pub model: ModelName,
    /// From when on it holds.
    pub valid_from: Timestamp,
    /// The prices.
    pub price: Price,
}

/// A line, stored: one version of a model's prices in one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrice {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// Its project.
    pub project_id: ProjectId,
    /// The model.
    pub model: ModelName,
    /// Id, moment and prices, as an execution pins them.
    pub version: PriceVersion,
    /// When it was imported.
    pub imported_at: Timestamp,
    /// By whom.
    pub imported_by: PrincipalId,
}

impl ModelPrice {
    /// Whether this version says what the line says.
    pub fn says(&self, line: &PriceLine) -> bool {
        self.model == line.model && self.version.valid_from == line.valid_from && self.version.price == line.price
    }

    /// Its id.
    pub const fn id(&self) -> PriceVersionId {
        self.version.id
    }
}

/// What the audit log keeps of an import, in its transaction; None when it adds nothing.
pub fn audit_record(added: &[&ModelPrice]) -> Option<AuditRecord> {
    let first = added.first()?;
    let ids: Vec<_> = added.iter().map(|price| price.id().to_string().into()).collect();
    Some(AuditRecord {
        at: first.imported_at,
        by: first.imported_by,
        action: AuditAction::PriceTableImport,
        target: first.project_id.to_string(),
        reason: String::new(),
        detail: [("priceVersionIds".to_owned(), serde_json::Value::Array(ids))].into_iter().collect(),
    })
}
